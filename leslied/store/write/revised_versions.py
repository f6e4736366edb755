"""Versions of entries that a newer decoder decoded again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.model.record import SessionKey, Usage
from leslied.store.columns import (
    DIGESTED_FIELDS,
    RECORD_COLUMNS,
    pack_record,
    unpack_record,
)
from leslied.store.fts_text import extract_index_text
from leslied.store.sql import list_columns
from leslied.store.write.record_versions import RecordVersions

if TYPE_CHECKING:
    import sqlite3

    from leslied.store.write.record_versions import PendingRecord

_REVISED_COLUMNS = tuple(
    name for name in RECORD_COLUMNS if name not in {*DIGESTED_FIELDS, "observed_us"}
)
"""Columns that a digest ignores: they are updated in place, without a new version."""
_ASSIGNMENTS = ", ".join(f"{name} = ?" for name in _REVISED_COLUMNS)
_NO_SESSION = SessionKey("", "")
"""Key for unpacked records; their index text does not depend on the session."""


class RevisedVersions(RecordVersions):
    """Versions of a newer decoder, which replace those of an older one."""

    def __init__(
        self, db: sqlite3.Connection, observed_us: int, decoder_version: int
    ) -> None:
        super().__init__(db, observed_us)
        self._decoder_version = decoder_version
        self._seen_records: set[int] = set()
        """Record ids that this decoder yielded."""
        self._old_versions: dict[int, int | None] = {}
        """The version that was current before, by the number of the entry; only of
        entries whose current version has changed."""
        self._new_versions: dict[int, int] = {}
        """The version that is current now, by the number of the entry."""
        self._revised_entries: set[int] = set()
        """Numbers of entries of which a version was updated in place."""

    @property
    def changed_entries(self) -> set[int]:
        """Numbers of the entries whose current content differs from before."""
        return self._revised_entries | {
            number
            for number, record_id in self._new_versions.items()
            if self._old_versions[number] != record_id
        }

    def flush(self) -> None:
        """Write the queued rows; clear the queues and the caches of stored values."""
        self.write()
        self._new_versions |= self.changes
        for queue in (self._record_rows, self._long_texts, self.text_rows):
            queue.clear()
        for changes in (self.changes, self._usage_updates):
            changes.clear()
        for cache in (self._entries_by_id, self._current_versions):
            cache.clear()
        self._usage_by_record.clear()

    def _has_original(self, item: PendingRecord, number: int) -> bool:
        """Return whether the entry has the record that this one repeats.

        This decoder must have yielded that record, or another source must contain it.
        """
        if self._current_versions.get(number) in self._seen_records:
            return True
        query = "SELECT 1 FROM placement WHERE entry = ? AND source <> ?"
        return self._db.execute(query, (number, item.source)).fetchone() is not None

    def _set_current(self, entry_number: int, record_id: int) -> bool:
        old_version = self._current_versions.get(entry_number)
        is_changed = super()._set_current(entry_number, record_id)
        if is_changed:
            self._old_versions.setdefault(entry_number, old_version)
        return is_changed

    def _queue(self, item: PendingRecord, record_id: int, entry_number: int) -> None:
        self._seen_records.add(record_id)
        super()._queue(item, record_id, entry_number)

    def _add_again(self, item: PendingRecord, record_id: int, number: int) -> None:
        """Update a version in place; merge it if this decoder yielded it before."""
        is_first = record_id not in self._seen_records
        self._seen_records.add(record_id)
        old = self._load(record_id) if is_first else {}
        # Decoding a copy in another log again may have revised the record already.
        if not old or old["decoder_version"] >= self._decoder_version:
            super()._add_again(item, record_id, number)
            if record_id in self._usage_updates:
                self._revised_entries.add(number)
            return
        values = pack_record(
            item.record, item.prepared, self._observed_us, self._decoder_version
        )
        new = dict(zip(RECORD_COLUMNS, values, strict=True))
        # The agent may have deleted the file of the spilled text since.
        new["spilled"] = new["spilled"] or old["spilled"]
        self._usage_by_record[record_id] = item.record.usage or Usage()
        self._update(record_id, old, new, item.search_text)
        old["decoder_version"] = new["decoder_version"]
        if any(old[name] != new[name] for name in _REVISED_COLUMNS):
            self._revised_entries.add(number)

    def _update(
        self, record_id: int, old: dict[str, Any], new: dict[str, Any], text: str
    ) -> None:
        """Write the columns that a digest ignores, and index a new spilled text.

        `text` is the text of the whole record for the index.
        """
        self._db.execute(
            f"UPDATE record SET {_ASSIGNMENTS} WHERE id = ?",
            (*(new[name] for name in _REVISED_COLUMNS), record_id),
        )
        if old["spilled"] == new["spilled"]:
            return
        old_record, *_ = unpack_record(old.values(), _NO_SESSION)
        # The index has no copy of the text: a deletion must pass the same text.
        if old_text := extract_index_text(old_record):
            self._db.execute(
                "INSERT INTO record_text (record_text, rowid, text) "
                "VALUES ('delete', ?, ?)",
                (record_id, old_text),
            )
        if text:
            self.text_rows.append((record_id, text))

    def _load(self, record_id: int) -> dict[str, Any]:
        """Return the columns of a stored record, by name."""
        query = f"SELECT {list_columns(RECORD_COLUMNS)} FROM record WHERE id = ?"
        row = self._db.execute(query, (record_id,)).fetchone()
        return dict(zip(RECORD_COLUMNS, row, strict=True))
