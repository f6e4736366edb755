"""Order of the entries of one stream: sequence numbers, neighbours, results, units."""

from __future__ import annotations

from array import array
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from leslied.model.record import Record, SessionKey
from leslied.sessions.turns import find_own_positions
from leslied.store.read.record_query import IS_VISIBLE
from leslied.store.read.unit_ids import list_chat_ids

if TYPE_CHECKING:
    import sqlite3

    from leslied.model.record import PlacedRecord

_FROM_VISIBLE = (
    "FROM placement p JOIN session s ON s.id = p.session "
    "JOIN record r ON r.entry = p.entry AND r.is_current = 1 "
    f"WHERE p.session = ? AND {IS_VISIBLE}"
)

_NO_KEY = SessionKey("", "")
"""Stands for the session of records of which only the kind is used."""


class UnitTimes(NamedTuple):
    """When a unit started and ended, in microseconds since 1970; None if unknown."""

    start_us: int | None
    end_us: int | None


class SessionOrder:
    """The visible records of a session or subagent, without their content.

    Each property is queried on first use and cached.
    """

    def __init__(self, db: sqlite3.Connection, session: int) -> None:
        self._db = db
        self._session = session

    def find_sequence(self, placement: int) -> int | None:
        """Return the position of a placement, counted from 1; None if it is hidden."""
        sequences, _ = self._order
        return sequences.get(placement)

    def find_neighbour(self, placement: int, step: int) -> int | None:
        """Return the record id `step` positions after a placement, or None.

        A negative step goes back.
        """
        sequence = self.find_sequence(placement)
        _, records = self._order
        if sequence is None or not 0 < sequence + step <= len(records):
            return None
        return records[sequence + step - 1]

    @cached_property
    def _order(self) -> tuple[dict[int, int], array[int]]:
        """Sequence numbers by placement, and the row ids of the records in order."""
        rows = self._query(f"SELECT p.id, r.id {_FROM_VISIBLE} ORDER BY p.unit, p.id")
        sequences = {placement: number for number, (placement, _) in enumerate(rows, 1)}
        return sequences, array("q", [record for _, record in rows])

    @cached_property
    def tool_by_call_id(self) -> dict[str, str]:
        """Tool of every call, by the call's id."""
        # `+r.type` prevents the planner from reading the calls of all sessions.
        rows = self._query(
            f"SELECT r.tool_call_id, r.tool_name {_FROM_VISIBLE} "
            "AND +r.type = 'tool_use' ORDER BY p.id"
        )
        return dict(rows)

    @cached_property
    def first_results(self) -> dict[str, int]:
        """Row id of the record with every call's first result, by the call's id."""
        # The order is reversed, so that the first result of a call is set last. When a
        # session is resumed, the client adds a result to each open call; such a result
        # (`is_between_turns`) is used only if the call has no other one.
        rows = self._query(
            f"SELECT r.tool_call_id, r.id {_FROM_VISIBLE} AND r.tool_call_id <> '' "
            "AND +r.type = 'tool_result' "
            "ORDER BY instr(r.metadata, '\"is_between_turns\"') = 0, p.id DESC"
        )
        return dict(rows)

    @cached_property
    def unit_times(self) -> dict[int, UnitTimes]:
        """When every unit started and ended, by its number."""
        rows = self._query(
            f"SELECT p.unit, r.type, r.role, r.metadata, r.created_us {_FROM_VISIBLE} "
            "ORDER BY p.unit, p.id"
        )
        units: dict[int, list[tuple[Record, int | None]]] = {}
        for unit, type_, role, metadata, created_us in rows:
            facts = msgspec.json.decode(metadata) if metadata else {}
            record = Record(session=_NO_KEY, type=type_, role=role, metadata=facts)
            units.setdefault(unit, []).append((record, created_us))
        return {unit: _find_times(entries) for unit, entries in units.items()}

    @cached_property
    def chat_ids(self) -> dict[int, str]:
        """Chat id of every unit, by the unit's number, in order."""
        return list_chat_ids(self._db, self._session)

    def _query(self, query: str) -> list[Any]:
        return self._db.execute(query, (self._session,)).fetchall()


def _find_times(entries: list[tuple[Record, int | None]]) -> UnitTimes:
    """Return the first and the latest time of a unit's own entries."""
    positions = find_own_positions([record for record, _ in entries])
    times = [time for n in positions if (time := entries[n][1]) is not None]
    return UnitTimes(times[0], max(times)) if times else UnitTimes(None, None)


def add_sequence_and_tool(placed: PlacedRecord, order: SessionOrder) -> PlacedRecord:
    """Return the record with its sequence number; a result also gets its tool name."""
    record = placed.record
    if record.type == "tool_result":
        tool = order.tool_by_call_id.get(record.tool_call_id) or record.tool_name
        record = replace(record, tool_name=tool)
    sequence = order.find_sequence(placed.read_order) or 0
    return replace(placed, record=record, sequence=sequence)
