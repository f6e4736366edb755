"""Metadata that exists only in the store, and its transfer to a rebuilt store."""

from __future__ import annotations

import hashlib
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple, Self

from msgspec import Struct, structs

from leslied.errors import StoreUnusable
from leslied.model.record import SessionKey
from leslied.store.columns import IS_CONTEXT
from leslied.store.connection import open_reader, translate_sqlite_errors
from leslied.store.ledgers.archive import ArchiveLedger
from leslied.store.read.project_queries import ProjectQueries
from leslied.store.sql import fetch_column, fetch_value, list_columns, make_insert
from leslied.store.streams import find_stream
from leslied.store.write.tombstones import Tombstones

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from leslied.store.write.tombstones import Tombstone

_SESSION_COLUMNS = (
    "agent",
    "session_id",
    "source",
    "thread_id",
    "folder",
    "stopped_us",
    "seen_us",
)
"""Columns with the fields of SessionMetadata, except names and runs."""


class TranscriptName(Struct, frozen=True, array_like=True):
    """Name of a transcript, and what its bytes depend on besides the records.

    The columns of the table `transcript` have the same names.
    """

    unit: int
    chat_id: str
    folder: bytes
    file: str
    utc_offset: int
    started_us: int
    digest: bytes
    is_removed: int


_NOT_WRITTEN = 0
"""Value of `newest` for a name that is reserved, but not written in this store."""
_RESTORE_NAME = make_insert(
    "transcript",
    ("session", "newest", *TranscriptName.__struct_fields__),
    "INSERT OR IGNORE",
)


class _StoredName(NamedTuple):
    """Name of a transcript with the row id of its session."""

    session: int
    name: TranscriptName


class SourceRun(Struct, frozen=True, array_like=True):
    """Consecutive entries of a session that came from one source."""

    path: bytes
    unit: int
    entries: int


class SessionMetadata(Struct, frozen=True, kw_only=True):
    """Metadata of a session that cannot be derived from its log."""

    agent: str
    session_id: str
    source: str
    thread_id: str
    folder: bytes
    stopped_us: int | None
    seen_us: int
    names: list[TranscriptName] = []
    runs: list[SourceRun] = []
    """Order of entries from several sources; empty if all came from one source."""

    @property
    def key(self) -> SessionKey:
        """Key of the session or subagent."""
        return SessionKey(self.agent, self.session_id, self.source)


class ManifestRuns(Struct, frozen=True, kw_only=True):
    """Order of a session's entries, as stored in a manifest."""

    agent: str
    session_id: str
    source: str
    seen_us: int
    runs: list[SourceRun] = []

    @property
    def key(self) -> tuple[str, str, str, int]:
        """The session and its `seen_us`: equal only if it has no newer entries."""
        return (self.agent, self.session_id, self.source, self.seen_us)


_NO_NAMES: tuple[int, Iterable[_StoredName]] = (0, ())
"""Used when no further session has names; no row has the id 0."""


class MetadataLedger:
    """Read and restore session metadata; the caller holds the transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    @property
    def tombstones(self) -> Tombstones:
        """Tombstones of pruned entries."""
        return Tombstones(self._db)

    def get_created_us(self) -> int:
        """Return the time at which the store was created, or 0."""
        query = "SELECT value FROM meta WHERE key = 'created_us'"
        return int(fetch_value(self._db, query, default=0))

    def compute_fingerprint(self) -> list[int]:
        """Return numbers that change with every new transcript, entry or stop."""
        row = self._db.execute(
            "SELECT (SELECT count(*) FROM transcript), "
            "(SELECT total(newest) FROM transcript), (SELECT count(*) FROM session), "
            "(SELECT total(seen_us) FROM session), "
            "(SELECT count(stopped_us) FROM session)"
        ).fetchone()
        return [int(number) for number in row]

    def load_manifest_fingerprint(self) -> list[int]:
        """Return the fingerprint with which the manifest was last written, or []."""
        query = "SELECT value FROM meta WHERE key = 'manifest_mark'"
        return [int(n) for n in fetch_value(self._db, query, default="").split()]

    def record_manifest_fingerprint(self, fingerprint: list[int]) -> None:
        """Record that the manifest contains the metadata with this fingerprint."""
        self._db.execute(
            "INSERT OR REPLACE INTO meta VALUES ('manifest_mark', ?)",
            (" ".join(map(str, fingerprint)),),
        )

    def iter_sessions(
        self,
        manifest_runs: Iterable[ManifestRuns] = (),
        *,
        has_complete_feeds: bool = True,
    ) -> Iterator[SessionMetadata]:
        """Yield the metadata of every session.

        An order of entries in `manifest_runs` is used if it is up to date. Without
        `has_complete_feeds` the table `feed` is not used, as rows may be missing.
        """
        mixed_sessions = self._find_mixed_sessions(
            has_complete_feeds=has_complete_feeds
        )
        runs_by_key = {item.key: item.runs for item in manifest_runs if item.runs}
        name_groups = groupby(self._iter_names(), attrgetter("session"))
        # Both queries are sorted by session, so that they can advance together.
        named_session, names = next(name_groups, _NO_NAMES)
        sessions = self._db.execute(
            f"SELECT id, {list_columns(_SESSION_COLUMNS)} FROM session ORDER BY id"
        )
        for session, *values in sessions:
            fields = dict(zip(_SESSION_COLUMNS, values, strict=True))
            metadata = SessionMetadata(**fields)
            if session in mixed_sessions:
                runs = runs_by_key.get((*metadata.key, metadata.seen_us))
                runs = list(self._iter_runs(session)) if runs is None else runs
                metadata = structs.replace(metadata, runs=runs)
            if session == named_session:
                metadata = structs.replace(
                    metadata, names=[stored.name for stored in names]
                )
                named_session, names = next(name_groups, _NO_NAMES)
            yield metadata

    def _iter_names(self) -> Iterator[_StoredName]:
        """Yield the transcript names of all sessions, sorted by session and unit."""
        rows = self._db.execute(
            f"SELECT session, {list_columns(TranscriptName.__struct_fields__)} "
            "FROM transcript ORDER BY session, unit"
        )
        for session, *values in rows:
            yield _StoredName(session, TranscriptName(*values))

    def _find_mixed_sessions(self, *, has_complete_feeds: bool) -> set[int]:
        """Find the sessions whose entries come from more than one source."""
        feeds = (
            "feed"
            if has_complete_feeds
            else "(SELECT DISTINCT source, session FROM placement)"
        )
        query = f"SELECT session FROM {feeds} GROUP BY session HAVING count(*) > 1"
        return set(fetch_column(self._db, query))

    def restore(self, sessions: list[SessionMetadata], created_us: int) -> int:
        """Restore the metadata of sessions, and `created_us` unless it is 0.

        Return how many of the sessions are not in the store.
        """
        row_ids = {item.key: find_stream(self._db, item.key) for item in sessions}
        stored_sessions = [item for item in sessions if row_ids[item.key]]
        # Thread ids are unique, so clear the current ones before setting any.
        self._db.executemany(
            "UPDATE session SET thread_id = '' WHERE id = ?",
            [(row_ids[item.key],) for item in stored_sessions],
        )
        self._db.executemany(
            "UPDATE OR IGNORE session SET thread_id = ?, folder = ?, stopped_us = ?, "
            "seen_us = ? WHERE id = ?",
            [
                (m.thread_id, m.folder, m.stopped_us, m.seen_us, row_ids[m.key])
                for m in stored_sessions
            ],
        )
        for item in stored_sessions:
            self._restore_order(row_ids[item.key], item)
        if created_us:
            self._db.execute(
                "INSERT OR REPLACE INTO meta VALUES ('created_us', ?)",
                (str(created_us),),
            )
        return len(sessions) - len(stored_sessions)

    def restore_observed_times(self, rows: Iterable[tuple[bytes, bytes, int]]) -> None:
        """Restore the times when records were first observed, by (entry id, digest)."""
        self._db.executemany(
            "UPDATE record SET observed_us = ?3 WHERE entry_id = ?1 AND digest = ?2",
            rows,
        )

    def restore_transcript_names(
        self, metadata: SessionMetadata, units: Mapping[tuple[SessionKey, str], int]
    ) -> None:
        """Restore a session's transcript names.

        `units` maps (session, chat id) to the unit's number in this store, which can
        differ from the number in `metadata`.
        """
        session = find_stream(self._db, metadata.key)
        if not session:
            return
        self._db.executemany(
            _RESTORE_NAME,
            [
                (session, _NOT_WRITTEN, *structs.astuple(name))
                for name in (
                    structs.replace(
                        name, unit=units.get((metadata.key, name.chat_id), name.unit)
                    )
                    for name in metadata.names
                )
            ],
        )

    def _iter_runs(self, session: int) -> Iterator[SourceRun]:
        rows = self._db.execute(
            "SELECT o.path, p.unit FROM placement p JOIN source o ON o.id = p.source "
            "WHERE p.session = ? ORDER BY p.id",
            (session,),
        )
        for (path, unit), run in groupby(rows):
            yield SourceRun(path, unit, sum(1 for _ in run))

    def _restore_order(self, session: int, metadata: SessionMetadata) -> None:
        """Restore the order of entries from several sources, as `metadata` has it.

        If the sources do not have the expected numbers of entries, change nothing.
        """
        placements_by_path: dict[bytes, list[int]] = {}
        for placement, path in self._db.execute(
            "SELECT p.id, o.path FROM placement p JOIN source o ON o.id = p.source "
            "WHERE p.session = ? ORDER BY p.id",
            (session,),
        ):
            placements_by_path.setdefault(path, []).append(placement)
        expected_counts: dict[bytes, int] = {}
        for run in metadata.runs:
            expected_counts[run.path] = expected_counts.get(run.path, 0) + run.entries
        counts = {path: len(ids) for path, ids in placements_by_path.items()}
        if counts != expected_counts:
            return
        # The same ids are assigned again, in the order of the runs.
        new_ids = iter(sorted(n for ids in placements_by_path.values() for n in ids))
        old_ids = {path: iter(ids) for path, ids in placements_by_path.items()}
        # Negative ids cannot collide with those of rows that have not moved yet.
        moves = [
            (-next(new_ids), run.unit, next(old_ids[run.path]))
            for run in metadata.runs
            for _ in range(run.entries)
        ]
        self._db.executemany(
            "UPDATE placement SET id = ?, unit = ? WHERE id = ?", moves
        )
        self._db.execute(
            "UPDATE placement SET id = -id WHERE session = ? AND id < 0", (session,)
        )


class RebuildReader:
    """Reader of a store that is about to be replaced.

    Opening a damaged store raises StoreUnusable.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db = open_reader(path)
        try:
            self._check_integrity()
        except BaseException:
            self._db.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    @translate_sqlite_errors
    def _check_integrity(self) -> None:
        (result,) = self._db.execute("PRAGMA quick_check(1)").fetchone()
        if result != "ok":
            raise StoreUnusable(f"The store at {self.path} is damaged: {result}.")

    @property
    def projects(self) -> ProjectQueries:
        """Queries over projects; those of removed folders are only in this store."""
        return ProjectQueries(self._db, self.path)

    @translate_sqlite_errors
    def load_metadata(self) -> tuple[int, list[SessionMetadata]]:
        """Return the store's creation time and the metadata of every session."""
        ledger = MetadataLedger(self._db)
        return ledger.get_created_us(), list(
            ledger.iter_sessions(has_complete_feeds=False)
        )

    @translate_sqlite_errors
    def list_tombstones(self) -> list[Tombstone]:
        """List the tombstones of pruned entries."""
        return list(Tombstones(self._db).iter_all())

    @translate_sqlite_errors
    def list_spills(self, agent: str, path: bytes) -> list[tuple[str, str]]:
        """List the spilled results of a source, as (metadata, text)."""
        ledger = ArchiveLedger(self._db)
        return ledger.list_spills(ledger.find_source_id(agent, path), after=0)

    def iter_observed_times(self) -> Iterator[tuple[bytes, bytes, int]]:
        """Yield (entry id, digest, time of first observation) of every record."""
        yield from self._db.execute("SELECT entry_id, digest, observed_us FROM record")

    @translate_sqlite_errors
    def hash_sessions(self) -> dict[SessionKey, bytes]:
        """Return a hash of each stream's entries in order."""
        rows = self._db.execute(
            "SELECT s.agent, s.session_id, s.source, p.unit, r.entry_id, "
            "r.digest FROM session s JOIN placement p ON p.session = s.id "
            "JOIN record r ON r.entry = p.entry AND r.is_current ORDER BY s.id, p.id"
        )
        hashes: dict[SessionKey, hashlib.blake2b] = {}
        for agent, session_id, source, unit, entry_id, digest in rows:
            key = SessionKey(agent, session_id, source)
            entries_hash = hashes.setdefault(key, hashlib.blake2b(digest_size=16))
            entries_hash.update(b"%d\0%s%s" % (unit, entry_id, digest))
        return {key: entries_hash.digest() for key, entries_hash in hashes.items()}

    @translate_sqlite_errors
    def load_entry_ids(
        self, session: SessionKey, *, with_context: bool = True
    ) -> set[bytes]:
        """Return a session's entry ids, those of IS_CONTEXT only if `with_context`."""
        query = (
            "SELECT r.entry_id FROM placement p JOIN record r ON r.entry = p.entry "
            f"WHERE p.session = ? AND (? OR NOT {IS_CONTEXT})"
        )
        values = (find_stream(self._db, session), with_context)
        return set(fetch_column(self._db, query, values))
