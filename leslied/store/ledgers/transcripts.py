"""Ledger of transcripts: which sessions and units are due, and what was written."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from leslied.model.output import Transcript
from leslied.model.record import MAIN, SessionKey
from leslied.store.read.spawn_lookup import StoredSpawnLookup
from leslied.store.sql import fetch_value, list_columns, make_insert
from leslied.store.streams import IS_STREAM, UNIT_ENDS, find_stream

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from leslied.model.session import SessionSummary

_FIELDS = tuple(f for f in Transcript.__struct_fields__ if f != "session")
"""Fields of a transcript; the columns have the same names."""
_get_fields = attrgetter(*_FIELDS)
_COLUMNS = f"s.agent, s.session_id, s.source, {list_columns(_FIELDS, table='t')}"
_SAVE = (
    f"{make_insert('transcript', ('session', *_FIELDS))} ON CONFLICT DO UPDATE "
    "SET newest = excluded.newest, digest = excluded.digest"
)


# A unit without a start time gets the latest start time of the units before it.
_TIMED_TRANSCRIPTS = (
    "(SELECT *, CASE started_us WHEN 0 THEN max(started_us) OVER (ORDER BY unit) "
    "ELSE started_us END AS sort_time "
    "FROM transcript WHERE session = ? AND unit > 0)"
)


class UnitMove(NamedTuple):
    """Change of a unit whose session was decoded again."""

    number: int
    """Its number now."""
    is_changed: bool
    """Whether its content changed."""
    old_newest: int
    """Its last placement before the session was decoded again."""
    first: int
    """Its first placement now."""
    newest: int
    """Its last placement now."""


class TranscriptLedger:
    """Read and write the state of transcripts; the caller holds the transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def list_due(self, since_us: int, limit: int) -> list[tuple[str, str]]:
        """List sessions with new entries since they were last settled, latest first.

        Return (agent, session id). Omit sessions without entries since `since_us`.
        """
        rows = self._db.execute(
            "SELECT agent, session_id FROM session "
            "WHERE is_dirty AND ifnull(ended_us, 0) >= ? "
            "ORDER BY ended_us DESC LIMIT ?",
            (since_us, limit),
        )
        return list(dict.fromkeys(rows))

    def list_due_units(self, session: SessionKey, after_unit: int) -> list[int]:
        """List units after `after_unit` with entries newer than their transcript."""
        query = (
            f"{UNIT_ENDS} SELECT e.unit FROM unit_end e LEFT JOIN transcript t "
            "ON t.session = :stream AND t.unit = e.unit "
            "WHERE e.newest > ifnull(t.newest, 0)"
        )
        stream = find_stream(self._db, session)
        values = {"stream": stream, "after": max(after_unit, 0)}
        rows = self._db.execute(query, values)
        return [unit for (unit,) in rows]

    def get_spawn_lookup(self, main: SessionSummary) -> StoredSpawnLookup:
        """Return the facts that decide which unit spawned each subagent of `main`."""
        return StoredSpawnLookup(self._db, main)

    def list_outdated_subagents(self, session: SessionKey) -> set[SessionKey]:
        """List the subagents with entries that their transcripts do not include.

        A subagent without a transcript is listed only until its session is settled: it
        may belong to a unit that is too old to get a transcript.
        """
        # All entries of a subagent are in its unit 0.
        rows = self._db.execute(
            "SELECT c.agent, c.session_id, c.source FROM session c "
            "LEFT JOIN transcript t ON t.session = c.id AND t.unit = 0 "
            "WHERE c.agent = ? AND c.session_id = ? AND c.source <> 'main' "
            "AND (c.is_dirty AND t.newest IS NULL OR t.newest < "
            "(SELECT max(id) FROM placement WHERE session = c.id AND unit = 0))",
            (session.agent, session.session_id),
        )
        return {SessionKey(*key) for key in rows}

    def find_transcript(self, session: SessionKey, unit: int) -> Transcript | None:
        """Return the transcript that was saved for a unit, or None."""
        row = self._db.execute(
            f"SELECT {_COLUMNS} FROM session s JOIN transcript t ON t.session = s.id "
            "WHERE s.agent = ? AND s.session_id = ? AND s.source = ? AND t.unit = ?",
            (*session, unit),
        ).fetchone()
        return _unpack(row) if row else None

    def is_taken(self, folder: bytes, file: str) -> bool:
        """Return whether a file name is already reserved for a unit."""
        query = "SELECT 1 FROM transcript WHERE folder = ? AND file = ?"
        return self._db.execute(query, (folder, file)).fetchone() is not None

    def save(self, transcript: Transcript) -> None:
        """Save a transcript and mark its thread's relations as due.

        The name of a transcript that was saved before does not change.
        """
        session = find_stream(self._db, transcript.session)
        self._db.execute(_SAVE, (session, *_get_fields(transcript)))
        self._db.execute(
            "INSERT OR IGNORE INTO thread_due (session) SELECT m.id FROM session c "
            "JOIN session m ON m.agent = c.agent AND m.session_id = c.session_id "
            "AND m.source = 'main' WHERE c.id = ?",
            (session,),
        )

    def mark_due(self, stream: int, units: Iterable[int]) -> None:
        """Make the existing transcripts of these units due."""
        # `newest` is the last placement that was written. Lowering it makes the
        # placements after it due again.
        self._db.executemany(
            "UPDATE transcript SET newest = min(newest, (SELECT max(p.id) - 1 "
            "FROM placement p WHERE p.session = ?1 AND p.unit = ?2)) "
            "WHERE session = ?1 AND unit = ?2",
            [(stream, unit) for unit in units],
        )

    def mark_outdated(self, files: Iterable[tuple[bytes, str]]) -> int:
        """Make transcripts with these (folder, file) due; return how many exist."""
        # `newest` is the last placement that was written. Lowering it makes the
        # placements after it due again.
        count = 0
        for file in files:
            count += self._db.execute(
                "UPDATE transcript SET newest = newest - 1 "
                "WHERE folder = ? AND file = ? AND newest > 0 AND NOT is_removed",
                file,
            ).rowcount
            self._db.execute(
                "UPDATE session SET is_dirty = 1 WHERE id IN "
                "(SELECT session FROM transcript WHERE folder = ? AND file = ?)",
                file,
            )
        return count

    def list_surplus(self, session: SessionKey, limit: int) -> list[Transcript]:
        """List existing transcripts of a thread, except the newest `limit`."""
        rows = self._db.execute(
            f"SELECT {_COLUMNS} FROM {_TIMED_TRANSCRIPTS} t "
            "JOIN session s ON s.id = t.session WHERE NOT is_removed "
            "ORDER BY sort_time DESC, unit DESC LIMIT -1 OFFSET ?",
            (find_stream(self._db, session), limit),
        )
        return [_unpack(row) for row in rows]

    def list_start_times(self, session: SessionKey) -> dict[str, tuple[int, int]]:
        """Return when the unit of each transcript of a thread started, by path.

        The values are (time, number of the unit): units may start at the same time.
        """
        rows = self._db.execute(
            f"SELECT file, sort_time, unit FROM {_TIMED_TRANSCRIPTS}",
            (find_stream(self._db, session),),
        )
        return {file: (time, unit) for file, time, unit in rows}

    def list_files(self, agent: str, session_id: str) -> list[Transcript]:
        """List existing transcripts of a session and its subagents."""
        rows = self._db.execute(
            f"SELECT {_COLUMNS} FROM session s JOIN transcript t ON t.session = s.id "
            "WHERE s.agent = ? AND s.session_id = ? "
            "AND t.newest > 0 AND NOT t.is_removed",
            (agent, session_id),
        )
        return [_unpack(row) for row in rows]

    def mark_removed(self, transcript: Transcript) -> None:
        """Record that the file was deleted. Its name stays reserved."""
        self._db.execute(
            "UPDATE transcript SET is_removed = 1 WHERE session = ? AND unit = ?",
            (find_stream(self._db, transcript.session), transcript.unit),
        )

    def move_units(self, stream: int, moves: dict[int, UnitMove]) -> None:
        """Renumber the transcripts of a stream; make those of changed units due.

        `moves` has every unit that still exists, by its old number. Transcripts of
        other units become obsolete; they get negative numbers.
        """
        names = ("session", "is_removed", *_FIELDS)
        query = f"SELECT {list_columns(names)} FROM transcript WHERE session = ?"
        rows = self._db.execute(f"{query} ORDER BY unit", (stream,)).fetchall()
        transcripts = [dict(zip(names, row, strict=True)) for row in rows]
        lowest_number = min([0, *(transcript["unit"] for transcript in transcripts)])
        for transcript in transcripts:
            move = moves.get(transcript["unit"])
            if move:
                transcript["unit"] = move.number
                transcript["newest"] = _move_newest(transcript["newest"], move)
            elif transcript["unit"] >= 0:
                lowest_number -= 1
                transcript["unit"] = lowest_number
        self._db.execute("DELETE FROM transcript WHERE session = ?", (stream,))
        self._db.executemany(
            make_insert("transcript", names),
            [tuple(transcript.values()) for transcript in transcripts],
        )

    def list_obsolete(self, stream: int) -> list[Transcript]:
        """List the transcripts of units that no longer exist in a stream.

        `move_units` has given them negative numbers.
        """
        query = (
            f"SELECT {_COLUMNS} FROM transcript t JOIN session s ON s.id = t.session "
            "WHERE t.session = ? AND t.unit < 0"
        )
        return [_unpack(row) for row in self._db.execute(query, (stream,))]

    def get_folder(self, session: SessionKey) -> bytes:
        """Return the folder of the thread's files; b"" before the first is written."""
        query = f"SELECT folder FROM session WHERE {IS_STREAM}"
        return bytes(fetch_value(self._db, query, session, default=b""))

    def set_folder(self, session: SessionKey, folder: bytes) -> None:
        """Set the folder of the thread's files."""
        self._db.execute(
            f"UPDATE session SET folder = ? WHERE {IS_STREAM}", (folder, *session)
        )

    def claim_thread_id(self, session: SessionKey, thread_id: str) -> bool:
        """Set the thread's id; return False if another thread has it."""
        result = self._db.execute(
            f"UPDATE OR IGNORE session SET thread_id = ? WHERE {IS_STREAM}",
            (thread_id, *session),
        )
        return result.rowcount == 1

    def was_ever_written(self, key: SessionKey) -> bool:
        """Return whether any transcript of a session or subagent was ever written."""
        query = "SELECT 1 FROM transcript WHERE session = ? AND newest > 0"
        stream = find_stream(self._db, key)
        return self._db.execute(query, (stream,)).fetchone() is not None

    def move_unwritten_thread(self, session: SessionKey, folder: bytes) -> None:
        """Change the folder of a thread without files; drop its reserved file names."""
        self._db.execute(
            "DELETE FROM transcript WHERE newest = 0 AND session IN "
            "(SELECT id FROM session WHERE agent = ? AND session_id = ?)",
            (session.agent, session.session_id),
        )
        self.set_folder(session, folder)

    def change_folder(self, session: SessionKey, folder: bytes) -> None:
        """Change the folder of a thread with files, and make all of them due.

        The old folder is stored until `RelationsLedger.mark_cleared`.
        """
        values = {"agent": session.agent, "id": session.session_id, "folder": folder}
        streams = "SELECT id FROM session WHERE agent = :agent AND session_id = :id"
        self._db.execute(
            "INSERT OR REPLACE INTO left_folder SELECT id, folder FROM session "
            f"WHERE id IN ({streams}) AND source = '{MAIN}'",
            values,
        )
        self._db.execute(
            "UPDATE transcript SET folder = :folder, digest = x'', "
            "newest = CASE WHEN is_removed THEN newest ELSE 0 END "
            f"WHERE session IN ({streams})",
            values,
        )
        # The relations file of the new folder must get the thread.
        self._db.execute(
            "INSERT OR REPLACE INTO thread_due (session) SELECT session "
            f"FROM left_folder WHERE session IN ({streams})",
            values,
        )
        self.set_folder(session, folder)

    def mark_settled(self, agent: str, session_id: str) -> None:
        """Mark the session as settled, and its thread as due for indexing."""
        self._db.execute(
            "UPDATE session SET is_dirty = 0 "
            "WHERE agent = ? AND session_id = ? AND is_dirty",
            (agent, session_id),
        )
        self._db.execute(
            "INSERT INTO collected (session) SELECT id FROM session WHERE agent = ? "
            "AND session_id = ? AND source = 'main' AND folder <> x'' "
            "ON CONFLICT DO UPDATE SET is_due = 1",
            (agent, session_id),
        )

    def settle_old_sessions(self) -> None:
        """Mark as settled all sessions that ended before the store was created."""
        # `ended_us` is the time of the last entry; a live session has not ended.
        self._db.execute(
            "UPDATE session SET is_dirty = 0 "
            "WHERE is_dirty AND ended_us < ? AND NOT is_live",
            (self.get_created_us(),),
        )

    def get_created_us(self) -> int:
        """Return the time at which the store was created, or 0."""
        query = "SELECT value FROM meta WHERE key = 'created_us'"
        return int(fetch_value(self._db, query, default=0))


def _move_newest(newest: int, move: UnitMove) -> int:
    """Return the last placement that counts as written in a moved transcript.

    It is 0 if the transcript was never written, and lies before the unit if all of it
    must be written again.
    """
    if not newest:
        return 0
    is_up_to_date = newest >= move.old_newest and not move.is_changed
    return move.newest if is_up_to_date else move.first - 1


def _unpack(row: Iterable[Any]) -> Transcript:
    """Return the transcript of a row with _COLUMNS."""
    agent, session_id, source, *values = row
    return Transcript(
        session=SessionKey(agent, session_id, source),
        **dict(zip(_FIELDS, values, strict=True)),
    )
