"""Subagents: which stream and which of its units spawned each one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from msgspec import Struct
from msgspec.structs import replace

from leslied.model.times import EPOCH
from leslied.sessions.tools import parse_arguments

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


class MainCall(NamedTuple):
    """A tool call of the main session."""

    unit: int
    call_id: str
    arguments: str
    """The arguments as JSON text."""


class SpawnLookup(Protocol):
    """The facts about a session and its subagents that decide who spawned whom."""

    def find_call_units(self, call_id: str) -> Mapping[SessionKey, int]:
        """Return the unit of the last call with this id, by stream."""

    def find_prompt(self, child: SessionSummary) -> str:
        """Return the text of the subagent's first user message, or ""."""

    def iter_main_calls(self) -> Iterable[MainCall]:
        """Yield the main session's calls, in order."""

    def find_unit_at(self, time: datetime | None) -> int:
        """Return the main session's last unit with an entry at or before this time.

        Return its first unit if there is none.
        """


def find_parents(
    main: SessionKey, children: Sequence[SessionSummary], lookup: SpawnLookup
) -> dict[SessionKey, ParentUnit]:
    """Return the parent of each subagent; following parents always leads to `main`.

    The parent made the call that the subagent's log names, or is the subagent that the
    log names, or made a call that contains the subagent's prompt. Otherwise the time
    at which the subagent started decides.
    """
    children = add_spawn_calls(children, lookup)
    finder = _ParentFinder(main, children, lookup)
    parents = {child.key: finder.find_parent(child) for child in children}
    for child in children:
        if _is_own_ancestor(child.key, parents):
            parents[child.key] = finder.find_main_unit(child)
    return parents


def add_spawn_calls(
    children: Sequence[SessionSummary], lookup: SpawnLookup
) -> list[SessionSummary]:
    """Return the subagents in the same order, each with the call that spawned it.

    If the subagent's log does not name the call, it is the first call of the main
    session that has the subagent's prompt as an argument and spawned no other one.
    """
    unlinked = [
        child for child in children if not (child.spawn_call_id or child.parent_agent)
    ]
    taken_ids = {child.spawn_call_id for child in children}
    calls: dict[SessionKey, str] = {}
    for child in sorted(unlinked, key=lambda each: each.started_at or EPOCH):
        call_id = _find_call_with(lookup.find_prompt(child), taken_ids, lookup)
        taken_ids.add(call_id)
        calls[child.key] = call_id
    return [
        replace(child, spawn_call_id=calls[child.key])
        if calls.get(child.key)
        else child
        for child in children
    ]


def _find_call_with(prompt: str, taken_ids: set[str], lookup: SpawnLookup) -> str:
    """Return the id of the first call that has the prompt as an argument, or "".

    Calls with one of `taken_ids` spawned another subagent and are skipped.
    """
    prompt = prompt.strip()
    if not prompt:
        return ""
    for call in lookup.iter_main_calls():
        is_candidate = call.call_id and call.call_id not in taken_ids
        if is_candidate and prompt in _list_texts(call.arguments, prompt):
            return call.call_id
    return ""


def _list_texts(arguments: str, prompt: str) -> list[str]:
    """Return the arguments that are text, if the prompt may be one of them."""
    # Parsing the arguments of all calls takes much longer than this search.
    if prompt[:_SEARCHED_PROMPT_CHARACTERS] not in _unescape(arguments):
        return []
    values = parse_arguments(arguments).values()
    return [value.strip() for value in values if isinstance(value, str)]


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


class _ParentFinder(Struct):
    """The rule that finds the parent of one subagent."""

    main: SessionKey
    children: Sequence[SessionSummary]
    lookup: SpawnLookup
    keys: tuple[SessionKey, ...] = ()
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
            for call in self.lookup.iter_main_calls():
                if prompt in _unescape(call.arguments):
                    return ParentUnit(self.main, call.unit)
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
