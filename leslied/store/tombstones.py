"""What a person wanted to be rid of, remembered so that it never comes back.

A tombstone holds no words: of each entry that is gone, the beginning of its id. Reading
the agent's log again finds them; what the agent adds later is not among them.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator

    from leslied.model.record import SessionKey

    Tombstone = tuple[str, str, str, bytes]
    """Agent, session, source, and the marks of the entries, one after the other."""

PRUNED = "pruned"
"""The kind of noise that a pruned entry is, when its log is read again."""
_MARK_BYTES = 8


class Tombstones:
    """Asked of every entry; false, and free of cost, where nothing was ever pruned."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._marks: dict[SessionKey, frozenset[bytes]] = {}

    def __bool__(self) -> bool:
        return self._has_any

    @cached_property
    def _has_any(self) -> bool:
        query = "SELECT 1 FROM pruned LIMIT 1"
        return self._db.execute(query).fetchone() is not None

    def has(self, key: SessionKey, entry_id: bytes) -> bool:
        """Whether the entry was pruned out of this stream."""
        marks = self._marks.get(key)
        if marks is None:
            marks = self._marks[key] = frozenset(_split_marks(self._load_marks(key)))
        return entry_id[:_MARK_BYTES] in marks

    def add(self, key: SessionKey, entry_ids: Iterable[bytes]) -> None:
        """These entries of the stream never come back."""
        marks = {
            *_split_marks(self._load_marks(key)),
            *(each[:_MARK_BYTES] for each in entry_ids),
        }
        self.restore([(*key, b"".join(sorted(marks)))])

    def iter_all(self) -> Iterator[Tombstone]:
        """Every one, for a store that is made anew."""
        query = "SELECT agent, session_id, source, entries FROM pruned ORDER BY id"
        yield from self._db.execute(query)

    def restore(self, tombstones: Iterable[Tombstone]) -> None:
        """These stand, as they stood before."""
        self._db.executemany(
            "INSERT INTO pruned (agent, session_id, source, entries) "
            "VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET entries = excluded.entries",
            tombstones,
        )

    def _load_marks(self, key: SessionKey) -> bytes:
        row = self._db.execute(
            "SELECT entries FROM pruned "
            "WHERE agent = ? AND session_id = ? AND source = ?",
            key,
        ).fetchone()
        return bytes(row[0]) if row else b""


def _split_marks(marks: bytes) -> Iterator[bytes]:
    return (marks[at : at + _MARK_BYTES] for at in range(0, len(marks), _MARK_BYTES))
