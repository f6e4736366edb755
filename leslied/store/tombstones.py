"""Tombstones of pruned entries, which prevent them from being imported again.

A tombstone contains no text, only the first bytes of each pruned entry's id. Reading
the agent's log again recognizes these entries; entries added later are not affected.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator

    from leslied.model.record import SessionKey

    Tombstone = tuple[str, str, str, bytes]
    """Agent, session, source, and the concatenated marks of the entries."""

PRUNED = "pruned"
"""Kind of noise as which a pruned entry is stored when its log is read again."""
_MARK_BYTES = 8


class Tombstones:
    """Pruned entries by stream; false if nothing was ever pruned, to skip lookups."""

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
        """Return whether the entry was pruned from this stream."""
        marks = self._marks.get(key)
        if marks is None:
            marks = self._marks[key] = frozenset(_split_marks(self._load_marks(key)))
        return entry_id[:_MARK_BYTES] in marks

    def add(self, key: SessionKey, entry_ids: Iterable[bytes]) -> None:
        """Add these entries of the stream."""
        marks = {
            *_split_marks(self._load_marks(key)),
            *(entry_id[:_MARK_BYTES] for entry_id in entry_ids),
        }
        self.restore([(*key, b"".join(sorted(marks)))])

    def iter_all(self) -> Iterator[Tombstone]:
        """Yield every tombstone, for a rebuilt store."""
        query = "SELECT agent, session_id, source, entries FROM pruned ORDER BY id"
        yield from self._db.execute(query)

    def restore(self, tombstones: Iterable[Tombstone]) -> None:
        """Insert these tombstones, replacing those of the same streams."""
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
