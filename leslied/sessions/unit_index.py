"""Which unit a record belongs to if two processes write to one session.

Their lines interleave in the log: the turn of one prompt goes on after the prompt of
the other. Each record belongs to the unit of the call that it answers, or else of the
entry that it follows, so that calls, results and answers stay with their prompt.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from leslied.model.record import Record

_UNIT_STARTING_ORIGINS = ("prompt", "command", "shell")


class UnitPosition(NamedTuple):
    """Placement of an entry, and the number of its unit."""

    placement: int
    unit: int


class StoredUnits(Protocol):
    """The units of entries that were read before."""

    def find_call(self, call_id: str) -> UnitPosition | None:
        """Return the position of the last call with this id, or None."""

    def find_parent(self, record: Record) -> UnitPosition | None:
        """Return the position of the entry that the record follows, or None."""


@dataclass(slots=True)
class UnitIndex:
    """The units of one session's entries, by the ids that other entries refer to."""

    stored: StoredUnits | None = None
    """Where to find entries that were not added."""
    _calls: dict[str, UnitPosition] = field(default_factory=dict)
    _entries: dict[str, UnitPosition] = field(default_factory=dict)
    _starts: list[UnitPosition] = field(default_factory=list)
    """Units that started at an entry which was first part of the unit before."""

    def add(self, record: Record, position: UnitPosition) -> None:
        """Add a record."""
        if record.native_id:
            self._entries[record.native_id] = position
        if record.type == "tool_use" and record.tool_call_id:
            self._calls[record.tool_call_id] = position

    def start_unit(self, start: UnitPosition) -> None:
        """Move the entries since `start` from the unit before into a new unit."""
        self._starts.append(start)

    def find_earlier_unit(self, record: Record, current_unit: int) -> int | None:
        """Return the unit of a record that continues an earlier unit, else None."""
        if current_unit <= 1 or record.metadata.get("origin") in _UNIT_STARTING_ORIGINS:
            return None
        position = self._find_call(record) or self._find_parent(record)
        if position is None:
            return None
        unit = self._get_unit(position)
        return unit if 0 < unit < current_unit else None

    def _find_call(self, record: Record) -> UnitPosition | None:
        call_id = record.tool_call_id
        if record.type != "tool_result" or not call_id:
            return None
        call = self._calls.get(call_id)
        return call or (self.stored.find_call(call_id) if self.stored else None)

    def _find_parent(self, record: Record) -> UnitPosition | None:
        if not record.parent_id:
            return None
        parent = self._entries.get(record.parent_id)
        return parent or (self.stored.find_parent(record) if self.stored else None)

    def _get_unit(self, position: UnitPosition) -> int:
        unit = position.unit
        for start in self._starts:
            if position.placement >= start.placement and unit == start.unit - 1:
                unit = start.unit
        return unit
