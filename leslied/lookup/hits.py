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

_BEFORE, _AFTER = 60, 140
_MOST_FOLDED = 200_000

Manner = Literal["newest", "rank", "substring"]


class Hit(Struct, frozen=True, kw_only=True):
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
    def opened_by(self) -> str:
        """The id that shows the unit or the subagent it stands in."""
        if self.key.source != MAIN:
            return self.key.subagent_id
        return self.chat_id or self.key.session_id


class Answer(Struct, frozen=True):
    """What a search found, and what is to be said of it."""

    hits: tuple[Hit, ...]
    notes: tuple[str, ...]


def search(
    reader: StoreReader,
    query: Query,
    manner: Manner,
    limit: int,
    *,
    quiet_us: int,
    redact: Callable[[str], str],
) -> Answer:
    """The entries that answer the query; secrets are gone before a line is cut."""
    check_agents(reader, query.filters)
    notes = [*query.notes, *_tell_lost(query, manner)]
    if not query.filters and not _has_words(query, manner):
        return Answer((), (*notes, "There is no word to find."))
    question = reader.search(query, quiet_us, is_substring=manner == "substring")
    found = (
        question.list_best(limit) if manner == "rank" else question.list_newest(limit)
    )
    if manner == "rank" and question.is_truncated:
        notes.append(f"Only the newest {MAX_RANKED:,} hits were weighed.")
    hits = tuple(_show(match, query.terms, redact) for match in found)
    return Answer(hits, tuple(notes))


def _has_words(query: Query, manner: Manner) -> bool:
    words = query.words
    if manner == "substring":
        return bool(words.parts or words.excluded)
    return any(map(compile_fts_query, (*words.parts, *words.excluded)))


def _tell_lost(query: Query, manner: Manner) -> list[str]:
    """Which words have nothing that an index of words could hold."""
    if manner == "substring":
        return []
    return [
        f"{term.text!r} holds no letter or digit; --substring finds any characters."
        for term in query.terms
        if not compile_fts_query(term)
    ]


def _show(match: Match, terms: Sequence[Term], redact: Callable[[str], str]) -> Hit:
    return Hit(
        key=match.key,
        chat_id=match.chat_id,
        entry_id=match.entry_id,
        type=match.type,
        tool_name=redact(match.tool_name),
        at=match.at,
        snippet=cut_snippet(redact(match.text), [term.text for term in terms]),
        score=match.score,
    )


def cut_snippet(text: str, terms: Sequence[str]) -> str:
    """A line of the text around the first of the terms."""
    folded = fold(text)
    places = [folded.find(fold(term)) for term in terms]
    at = min((place for place in places if place >= 0), default=0)
    start, end = max(at - _BEFORE, 0), at + _AFTER
    piece = " ".join(text[start:end].split())
    head = "…" if start else ""
    tail = "…" if end < len(text) else ""
    return f"{head}{piece}{tail}"


def fold(text: str) -> str:
    """Lower case without accents, each character in its place."""
    if text.isascii():
        return text.lower()
    return "".join(map(_fold_character, text[:_MOST_FOLDED]))


@lru_cache(maxsize=4096)
def _fold_character(character: str) -> str:
    if "\uac00" <= character <= "\ud7a3":
        return character  # taken apart, every Korean syllable would be its consonant
    return unicodedata.normalize("NFD", character)[0].lower()[0]
