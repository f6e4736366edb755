"""Search of entries, and the snippets that show its hits."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from leslied.lookup.agents import check_agents
from leslied.model.record import MAIN
from leslied.store import MAX_RANKED, compile_fts_query

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from leslied.model.query import Query, Term
    from leslied.model.record import SessionKey
    from leslied.store import Match, StoreReader

_SNIPPET_BEFORE, _SNIPPET_AFTER = 60, 140
_MAX_FOLDED = 200_000

SearchMode = Literal["newest", "rank", "substring"]


class SearchHit(Struct, frozen=True, kw_only=True):
    """An entry that matches a query, with a snippet of its text."""

    key: SessionKey
    chat_id: str
    entry_id: str
    type: str
    tool_name: str
    at: datetime | None
    snippet: str
    score: float | None

    @property
    def show_id(self) -> str:
        """The id of the unit or subagent that contains the entry."""
        if self.key.source != MAIN:
            return self.key.subagent_id
        return self.chat_id or self.key.session_id


class SearchResult(Struct, frozen=True):
    """Hits of a search, and notes for the user."""

    hits: tuple[SearchHit, ...]
    notes: tuple[str, ...]


def search_entries(
    reader: StoreReader,
    query: Query,
    mode: SearchMode,
    limit: int,
    *,
    quiet_us: int,
    redact: Callable[[str], str],
) -> SearchResult:
    """Return the entries that match the query, at most `limit`.

    `redact` removes secrets before a snippet is cut, so that none remains in part.
    Raises UserError for an unknown agent.
    """
    check_agents(reader, query.filters)
    notes = [*query.notes, *_describe_unsearchable(query, mode)]
    if not query.filters and not _has_words(query, mode):
        return SearchResult((), (*notes, "The query contains no word to search for."))
    search = reader.search(query, quiet_us, is_substring=mode == "substring")
    matches = search.list_best(limit) if mode == "rank" else search.list_newest(limit)
    if mode == "rank" and search.is_truncated:
        notes.append(f"Only the newest {MAX_RANKED:,} hits were ranked.")
    hits = tuple(_make_hit(match, query.terms, redact) for match in matches)
    return SearchResult(hits, tuple(notes))


def _has_words(query: Query, mode: SearchMode) -> bool:
    words = query.words
    if mode == "substring":
        return bool(words.parts or words.excluded)
    return any(map(compile_fts_query, (*words.parts, *words.excluded)))


def _describe_unsearchable(query: Query, mode: SearchMode) -> list[str]:
    """Return notes about words that the word index cannot contain."""
    if mode == "substring":
        return []
    return [
        f"{term.text!r} has no letter or digit. To search for any characters, "
        "use --substring."
        for term in query.terms
        if not compile_fts_query(term)
    ]


def _make_hit(
    match: Match, terms: Sequence[Term], redact: Callable[[str], str]
) -> SearchHit:
    return SearchHit(
        key=match.key,
        chat_id=match.chat_id,
        entry_id=match.entry_id,
        type=match.type,
        tool_name=redact(match.tool_name),
        at=match.at,
        snippet=make_snippet(redact(match.text), [term.text for term in terms]),
        score=match.score,
    )


def make_snippet(text: str, terms: Sequence[str]) -> str:
    """Return one line of the text around the first occurrence of a term."""
    folded = fold_text(text)
    positions = [folded.find(fold_text(term)) for term in terms]
    at = min((position for position in positions if position >= 0), default=0)
    start, end = max(at - _SNIPPET_BEFORE, 0), at + _SNIPPET_AFTER
    piece = " ".join(text[start:end].split())
    head = "…" if start else ""
    tail = "…" if end < len(text) else ""
    return f"{head}{piece}{tail}"


def fold_text(text: str) -> str:
    """Return the text in lower case without accents; positions stay the same."""
    if text.isascii():
        return text.lower()
    return "".join(map(_fold_character, text[:_MAX_FOLDED]))


@lru_cache(maxsize=4096)
def _fold_character(character: str) -> str:
    # Decomposition would reduce each Korean syllable to its first consonant.
    if "\uac00" <= character <= "\ud7a3":
        return character
    return unicodedata.normalize("NFD", character)[0].lower()[0]
