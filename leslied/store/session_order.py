"""Where everything stands in one session: what views and entries are joined by."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from leslied.model.record import make_chat_id

if TYPE_CHECKING:
    import sqlite3

    from leslied.model.record import PlacedRecord

_FROM_SHOWN = (
    "FROM placement p JOIN session s ON s.id = p.session "
    "JOIN record r ON r.entry = p.entry AND r.is_current = 1 "
    "WHERE p.session = ? AND (p.is_copy = 0 OR s.originals = 0)"
)
_FIRST_ENTRIES = (
    "SELECT f.unit, r.entry_id FROM (SELECT p.unit AS unit, min(p.id) AS id "
    f"{_FROM_SHOWN} GROUP BY p.unit) f JOIN placement p ON p.id = f.id "
    "JOIN record r ON r.entry = p.entry AND r.is_current = 1 ORDER BY f.unit"
)


class SessionOrder:
    """The shown records of a session or subagent, without their content.

    Each of its sides is asked of the store when it is first looked at.
    """

    def __init__(self, db: sqlite3.Connection, session: int) -> None:
        self._db = db
        self._session = session

    def find_sequence(self, placement: int) -> int | None:
        """The number of a placement, from 1 on; None where it is not shown."""
        placements, _ = self._order
        at = bisect_left(placements, placement)
        is_here = at < len(placements) and placements[at] == placement
        return at + 1 if is_here else None

    def find_neighbour(self, placement: int, step: int) -> int | None:
        """The record that stands so many places further on."""
        number, (_, records) = self.find_sequence(placement), self._order
        if number is None or not 0 < number + step <= len(records):
            return None
        return records[number + step - 1]

    @cached_property
    def _order(self) -> tuple[array[int], array[int]]:
        """Placements and their records."""
        rows = self._query(f"SELECT p.id, r.id {_FROM_SHOWN} ORDER BY p.id")
        return array("q", [row[0] for row in rows]), array(
            "q", [row[1] for row in rows]
        )

    @cached_property
    def call_tools(self) -> dict[str, str]:
        """The tool of every call, by the call's id."""
        return dict(self._query(f"SELECT r.tool_call_id, r.tool_name {_FROM_SHOWN} "
                              "AND +r.type = 'tool_use' ORDER BY p.id"))  # fmt: skip

    @cached_property
    def first_results(self) -> dict[str, int]:
        """The record of every call's first result, by the call's id."""
        rows = self._query(
            f"SELECT r.tool_call_id, r.id {_FROM_SHOWN} AND r.tool_call_id <> '' "
            "AND +r.type = 'tool_result' ORDER BY p.id DESC"
        )
        return dict(rows)

    @cached_property
    def chat_ids(self) -> dict[int, str]:
        """The chat id of every unit, in order."""
        named = dict(self._query(_FIRST_ENTRIES))
        # Before the first prompt, and in a subagent, the first message is the name.
        query = f"SELECT r.entry_id {_FROM_SHOWN} AND p.unit = 0 AND r.type = 'user_message'"
        for (entry_id,) in self._query(f"{query} ORDER BY p.id LIMIT 1"):
            named[0] = entry_id
        whose = "SELECT agent, session_id FROM session WHERE id = ?"
        return {
            unit: make_chat_id(agent, session_id, entry_id.hex())
            for agent, session_id in self._query(whose)
            for unit, entry_id in named.items()
        }

    def _query(self, query: str) -> list[Any]:
        return self._db.execute(query, (self._session,)).fetchall()


def add_sequence(placed: PlacedRecord, order: SessionOrder) -> PlacedRecord:
    """The record with its number, and a result with the name of its call's tool."""
    record = placed.record
    if record.type == "tool_result":
        tool = order.call_tools.get(record.tool_call_id) or record.tool_name
        record = replace(record, tool_name=tool)
    number = order.find_sequence(placed.placement) or 0
    return replace(placed, record=record, sequence=number)
