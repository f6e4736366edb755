"""Replace a source's entries from an older decoder with newly decoded ones.

The newer decoder reads the source from its beginning. Entries whose content changed get
a new version, entries that it no longer yields lose their placements, and new entries
are placed where they belong. Cursors, thread ids and names of transcripts remain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.failpoints import failpoint
from leslied.model.source import Noise
from leslied.store.ledgers.archive import ArchiveLedger
from leslied.store.ledgers.redecode import RedecodeLedger
from leslied.store.ledgers.transcripts import TranscriptLedger
from leslied.store.sql import fetch_column, select_in_batches
from leslied.store.write.record_versions import make_pending_records
from leslied.store.write.revised_versions import RevisedVersions
from leslied.store.write.sanitize import replace_surrogates, sanitize_chunk
from leslied.store.write.session_refold import Coverage, DecodedPlacement, SessionRefold
from leslied.store.write.session_rows import SessionRows
from leslied.store.write.source_rows import SourceRows
from leslied.store.write.tombstones import PRUNED, Tombstones
from leslied.store.write.usage_rows import UsageRows, recount_usage

if TYPE_CHECKING:
    import sqlite3

    from leslied.model.decoded_chunk import DecodedChunk
    from leslied.model.output import Transcript
    from leslied.store.forgotten import Forgotten
    from leslied.store.write.record_versions import PendingRecord


class Redecode:
    """Decode one source again; the caller holds the transaction.

    Chunks are written as they are added, so that memory does not grow with the texts.
    """

    def __init__(
        self,
        db: sqlite3.Connection,
        observed_us: int,
        source: int,
        version: int,
        forgotten: Forgotten | None = None,
    ) -> None:
        self._db = db
        self._observed_us = observed_us
        self._source = source
        self._version = version
        self._sources = SourceRows(db)
        self._sessions = SessionRows(db)
        self._versions = RevisedVersions(db, observed_us, version)
        self._usage = UsageRows(db)
        self._tombstones = Tombstones(db, forgotten)
        self._was_pruned = ArchiveLedger(db).is_pruned(source)
        self._generation = 0
        self._decoded: dict[int, dict[int, DecodedPlacement]] = {}
        """Placements by stream and entry number, in the order of the source."""
        self.changed_count = 0
        """Number of streams that changed; set by `finish`."""
        self.obsolete_transcripts: list[Transcript] = []
        """Transcripts of units that no longer exist; set by `finish`."""

    def add(self, chunk: DecodedChunk) -> None:
        """Write the versions of the chunk's entries; remember their order."""
        chunk = sanitize_chunk(chunk)
        if chunk.cursor.generation != self._generation:
            self._sources.clear(self._source)
            self._generation = chunk.cursor.generation
        self._sources.add_undecoded(self._source, chunk)
        pending = [
            item
            for entry in chunk.entries
            for item in make_pending_records(
                chunk,
                entry,
                self._source,
                self._sources.count_occurrence(self._source, entry),
            )
        ]
        self._versions.load({item.entry_id for item in pending})
        remaining = [item for item in pending if not self._replace_if_pruned(item)]
        is_all_pruned = bool(pending) and not remaining
        discarded = [
            each
            for each in chunk.rejected
            # Rejected bytes between pruned entries belong to the pruned session too.
            if is_all_pruned
            or self._tombstones.is_rejection_forgotten(self._source, each.digest)
        ]
        if discarded:
            generation = chunk.cursor.generation
            self._sources.discard_rejected(self._source, generation, discarded)
        for item in remaining:
            self._add_record(item)
        self._versions.flush()

    def finish(self, coverage: Coverage, state: str | None = None) -> None:
        """Update placements, units, totals and usage of all streams that changed.

        `state` is the decoder's new state at the cursor, or None to keep the old one.
        Unless there are obsolete transcripts, record that the source is decoded.
        """
        self._write_source(state)
        refold = SessionRefold(
            db=self._db,
            sessions=self._sessions,
            source=self._source,
            coverage=coverage,
            changed_entries=self._versions.changed_entries,
            observed_us=self._observed_us,
        )
        sessions = self._find_sessions(refold.changed_entries)
        changed_sessions = {
            session
            for session in sorted(sessions)
            if refold.apply(session, self._decoded.get(session, {}))
        }
        refold.finish()
        failpoint("redecode.half")
        if changed_sessions:
            recount_usage(self._db, changed_sessions)
            self._usage.write()
            self._sessions.write(refold.entry_ids)
        self.changed_count = len(changed_sessions)
        self._complete(sessions)

    def _complete(self, sessions: set[int]) -> None:
        """Find obsolete transcripts; without any, mark the source as decoded."""
        ledger = TranscriptLedger(self._db)
        self.obsolete_transcripts = [
            transcript
            for session in sessions
            for transcript in ledger.list_obsolete(session)
        ]
        if not self.obsolete_transcripts:
            RedecodeLedger(self._db).mark_decoded(self._source, self._version)

    def _replace_if_pruned(self, item: PendingRecord) -> bool:
        """If the record was pruned, add noise instead and return True.

        A newer decoder may derive other ids from a pruned entry. So no new entry is
        added to a session from which entries were pruned.
        """
        if not self._tombstones:
            return False
        key = item.record.session
        is_pruned = self._tombstones.has_record(item.record, item.entry_id) or (
            self._tombstones.has_any_of(key) and not self._is_placed(item)
        )
        if is_pruned:
            noise = Noise(item.offset, item.length, PRUNED)
            self._sources.add_noise(self._source, item.generation, noise)
        return is_pruned

    def _is_placed(self, item: PendingRecord) -> bool:
        """Return whether the store already has the entry in this session."""
        row = self._db.execute(
            "SELECT 1 FROM session s JOIN record r ON r.entry_id = ? "
            "JOIN placement p ON p.entry = r.entry AND p.session = s.id "
            "WHERE s.agent = ? AND s.session_id = ? AND s.source = ?",
            (item.entry_id, *item.record.session),
        ).fetchone()
        return row is not None

    def _add_record(self, item: PendingRecord) -> None:
        record = item.record
        number, _ = self._versions.add(item)
        session = self._sessions.get(record.session).id
        if record.usage:
            self._usage.add(record, item.entry_id, session)
        if record.metadata.get("kind") == "title" and record.metadata.get("leaf"):
            self._sessions.add_leaf_title(record)
        placement = DecodedPlacement(
            item.source, item.generation, item.offset, item.length, int(record.is_copy)
        )
        self._decoded.setdefault(session, {}).setdefault(number, placement)

    def _write_source(self, state: str | None) -> None:
        self._sources.write()
        if self._was_pruned:
            # A source with such a row is not archived. The old one was just deleted.
            self._db.execute(
                "INSERT INTO noise SELECT id, generation, 0, offset, ? FROM source "
                "WHERE id = ?",
                (PRUNED, self._source),
            )
        if state is not None:
            self._db.execute(
                "UPDATE source SET state = ? WHERE id = ?",
                (replace_surrogates(state), self._source),
            )

    def _find_sessions(self, changed_entries: set[int]) -> set[int]:
        """Find the streams of the source, and those that share a changed entry."""
        ArchiveLedger(self._db).update_feeds()
        query = "SELECT session FROM placement WHERE entry"
        rows = select_in_batches(self._db, query, changed_entries)
        sharing_sessions = {session for (session,) in rows}
        query = "SELECT session FROM feed WHERE source = ?"
        own_sessions = fetch_column(self._db, query, (self._source,))
        return {*self._decoded, *sharing_sessions, *own_sessions}
