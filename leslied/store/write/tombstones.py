"""Tombstones of deleted entries, which prevent them from being imported again.

A row contains no text, only the first bytes of the id of each entry pruned from one
stream. Reading the agent's log again skips these entries; entries added later are not
affected. Forgotten entries are skipped, too, in whichever session they appear.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from leslied.store.sql import fetch_value

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator

    from leslied.model.record import Record, SessionKey
    from leslied.store.forgotten import Forgotten

    Tombstone = tuple[str, str, str, bytes]
    """Agent, session id and source of a stream, and the concatenated id prefixes."""

PRUNED = "pruned"
"""Kind of noise that stands for deleted entries of a source."""
_PREFIX_BYTES = 8


class Tombstones:
    """Pruned entries by stream, and forgotten ones. True if there are any."""

    def __init__(
        self, db: sqlite3.Connection, forgotten: Forgotten | None = None
    ) -> None:
        self._db = db
        self._forgotten = forgotten
        self._prefixes: dict[SessionKey, frozenset[bytes]] = {}

    def __bool__(self) -> bool:
        return bool(self._forgotten) or self._has_pruned

    @cached_property
    def _has_pruned(self) -> bool:
        query = "SELECT 1 FROM pruned LIMIT 1"
        return self._db.execute(query).fetchone() is not None

    def has_record(self, record: Record, entry_id: bytes) -> bool:
        """Return whether the record's entry was deleted, or repeats a forgotten title.

        A fork repeats titles without the ids by which other entries are recognized.
        """
        is_title = record.metadata.get("kind") == "title"
        if is_title and self._forgotten and self._forgotten.has_title(record.content):
            return True
        return self.has(record.session, entry_id)

    def has(self, key: SessionKey, entry_id: bytes) -> bool:
        """Return whether the entry was deleted from this stream."""
        if self._forgotten and (
            self._forgotten.has_session(*key[:2]) or self._forgotten.has_entry(entry_id)
        ):
            return True
        prefixes = self._prefixes.get(key)
        if prefixes is None:
            prefixes = self._prefixes[key] = frozenset(
                _split_prefixes(self._load_prefixes(key))
            )
        return entry_id[:_PREFIX_BYTES] in prefixes

    def is_forgotten(self, key: SessionKey) -> bool:
        """Return whether the whole session was forgotten."""
        return bool(self._forgotten and self._forgotten.has_session(*key[:2]))

    def has_any_of(self, key: SessionKey) -> bool:
        """Return whether anything was deleted from the session or its subagents."""
        if self._forgotten and self._forgotten.has_part_of(*key[:2]):
            return True
        query = "SELECT 1 FROM pruned WHERE agent = ? AND session_id = ? LIMIT 1"
        return self._db.execute(query, key[:2]).fetchone() is not None

    def is_rejection_forgotten(self, source: int, digest: bytes) -> bool:
        """Return whether rejected bytes of a source were forgotten.

        Once anything was forgotten, this is also true of all rejected bytes of a source
        whose entries were all pruned: its session may have been the forgotten one.
        """
        if not self._forgotten:
            return False
        if self._forgotten.has_rejected(digest):
            return True
        # Pruned entries are noise of this kind; sources of other entries are in `feed`.
        query = (
            "SELECT 1 FROM noise n WHERE source = ?1 AND kind = ?2 "
            "AND NOT EXISTS (SELECT 1 FROM feed WHERE source = ?1) LIMIT 1"
        )
        return self._db.execute(query, (source, PRUNED)).fetchone() is not None

    def add(self, key: SessionKey, entry_ids: Iterable[bytes]) -> None:
        """Add tombstones of these entries of the stream."""
        prefixes = {
            *_split_prefixes(self._load_prefixes(key)),
            *(entry_id[:_PREFIX_BYTES] for entry_id in entry_ids),
        }
        self.restore([(*key, b"".join(sorted(prefixes)))])

    def iter_all(self) -> Iterator[Tombstone]:
        """Yield the tombstones of every stream, for a rebuilt store."""
        query = "SELECT agent, session_id, source, entries FROM pruned ORDER BY id"
        yield from self._db.execute(query)

    def restore(self, tombstones: Iterable[Tombstone]) -> None:
        """Insert these tombstones, replacing those of the same streams."""
        self._db.executemany(
            "INSERT INTO pruned (agent, session_id, source, entries) "
            "VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET entries = excluded.entries",
            tombstones,
        )

    def _load_prefixes(self, key: SessionKey) -> bytes:
        query = (
            "SELECT entries FROM pruned "
            "WHERE agent = ? AND session_id = ? AND source = ?"
        )
        return bytes(fetch_value(self._db, query, key, default=b""))


def _split_prefixes(prefixes: bytes) -> Iterator[bytes]:
    return (
        prefixes[at : at + _PREFIX_BYTES]
        for at in range(0, len(prefixes), _PREFIX_BYTES)
    )
