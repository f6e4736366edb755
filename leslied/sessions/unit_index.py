"""Which unit a record belongs to if two processes write to one session.

Their lines interleave in the log: the turn of one prompt goes on after the prompt of
the other. Each record belongs to the unit of the call that it answers, or else of the
entry that it follows, so that calls, results and answers stay with their prompt.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leslied.model.record import Record

_SESSION_FACTS = ("opened", "context")
"""Kinds of events that an adapter may add before the first record of an entry."""
_UNIT_STARTING_ORIGINS = ("prompt", "command", "shell")


def is_session_fact(metadata: Mapping[str, Any]) -> bool:
    """Return whether a record with this metadata describes the session, not its entry.

    Such a record does not count as the first record of the entry.
    """
    return metadata.get("kind") in _SESSION_FACTS


class UnitPosition(NamedTuple):
    """Placement of an entry, and the number of its unit."""

    placement: int
    unit: int


class StoredUnits(Protocol):
    """The units of entries that were read before."""

    def find_call(self, call_id: str) -> UnitPosition | None:
        """Return the position of the last call with this id, or None."""

    def find_entry(self, native_id: str, scope: str) -> UnitPosition | None:
        """Return the position of the entry with this id, or None."""


@dataclass(slots=True)
class UnitIndex:
    """The units of one session's entries, by the ids that other entries refer to."""

    stored: StoredUnits | None = None
    """Lookup for entries that were not added to this index."""
    _calls: dict[str, UnitPosition] = field(default_factory=dict)
    _entries: dict[str, UnitPosition] = field(default_factory=dict)
    _moves: list[tuple[range, int]] = field(default_factory=list)
    """Placements that moved from the unit before, and the number of the new unit."""

    def add(self, record: Record, position: UnitPosition) -> None:
        """Add a record."""
        if record.native_id and not is_session_fact(record.metadata):
            self._entries.setdefault(record.native_id, position)
        if record.type == "tool_use" and record.tool_call_id:
            self._calls[record.tool_call_id] = position

    def start_unit(self, placements: range, unit: int) -> None:
        """Begin a new unit with these placements, which were in the previous unit."""
        self._moves.append((placements, unit))

    def find_earlier_unit(self, record: Record, current_unit: int) -> int | None:
        """Return the unit of a record that continues an earlier unit, else None."""
        if current_unit <= 1 or record.metadata.get("origin") in _UNIT_STARTING_ORIGINS:
            return None
        unit = self._find_unit(self._find_call(record))
        if not unit:
            unit = self._find_unit(self.find_entry(record.parent_id, record.scope))
            if 0 < unit < current_unit:
                # All records of an entry must be in one unit: that of its first record.
                first_record = self.find_entry(record.native_id, record.scope)
                unit = self._find_unit(first_record) or unit
        return unit if 0 < unit < current_unit else None

    def find_entry(self, native_id: str, scope: str) -> UnitPosition | None:
        """Return the position at which the entry with this id was added, or None."""
        if not native_id:
            return None
        entry = self._entries.get(native_id)
        return entry or (
            self.stored.find_entry(native_id, scope) if self.stored else None
        )

    def _find_unit(self, position: UnitPosition | None) -> int:
        return self.get_unit(position) if position else 0

    def get_unit(self, position: UnitPosition) -> int:
        """Return the unit in which an entry is now."""
        unit = position.unit
        for placements, new_unit in self._moves:
            if position.placement in placements and unit == new_unit - 1:
                unit = new_unit
        return unit

    def _find_call(self, record: Record) -> UnitPosition | None:
        call_id = record.tool_call_id
        if record.type != "tool_result" or not call_id:
            return None
        call = self._calls.get(call_id)
        return call or (self.stored.find_call(call_id) if self.stored else None)
