"""What a store holds that no log can tell, and giving it to a store made anew."""

from __future__ import annotations

import hashlib
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Self

from msgspec import Struct, structs

from leslied.errors import StoreUnusable
from leslied.store.connection import open_reader, translate_sqlite_errors
from leslied.store.tombstones import Tombstones

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from leslied.store.tombstones import Tombstone

_NAME_COLUMNS = (
    "unit, chat_id, folder, file, utc_offset, started_us, digest, is_removed"
)
_SESSION_COLUMNS = "agent, session_id, source, thread_id, folder, stopped_us, seen_us"
_NO_NAMES: tuple[int, Iterable[tuple[Any, ...]]] = (0, ())
_FIND_SESSION = (
    "SELECT id FROM session WHERE agent = ? AND session_id = ? AND source = ?"
)


class TranscriptName(Struct, frozen=True, array_like=True):
    """A transcript's name, and all that its bytes depend on beside the records."""

    unit: int
    chat_id: str
    folder: bytes
    file: str
    utc_offset: int
    started_us: int
    digest: bytes
    is_removed: int


class SourceRun(Struct, frozen=True, array_like=True):
    """Entries of a session that one source gave it, without another's between."""

    path: bytes
    unit: int
    entries: int


class SessionMetadata(Struct, frozen=True, kw_only=True):
    """What a session has that its log cannot tell."""

    agent: str
    session_id: str
    source: str
    thread_id: str
    folder: bytes
    stopped_us: int | None
    seen_us: int
    names: list[TranscriptName] = []
    runs: list[SourceRun] = []
    """The order of entries from several sources; empty where one source gave all."""

    @property
    def key(self) -> tuple[str, str, str]:
        """The session."""
        return (self.agent, self.session_id, self.source)


class ManifestRuns(Struct, frozen=True, kw_only=True):
    """What a manifest says of the order of a session's entries."""

    agent: str
    session_id: str
    source: str
    seen_us: int
    runs: list[SourceRun] = []

    @property
    def key(self) -> tuple[str, str, str, int]:
        """The session, as it was then."""
        return (self.agent, self.session_id, self.source, self.seen_us)


class MetadataLedger:
    """Reading and restoring what was given; the caller holds the transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    @property
    def tombstones(self) -> Tombstones:
        """What a person wanted to be rid of."""
        return Tombstones(self._db)

    def created_us(self) -> int:
        """When the store was made."""
        query = "SELECT value FROM meta WHERE key = 'created_us'"
        row = self._db.execute(query).fetchone()
        return int(row[0]) if row else 0

    def compute_mark(self) -> list[int]:
        """Changes whenever a name was given or a session has news."""
        row = self._db.execute(
            "SELECT (SELECT count(*) FROM transcript), "
            "(SELECT total(newest) FROM transcript), (SELECT count(*) FROM session), "
            "(SELECT total(seen_us) FROM session), "
            "(SELECT count(stopped_us) FROM session)"
        ).fetchone()
        return [int(number) for number in row]

    def load_manifest_mark(self) -> list[int]:
        """The mark under which the manifest was last written."""
        query = "SELECT value FROM meta WHERE key = 'manifest_mark'"
        row = self._db.execute(query).fetchone()
        return [int(number) for number in row[0].split()] if row else []

    def record_manifest_mark(self, mark: list[int]) -> None:
        """The manifest says all that stood in the store under this mark."""
        self._db.execute(
            "INSERT OR REPLACE INTO meta VALUES ('manifest_mark', ?)",
            (" ".join(map(str, mark)),),
        )

    def iter_sessions(
        self,
        known_runs: Iterable[ManifestRuns] = (),
        *,
        has_complete_feeds: bool = True,
    ) -> Iterator[SessionMetadata]:
        """What every session was given; an order `known` from before is not asked.

        Without `is_fed` the table of feeds is not trusted to be complete.
        """
        several = (
            "feed"
            if has_complete_feeds
            else "(SELECT DISTINCT source, session FROM placement)"
        )
        query = f"SELECT session FROM {several} GROUP BY session HAVING count(*) > 1"
        mixed = {row[0] for row in self._db.execute(query)}
        before = {each.key: each.runs for each in known_runs if each.runs}
        names = groupby(
            self._db.execute(
                f"SELECT session, {_NAME_COLUMNS} FROM transcript ORDER BY session, unit"
            ),
            itemgetter(0),
        )
        named, mine = next(names, _NO_NAMES)
        sessions = self._db.execute(
            f"SELECT id, {_SESSION_COLUMNS} FROM session ORDER BY id"
        )
        for number, *row in sessions:
            fields = dict(zip(_SESSION_COLUMNS.split(", "), row, strict=True))
            given = SessionMetadata(**fields)
            if number in mixed:
                runs = before.get((*given.key, given.seen_us))
                runs = list(self._iter_runs(number)) if runs is None else runs
                given = structs.replace(given, runs=runs)
            if number == named:
                given = structs.replace(
                    given, names=[TranscriptName(*each[1:]) for each in mine]
                )
                named, mine = next(names, _NO_NAMES)
            yield given

    def restore(self, sessions: list[SessionMetadata], created_us: int) -> int:
        """Every session has again what it was given. Says how many are not there."""
        rows = {given.key: self._find_session(given.key) for given in sessions}
        here = [given for given in sessions if rows[given.key]]
        self._db.executemany(
            "UPDATE session SET thread_id = '' WHERE id = ?",
            [(rows[given.key],) for given in here],
        )
        self._db.executemany(
            "UPDATE OR IGNORE session SET thread_id = ?, folder = ?, stopped_us = ?, "
            "seen_us = ? WHERE id = ?",
            [
                (g.thread_id, g.folder, g.stopped_us, g.seen_us, rows[g.key])
                for g in here
            ],
        )
        for given in here:
            self._restore_order(rows[given.key], given)
        if created_us:
            self._db.execute(
                "INSERT OR REPLACE INTO meta VALUES ('created_us', ?)",
                (str(created_us),),
            )
        return len(sessions) - len(here)

    def restore_observed_times(self, rows: Iterable[tuple[bytes, bytes, int]]) -> None:
        """Every record was seen when it was first seen: entry id, digest, time."""
        self._db.executemany(
            "UPDATE record SET observed_us = ?3 WHERE entry_id = ?1 AND digest = ?2",
            rows,
        )

    def _find_session(self, key: tuple[str, str, str]) -> int:
        row = self._db.execute(_FIND_SESSION, key).fetchone()
        return int(row[0]) if row else 0

    def restore_transcript_names(
        self, metadata: SessionMetadata, units: dict[tuple[int, str], int]
    ) -> None:
        """The session's files keep their names; `units` says where each chat is now."""
        session = self._find_session(metadata.key)
        if not session:
            return
        self._db.executemany(
            f"INSERT OR IGNORE INTO transcript (session, {_NAME_COLUMNS}, newest) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0)",
            [
                (
                    session,
                    units.get((session, name.chat_id), name.unit),
                    *structs.astuple(name)[1:],
                )
                for name in metadata.names
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
        """Entries from several sources stand as they stood; if all of them are here."""
        queues: dict[bytes, list[int]] = {}
        for number, path in self._db.execute(
            "SELECT p.id, o.path FROM placement p JOIN source o ON o.id = p.source "
            "WHERE p.session = ? ORDER BY p.id",
            (session,),
        ):
            queues.setdefault(path, []).append(number)
        wanted: dict[bytes, int] = {}
        for run in metadata.runs:
            wanted[run.path] = wanted.get(run.path, 0) + run.entries
        if {path: len(queue) for path, queue in queues.items()} != wanted:
            return
        places = iter(sorted(n for queue in queues.values() for n in queue))
        heads = {path: iter(queue) for path, queue in queues.items()}
        moved = [
            (-next(places), run.unit, next(heads[run.path]))
            for run in metadata.runs
            for _ in range(run.entries)
        ]
        self._db.executemany(
            "UPDATE placement SET id = ?, unit = ? WHERE id = ?", moved
        )
        self._db.execute(
            "UPDATE placement SET id = -id WHERE session = ? AND id < 0", (session,)
        )


class RebuildReader:
    """A store that is about to be replaced, as far as it can still be read."""

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
        (said,) = self._db.execute("PRAGMA quick_check(1)").fetchone()
        if said != "ok":
            raise StoreUnusable(f"The store at {self.path} is damaged: {said}.")

    @translate_sqlite_errors
    def load_metadata(self) -> tuple[int, list[SessionMetadata]]:
        """When the store was made, and what every session was given."""
        giving = MetadataLedger(self._db)
        return giving.created_us(), list(giving.iter_sessions(has_complete_feeds=False))

    @translate_sqlite_errors
    def list_tombstones(self) -> list[Tombstone]:
        """What a person wanted to be rid of."""
        return list(Tombstones(self._db).iter_all())

    def iter_observed_times(self) -> Iterator[tuple[bytes, bytes, int]]:
        """When each version of each entry was first seen."""
        yield from self._db.execute("SELECT entry_id, digest, observed_us FROM record")

    @translate_sqlite_errors
    def hash_sessions(self) -> dict[tuple[str, str, str], tuple[int, bytes]]:
        """Each session's number, and a hash of its entries and versions in order."""
        rows = self._db.execute(
            "SELECT s.id, s.agent, s.session_id, s.source, p.unit, r.entry_id, "
            "r.digest FROM session s JOIN placement p ON p.session = s.id "
            "JOIN record r ON r.entry = p.entry AND r.is_current ORDER BY s.id, p.id"
        )
        found: dict[Any, tuple[int, bytes]] = {}
        for (number, *key), mine in groupby(rows, itemgetter(0, 1, 2, 3)):
            digest = hashlib.blake2b(digest_size=16)
            for row in mine:
                digest.update(b"%d\0%s%s" % row[4:])
            found[tuple(key)] = (number, digest.digest())
        return found

    @translate_sqlite_errors
    def load_entry_ids(self, session: int) -> set[bytes]:
        """The ids of a session's entries."""
        rows = self._db.execute(
            "SELECT r.entry_id FROM placement p JOIN record r ON r.entry = p.entry "
            "WHERE p.session = ?",
            (session,),
        )
        return {row[0] for row in rows}
