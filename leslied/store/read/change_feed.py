"""Change feed: new records and stopped sessions, for readers that poll."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.model.record import MAIN, PlacedRecord, SessionKey
from leslied.store.connection import translate_sqlite_errors
from leslied.store.read.record_query import (
    IS_VISIBLE,
    SELECT_RECORDS,
    unpack_placed_record,
)
from leslied.store.sql import fetch_value
from leslied.store.streams import list_streams

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Sequence
    from pathlib import Path

_BATCH_SIZE = 500


class ChangeFeed:
    """Queries for new records of all sessions.

    The records have no sequence number; `get_sequence` computes it.
    """

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db = db
        self.path = path

    @translate_sqlite_errors
    def get_data_version(self) -> int:
        """Return a number that changes with every commit of another connection.

        Comparing it is the cheapest way to poll.
        """
        return self._fetch_int("PRAGMA data_version")

    @translate_sqlite_errors
    def get_newest_read_order(self) -> int:
        """Return the `read_order` of the newest record, or 0."""
        return self._fetch_int("SELECT ifnull(max(id), 0) FROM placement")

    @translate_sqlite_errors
    def list_after(self, read_order: int) -> list[PlacedRecord]:
        """Return the next batch of records after this `read_order`; [] at the end."""
        query = (
            f"{SELECT_RECORDS} WHERE p.id > ? AND {IS_VISIBLE} "
            f"ORDER BY p.id LIMIT {_BATCH_SIZE}"
        )
        rows = self._db.execute(query, (read_order,)).fetchall()
        return [unpack_placed_record(row, 0) for row in rows]

    @translate_sqlite_errors
    def list_changed_streams(self, read_order: int) -> list[SessionKey]:
        """List every session and subagent with a record after this `read_order`."""
        rows = self._db.execute(
            "SELECT agent, session_id, source FROM session WHERE id IN "
            "(SELECT session FROM placement WHERE id > ?)",
            (read_order,),
        )
        return [SessionKey(*key) for key in rows]

    @translate_sqlite_errors
    def list_last(
        self,
        count: int,
        types: Sequence[str],
        streams: Collection[SessionKey] | None = None,
    ) -> list[PlacedRecord]:
        """List the last `count` records of these types, in order.

        `streams` restricts the list to these sessions and subagents.
        """
        placeholders = ", ".join("?" * len(types))
        ids = ", ".join(map(str, list_streams(self._db, streams or ())))
        condition = "" if streams is None else f"AND p.session IN ({ids})"
        rows = self._db.execute(
            f"{SELECT_RECORDS} WHERE r.type IN ({placeholders}) AND {IS_VISIBLE} "
            f"{condition} ORDER BY p.id DESC LIMIT ?",
            (*types, count),
        ).fetchall()
        return [unpack_placed_record(row, 0) for row in reversed(rows)]

    @translate_sqlite_errors
    def list_streams(self) -> list[SessionKey]:
        """List every session and subagent that has entries."""
        rows = self._db.execute(
            "SELECT agent, session_id, source FROM session WHERE entries > 0"
        )
        return [SessionKey(*key) for key in rows]

    @translate_sqlite_errors
    def get_sequence(self, placed: PlacedRecord) -> int:
        """Return the position of the record in its stream, counted from 1."""
        return self._fetch_int(
            "SELECT count(*) FROM placement p JOIN session s ON s.id = p.session "
            "WHERE s.agent = ? AND s.session_id = ? AND s.source = ? "
            f"AND (p.unit, p.id) <= (?, ?) AND {IS_VISIBLE}",
            *placed.record.session,
            placed.unit,
            placed.read_order,
        )

    @translate_sqlite_errors
    def list_stopped(self, since_us: int) -> list[tuple[SessionKey, int]]:
        """List (session, time at which it stopped) of sessions stopped after a time."""
        rows = self._db.execute(
            "SELECT agent, session_id, stopped_us FROM session "
            f"WHERE source = '{MAIN}' AND stopped_us > ? ORDER BY stopped_us",
            (since_us,),
        )
        return [
            (SessionKey(agent, session_id), stopped_us)
            for agent, session_id, stopped_us in rows
        ]

    @translate_sqlite_errors
    def list_waiting(self) -> list[tuple[SessionKey, str]]:
        """List (session, what it waits for) of sessions that wait for the user."""
        rows = self._db.execute(
            "SELECT agent, session_id, waiting_for FROM session WHERE waiting_for <> ''"
        )
        return [
            (SessionKey(agent, session_id), waiting_for)
            for agent, session_id, waiting_for in rows
        ]

    def _fetch_int(self, query: str, *values: Any) -> int:
        return int(fetch_value(self._db, query, values))
