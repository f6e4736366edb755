"""Full text over what was said, thought, called and answered."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from leslied.model.record import name_chat
from leslied.store.rows import from_us
from leslied.store.scrub import scrub_text
from leslied.store.text import gather_words, space_cjk

if TYPE_CHECKING:
    import sqlite3
    from datetime import datetime

_WORD = re.compile(r'"([^"]*)"|(\S+)')
_BEFORE, _AFTER = 60, 140
_MOST_FOLDED = 200_000


@dataclass(frozen=True, slots=True)
class Hit:
    """One record that holds the words."""

    agent: str
    session_id: str
    source: str
    chat_id: str
    entry_id: str
    type: str
    tool_name: str
    at: datetime | None
    snippet: str
    score: float


def search(
    db: sqlite3.Connection, words: str, limit: int, *, by_rank: bool
) -> list[Hit]:
    """Current records that hold all the words; any string is a valid query."""
    terms = _split(scrub_text(words))
    query = " ".join(filter(None, (_quote(term) for term in terms)))
    if not query:
        return []
    order = "score" if by_rank else "r.created_us DESC, r.id DESC"
    # `+p.id` keeps the planner on the text index.
    rows = db.execute(
        "SELECT s.agent, s.session_id, s.source, s.id, p.unit, r.entry_id, r.type, "
        "r.tool_name, r.created_us, r.utc_offset, r.tool_input, r.content, r.spilled, "
        "bm25(record_text) AS score FROM record_text t "
        "JOIN record r ON r.id = t.rowid AND r.is_current = 1 "
        "JOIN placement p ON p.id = "
        "(SELECT min(id) FROM placement WHERE entry = r.entry) "
        "JOIN session s ON s.id = p.session "
        "WHERE record_text MATCH ? AND (p.is_copy = 0 OR s.originals = 0) "
        f"ORDER BY {order} LIMIT ?",
        (query, limit),
    ).fetchall()
    return [_make_hit(db, row, terms) for row in rows]


def _split(words: str) -> list[str]:
    """Words and quoted phrases."""
    return [quoted or word for quoted, word in _WORD.findall(words)]


def _quote(term: str) -> str:
    """The term as a phrase the index takes literally; `word*` keeps its star."""
    star = "*" if term.endswith("*") and len(term) > 1 else ""
    body = space_cjk(term.removesuffix("*") if star else term)
    if not any(character.isalnum() for character in body):
        return ""
    escaped = body.replace('"', '""').replace("\0", " ")
    return f'"{escaped}"{star}'


def _make_hit(db: sqlite3.Connection, row: tuple[Any, ...], terms: list[str]) -> Hit:
    agent, session_id, source, session, unit = row[:5]
    chat_id = ""
    if unit:
        first = db.execute(
            "SELECT r.entry_id FROM placement p JOIN record r ON r.entry = p.entry "
            "WHERE p.session = ? AND p.unit = ? ORDER BY p.id LIMIT 1",
            (session, unit),
        ).fetchone()
        chat_id = name_chat(agent, session_id, first[0].hex())
    text = row[12] or row[11] or f"{row[7]} {gather_words(row[10])}"
    return Hit(
        agent=agent,
        session_id=session_id,
        source=source,
        chat_id=chat_id,
        entry_id=row[5].hex(),
        type=row[6],
        tool_name=row[7],
        at=from_us(row[8], row[9]) if row[8] is not None else None,
        snippet=cut_snippet(text, terms),
        score=-row[13],
    )


def _fold(text: str) -> str:
    """Lower case without accents, each character in its place."""
    if text.isascii():
        return text.lower()
    return "".join(map(_fold_character, text[:_MOST_FOLDED]))


@lru_cache(maxsize=4096)
def _fold_character(character: str) -> str:
    if "\uac00" <= character <= "\ud7a3":
        return character  # taken apart, every Korean syllable would be its consonant
    return unicodedata.normalize("NFD", character)[0].lower()[0]


def cut_snippet(text: str, terms: list[str]) -> str:
    """A line of the text around the first of the terms."""
    folded = _fold(text)
    places = [folded.find(_fold(term.strip("*"))) for term in terms]
    at = min((place for place in places if place >= 0), default=0)
    start, end = max(at - _BEFORE, 0), at + _AFTER
    piece = " ".join(text[start:end].split())
    head = "…" if start else ""
    tail = "…" if end < len(text) else ""
    return f"{head}{piece}{tail}"
