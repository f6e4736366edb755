"""Rewinds: which units of a session the user took back.

A unit continues the one before it, unless the user returned to an earlier point of the
conversation. The first unit after such a return is a *fork*. The forks of a session are
stored as text: in "4:1 5:0", unit 4 continues unit 1, and unit 5 continues none. The
units that lead to the newest one are current; the others are rewound. Until the first
prompt after a rewind, the last fork is a unit that does not exist yet. A fork with `?`
counts only once an event confirms it; one with `r` returned to a unit that had been
taken back.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, Protocol

from msgspec import Struct, field

from leslied.model.times import to_us
from leslied.sessions.turns import AGENT_OUTPUT_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.record import Record

UNKNOWN_FORKS = "unknown"
"""Forks of a session that was read before forks were stored."""
_PARALLEL = "parallel"
"""Forks of a session on which several processes worked: none of them is a rewind."""
_WITHOUT_FORKS = ("", UNKNOWN_FORKS, _PARALLEL)
_USER_ACTS = ("prompt", "command", "shell")
"""Origins of what users type. After a rewind, such an entry follows the entry to which
the user returned."""
_OUTPUT_TYPES = AGENT_OUTPUT_TYPES | {"tool_result"}


class EntryPlace(NamedTuple):
    """Position of an entry in its session."""

    unit: int
    starts_unit: bool
    """Whether it is the first entry of its unit."""


class FirstEntry(NamedTuple):
    """The first entry of a unit."""

    text: str = ""
    created_us: int | None = None
    ordinal: int | None = None
    """Its number in the conversation, if the agent numbers entries."""


class EntryLookup(Protocol):
    """The entries of a session, by the ids that the agent gave them."""

    def find_unit_after(self, parent_id: str) -> int:
        """Return a unit whose first entry follows the one with this id, or 0."""

    def find_place(self, native_id: str, scope: str) -> EntryPlace | None:
        """Return the place of the entry with this id, or None."""

    def find_first_entry(self, unit: int) -> FirstEntry:
        """Return the first entry of a unit."""

    def count_user_messages(self, unit: int) -> int:
        """Return the number of user messages in a unit."""


def update_forks(forks: str, units: int, record: Record, lookup: EntryLookup) -> str:
    """Return the forks of a session with `units` units when a record is added.

    A fork is added only if it is certain, because rewound units are left out of context
    and briefings.
    """
    if not units or forks in (UNKNOWN_FORKS, _PARALLEL):
        return forks
    if not forks and record.type in _OUTPUT_TYPES:
        return forks
    branches = _Branches.parse(forks, units)
    if record.type in _OUTPUT_TYPES:
        is_parallel = branches.is_parallel_output(record, lookup)
        return _PARALLEL if is_parallel else forks
    if record.metadata.get("kind") == "rewound":
        branches.add_event(record, lookup)
    elif record.metadata.get("origin") in _USER_ACTS:
        branches.add_user_act(record, lookup)
    else:
        return forks
    # Two processes return to their own branch again and again.
    return _PARALLEL if len(branches.returns) > 1 else branches.format()


def list_rewound(forks: str, units: int) -> tuple[range, ...]:
    """Return the numbers of a session's rewound units as ranges, in order."""
    if forks in _WITHOUT_FORKS:
        return ()
    # Collect the units after, between and before the ranges of current units.
    rewound, end = [], units
    for current in _Branches.parse(forks, units).iter_current_ranges():
        rewound.append(range(current.stop, end + 1))
        end = min(end, current.start - 1)
    rewound.append(range(1, end + 1))
    return tuple(numbers for numbers in reversed(rewound) if numbers)


def iter_current(forks: str, units: int) -> Iterator[int]:
    """Yield the numbers of a session's units that are not rewound, in order."""
    start = 1
    for rewound in list_rewound(forks, units):
        yield from range(start, rewound.start)
        start = rewound.stop
    yield from range(start, units + 1)


def count_current(forks: str, units: int) -> int:
    """Return the number of a session's units that are not rewound."""
    return units - sum(map(len, list_rewound(forks, units)))


def list_changed(before: tuple[range, ...], after: tuple[range, ...]) -> list[int]:
    """Return the numbers that are in only one of two lists of rewound units."""
    return sorted(set(chain(*before)).symmetric_difference(chain(*after)))


class _Branches(Struct):
    """The units of a session, and for each the unit that it continues."""

    units: int
    """Number of the newest unit."""
    forks: dict[int, int]
    """The unit that each fork continues, by the fork's number, in order; 0 for none."""
    returns: set[int] = field(default_factory=set)
    """Forks that continue a unit which had been taken back."""
    candidate: tuple[int, int] | None = None
    """A fork that is not confirmed yet, and the unit that it continues."""

    @classmethod
    def parse(cls, text: str, units: int) -> _Branches:
        """Parse forks such as `4:1 6:3r 8:5?`, described at the top of the module."""
        branches = cls(units, {})
        for fork in text.split():
            unit, target = map(int, fork.rstrip("?r").split(":"))
            if fork.endswith("?"):
                branches.candidate = (unit, target)
                continue
            branches.forks[unit] = target
            if fork.endswith("r"):
                branches.returns.add(unit)
        return branches

    def format(self) -> str:
        """Return the forks as a text that `parse` accepts."""
        forks = [
            f"{unit}:{target}{'r' if unit in self.returns else ''}"
            for unit, target in self.forks.items()
        ]
        if self.candidate:
            forks.append("{}:{}?".format(*self.candidate))
        return " ".join(forks)

    def add_event(self, record: Record, lookup: EntryLookup) -> None:
        """Add the fork that an event reports, or confirm the candidate."""
        target = self._find_event_target(record, lookup)
        if target is not None:
            self._add_fork(self.units + 1, target)
        elif self.candidate:
            self._add_fork(*self.candidate)
        self.candidate = None

    def add_user_act(self, record: Record, lookup: EntryLookup) -> None:
        """Add a fork if the message does not continue the tip.

        If the agent also logs an event for each rewind, the fork is only a candidate.
        """
        unit = self.units + 1
        if self.candidate and self.candidate[0] != unit:
            self.candidate = None
        target = self._find_linked_target(record, lookup)
        if target is None:
            return
        if record.metadata.get("has_rewind_events"):
            self.candidate = (unit, target)
        else:
            self._add_fork(unit, target)

    def _add_fork(self, unit: int, target: int) -> None:
        if target == self.get_previous(unit):
            return
        if self.is_rewound(target):
            self.returns.add(unit)
        self.forks[unit] = target

    @property
    def tip(self) -> int:
        """The unit that a new unit would continue."""
        return self.get_previous(self.units + 1)

    def get_previous(self, unit: int) -> int:
        """Return the unit that this one continues, or 0."""
        return self.forks.get(unit, max(unit - 1, 0))

    def iter_current_ranges(self) -> Iterator[range]:
        """Yield the units that lead to the tip as ranges, the newest range first."""
        starts, end = [1, *self.forks], self.tip
        while end:
            start = starts[bisect_right(starts, end) - 1]
            yield range(start, end + 1)
            end = self.get_previous(start)

    def is_rewound(self, unit: int) -> bool:
        return unit > 0 and not any(
            unit in numbers for numbers in self.iter_current_ranges()
        )

    def _find_event_target(self, record: Record, lookup: EntryLookup) -> int | None:
        """Return the unit to which the user returned, or None if that is uncertain.

        The event has the number of user messages that the user took back, or the id or
        ordinal of the first entry that was taken back. Otherwise, the event follows the
        last remaining entry.
        """
        turns, first_id = record.metadata.get("turns"), record.metadata.get("to")
        if isinstance(turns, int):
            return self._count_back(turns, lookup)
        if isinstance(ordinal := record.metadata.get("ordinal"), int):
            return self._find_before_ordinal(ordinal, lookup)
        if isinstance(first_id, str) and first_id:
            place = lookup.find_place(first_id, record.scope)
            if place is None or self.is_rewound(place.unit):
                return None
            # A unit of which the user took back only the end is not rewound.
            return self.get_previous(place.unit) if place.starts_unit else place.unit
        return self._find_linked_target(record, lookup)

    def _count_back(self, message_count: int, lookup: EntryLookup) -> int:
        """Return the unit before the last `message_count` user messages.

        A unit has several if the user typed while the agent worked.
        """
        target = self.tip
        while target and (count := lookup.count_user_messages(target)) <= message_count:
            target, message_count = self.get_previous(target), message_count - count
        return target

    def _find_before_ordinal(self, ordinal: int, lookup: EntryLookup) -> int:
        """Return the last current unit that began before the entry with the ordinal."""
        target = self.tip
        while target and (lookup.find_first_entry(target).ordinal or 0) >= ordinal:
            target = self.get_previous(target)
        return target

    def _find_linked_target(self, record: Record, lookup: EntryLookup) -> int | None:
        """Return the unit that a message continues, or None if that is the tip.

        After a rewind, the message follows the same entry as the first unit that was
        taken back. Or it follows an entry of a rewound unit, which is current again.
        """
        if record.metadata.get("is_root"):
            return 0
        if record.parent_id and (unit := lookup.find_unit_after(record.parent_id)):
            # After a compaction, a client may write a prompt again, under another id.
            created_us = lookup.find_first_entry(unit).created_us
            is_repeated = record.created_at and to_us(record.created_at) == created_us
            return None if is_repeated else self.get_previous(unit)
        # Until the next unit starts, entries after a rewind are stored in a unit that
        # was taken back.
        if self.forks and self.units + 1 not in self.forks:
            return self._find_rewound_parent(record, lookup)
        return None

    def is_parallel_output(self, record: Record, lookup: EntryLookup) -> bool:
        """Return whether a second process wrote this output.

        It did if the newest unit began a fork, but the output follows an entry of a
        unit that was taken back.
        """
        newest_unit = self.units
        return (
            newest_unit in self.forks
            and self._find_rewound_parent(record, lookup) is not None
        )

    def _find_rewound_parent(self, record: Record, lookup: EntryLookup) -> int | None:
        """Return the unit of the entry that the record follows, if it is rewound."""
        if not record.parent_id:
            return None
        place = lookup.find_place(record.parent_id, record.scope)
        return place.unit if place and self.is_rewound(place.unit) else None
