"""Finding words: what a search shows of each entry."""

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
    """An entry that was found, and a line of it."""

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
        """The id that shows the unit or the subagent it stands in."""
        if self.key.source != MAIN:
            return self.key.subagent_id
        return self.chat_id or self.key.session_id


class SearchResult(Struct, frozen=True):
    """What a search found, and what is to be said of it."""

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
    """The entries that answer the query; secrets are gone before a line is cut."""
    check_agents(reader, query.filters)
    notes = [*query.notes, *_describe_unsearchable(query, mode)]
    if not query.filters and not _has_words(query, mode):
        return SearchResult((), (*notes, "There is no word to find."))
    question = reader.search(query, quiet_us, is_substring=mode == "substring")
    found = question.list_best(limit) if mode == "rank" else question.list_newest(limit)
    if mode == "rank" and question.is_truncated:
        notes.append(f"Only the newest {MAX_RANKED:,} hits were weighed.")
    hits = tuple(_make_hit(match, query.terms, redact) for match in found)
    return SearchResult(hits, tuple(notes))


def _has_words(query: Query, mode: SearchMode) -> bool:
    words = query.words
    if mode == "substring":
        return bool(words.parts or words.excluded)
    return any(map(compile_fts_query, (*words.parts, *words.excluded)))


def _describe_unsearchable(query: Query, mode: SearchMode) -> list[str]:
    """Which words have nothing that an index of words could hold."""
    if mode == "substring":
        return []
    return [
        f"{term.text!r} holds no letter or digit; --substring finds any characters."
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
    """A line of the text around the first of the terms."""
    folded = fold_text(text)
    places = [folded.find(fold_text(term)) for term in terms]
    at = min((place for place in places if place >= 0), default=0)
    start, end = max(at - _SNIPPET_BEFORE, 0), at + _SNIPPET_AFTER
    piece = " ".join(text[start:end].split())
    head = "…" if start else ""
    tail = "…" if end < len(text) else ""
    return f"{head}{piece}{tail}"


def fold_text(text: str) -> str:
    """Lower case without accents, each character in its place."""
    if text.isascii():
        return text.lower()
    return "".join(map(_fold_character, text[:_MAX_FOLDED]))


@lru_cache(maxsize=4096)
def _fold_character(character: str) -> str:
    if "\uac00" <= character <= "\ud7a3":
        return character  # taken apart, every Korean syllable would be its consonant
    return unicodedata.normalize("NFD", character)[0].lower()[0]
