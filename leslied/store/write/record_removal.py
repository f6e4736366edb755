"""Delete the records of entries, with their part of the text index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.model.record import SessionKey, make_record_id
from leslied.store.columns import RECORD_COLUMNS, unpack_record
from leslied.store.connection import UNLIMITED_INDEX_KEY
from leslied.store.fts_text import extract_index_text
from leslied.store.sql import fetch_value, list_columns, make_placeholders

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator

    from leslied.model.record import Record

_BATCH_SIZE = 200
"""Number of entries whose records are in memory at once."""
_NO_SESSION = SessionKey("", "")
"""Key for unpacked records; their index text does not depend on the session."""


class RecordRemoval:
    """Deletes records and then orphan titles; the caller holds the transaction."""

    def __init__(self, db: sqlite3.Connection, agents: Iterable[str]) -> None:
        """Prepare to delete entries of these agents."""
        self._db = db
        self._agents = list(agents)
        query = "SELECT value FROM meta WHERE key = ?"
        self._unlimited_until = int(
            fetch_value(db, query, (UNLIMITED_INDEX_KEY,), default="0")
        )
        """Row id of the last record that was indexed without a limit on its text."""
        self._titled_ids: set[bytes] = set()
        """Ids of entries for which `leaf_title` may have a title."""
        self.count = 0
        """Number of deleted records."""

    def remove(self, entries: Iterable[int]) -> None:
        """Delete every version of these entries, also from the text index."""
        numbers = list(entries)
        for start in range(0, len(numbers), _BATCH_SIZE):
            batch = numbers[start : start + _BATCH_SIZE]
            records = list(self._load_records(batch))
            # The index has no copy of the text: a deletion must pass the same text.
            self._db.executemany(
                "INSERT INTO record_text (record_text, rowid, text) "
                "VALUES ('delete', ?, ?)",
                [
                    (row_id, text)
                    for row_id, _, record in records
                    if (text := self._get_indexed_text(row_id, record))
                ],
            )
            for _, entry_id, record in records:
                self._titled_ids.update([entry_id], self._make_leaf_ids(record))
            self._db.executemany(
                "DELETE FROM record WHERE entry = ?", [(entry,) for entry in batch]
            )
            self.count += len(records)

    def _get_indexed_text(self, row_id: int, record: Record) -> str:
        """Return the text with which the record was added to the index."""
        if row_id > self._unlimited_until:
            return extract_index_text(record)
        return extract_index_text(record, max_characters=None)

    def delete_orphan_titles(self) -> None:
        """Delete the leaf titles of removed entries that have no record any more."""
        self._db.executemany(
            "DELETE FROM leaf_title WHERE entry_id = ?1 "
            "AND NOT EXISTS (SELECT 1 FROM record WHERE entry_id = ?1)",
            [(entry_id,) for entry_id in self._titled_ids],
        )

    def _load_records(self, entries: list[int]) -> Iterator[tuple[int, bytes, Record]]:
        """Yield every version of the entries as (row id, entry id, record)."""
        rows = self._db.execute(
            f"SELECT id, entry_id, {list_columns(RECORD_COLUMNS)} FROM record "
            f"WHERE entry IN ({make_placeholders(entries)})",
            entries,
        )
        for row_id, entry_id, *values in rows:
            record, _, _ = unpack_record(values, _NO_SESSION)
            yield row_id, entry_id, record

    def _make_leaf_ids(self, record: Record) -> list[bytes]:
        """Return the ids that the leaf of a title may have: one for each agent.

        Return [] if the record is not a title with a leaf.
        """
        leaf = record.metadata.get("leaf")
        if not leaf:
            return []
        return [make_record_id(agent, str(leaf), 0) for agent in self._agents]
