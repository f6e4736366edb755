"""What comes into the store while somebody looks on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.model.record import MAIN, PlacedRecord, SessionKey
from leslied.store.connection import translate_sqlite_errors
from leslied.store.record_query import IS_SHOWN, SELECT_RECORDS, unpack_placed_record

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Sequence
    from pathlib import Path

_BATCH_SIZE = 500


class ChangeFeed:
    """What is new, in any session. What it finds is not numbered."""

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db = db
        self.path = path

    @translate_sqlite_errors
    def get_data_version(self) -> int:
        """Another number whenever something was written; nothing is cheaper to ask."""
        return self._fetch_int("PRAGMA data_version")

    @translate_sqlite_errors
    def get_newest_placement(self) -> int:
        """The number of the newest placement."""
        return self._fetch_int("SELECT ifnull(max(id), 0) FROM placement")

    @translate_sqlite_errors
    def list_after(self, placement: int) -> list[PlacedRecord]:
        """The next that were placed after this; call again until there are none."""
        query = f"{SELECT_RECORDS} WHERE p.id > ? AND {IS_SHOWN} ORDER BY p.id LIMIT {_BATCH_SIZE}"
        rows = self._db.execute(query, (placement,)).fetchall()
        return [unpack_placed_record(row, 0) for row in rows]

    @translate_sqlite_errors
    def list_last(
        self, count: int, types: Sequence[str], sessions: Collection[int] | None = None
    ) -> list[PlacedRecord]:
        """The last of these types, in any session or in some, in their order."""
        named = ", ".join("?" * len(types))
        listed = ", ".join(f"{row:d}" for row in sessions or ())
        only = "" if sessions is None else f"AND p.session IN ({listed})"
        found = self._db.execute(
            f"{SELECT_RECORDS} WHERE r.type IN ({named}) AND {IS_SHOWN} {only} "
            "ORDER BY p.id DESC LIMIT ?",
            (*types, count),
        ).fetchall()
        return [unpack_placed_record(row, 0) for row in reversed(found)]

    @translate_sqlite_errors
    def list_streams(self) -> dict[int, SessionKey]:
        """Every session and subagent with anything in it, by the store's number."""
        rows = self._db.execute(
            "SELECT id, agent, session_id, source FROM session WHERE entries > 0"
        )
        return {row[0]: SessionKey(*row[1:]) for row in rows}

    @translate_sqlite_errors
    def get_sequence(self, placed: PlacedRecord) -> int:
        """Which of its stream's entries it is, counted from 1."""
        return self._fetch_int(
            "SELECT count(*) FROM placement p JOIN session s ON s.id = p.session "
            "WHERE s.agent = ? AND s.session_id = ? AND s.source = ? "
            f"AND p.id <= ? AND {IS_SHOWN}",
            *placed.record.session,
            placed.placement,
        )

    @translate_sqlite_errors
    def list_stopped(self, since_us: int) -> list[tuple[SessionKey, int]]:
        """The sessions that stopped after that moment, and when."""
        rows = self._db.execute(
            "SELECT agent, session_id, stopped_us FROM session "
            f"WHERE source = '{MAIN}' AND stopped_us > ? ORDER BY stopped_us",
            (since_us,),
        )
        return [(SessionKey(*row[:2]), row[2]) for row in rows]

    def _fetch_int(self, query: str, *values: Any) -> int:
        return int(self._db.execute(query, values).fetchone()[0])
