"""Subagents: which stream and which of its units spawned each one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from leslied.model.record import SessionKey
    from leslied.model.session import SessionSummary

_SEARCHED_PROMPT_CHARACTERS = 200
"""Number of characters of a subagent's prompt that are searched for in calls."""


class ParentUnit(NamedTuple):
    """The stream that spawned a subagent, and the number of its unit."""

    key: SessionKey
    unit: int
    """0 if the parent is itself a subagent, because all its entries are one unit."""


class SpawnLookup(Protocol):
    """The facts about a session and its subagents that decide who spawned whom."""

    def find_call_units(self, call_id: str) -> Mapping[SessionKey, int]:
        """Return the unit of the last call with this id, by stream."""

    def find_prompt(self, child: SessionSummary) -> str:
        """Return the text of the subagent's first user message, or ""."""

    def iter_main_calls(self) -> Iterable[tuple[int, str]]:
        """Yield the unit and the arguments of the main session's calls, in order."""

    def find_unit_at(self, time: datetime | None) -> int:
        """Return the main session's last unit with an entry at or before this time.

        Return its first unit if there is none.
        """


def find_parents(
    main: SessionKey, children: Sequence[SessionSummary], lookup: SpawnLookup
) -> dict[SessionKey, ParentUnit]:
    """Return the parent of each subagent; following parents always leads to `main`.

    The parent made the call that the subagent's log names, or is the subagent that the
    log names, or made a call that contains the subagent's prompt. Otherwise the start
    of the subagent decides.
    """
    finder = _ParentFinder(main, children, lookup)
    parents = {child.key: finder.find_parent(child) for child in children}
    for child in children:
        if _is_own_ancestor(child.key, parents):
            parents[child.key] = finder.find_main_unit(child)
    return parents


def get_main_unit(
    child: SessionKey, main: SessionKey, parents: Mapping[SessionKey, ParentUnit]
) -> int:
    """Return the unit of the main session in which a subagent was spawned.

    A subagent of another subagent belongs to the same unit as that one.
    """
    parent = parents[child]
    while parent.key != main:
        parent = parents[parent.key]
    return parent.unit


@dataclass(slots=True)
class _ParentFinder:
    """The rule that finds the parent of one subagent."""

    main: SessionKey
    children: Sequence[SessionSummary]
    lookup: SpawnLookup
    keys: tuple[SessionKey, ...] = field(init=False)
    """Keys of all streams, the main session first."""

    def __post_init__(self) -> None:
        self.keys = (self.main, *(child.key for child in self.children))

    def find_parent(self, child: SessionSummary) -> ParentUnit:
        """Return the stream and unit that probably spawned the subagent."""
        return (
            self._find_by_call(child)
            or self._find_by_agent_id(child)
            or self.find_main_unit(child)
        )

    def _find_by_call(self, child: SessionSummary) -> ParentUnit | None:
        if not child.spawn_call_id:
            return None
        units = self.lookup.find_call_units(child.spawn_call_id)
        parents = (ParentUnit(key, units[key]) for key in self.keys if key in units)
        return next((parent for parent in parents if parent.key != child.key), None)

    def _find_by_agent_id(self, child: SessionSummary) -> ParentUnit | None:
        if not child.parent_agent:
            return None
        for other in self.children:
            if other.subagent_id == child.parent_agent and other.key != child.key:
                return ParentUnit(other.key, 0)
        return None

    def find_main_unit(self, child: SessionSummary) -> ParentUnit:
        """Return the unit of the main session that probably spawned the subagent."""
        # Old logs name neither the call nor the parent, but the call has the prompt.
        prompt = self.lookup.find_prompt(child)[:_SEARCHED_PROMPT_CHARACTERS]
        if prompt:
            for unit, arguments in self.lookup.iter_main_calls():
                if prompt in _unescape(arguments):
                    return ParentUnit(self.main, unit)
        return ParentUnit(self.main, self.lookup.find_unit_at(child.started_at))


def _is_own_ancestor(
    child: SessionKey, parents: Mapping[SessionKey, ParentUnit]
) -> bool:
    """Return whether the parents of a stream lead back to it."""
    visited: set[SessionKey] = set()
    key = child
    while key in parents and key not in visited:
        visited.add(key)
        key = parents[key].key
    return key == child


def _unescape(arguments: str) -> str:
    """Undo the most common JSON escapes, so that the text can be searched."""
    return arguments.replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\")
