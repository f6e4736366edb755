"""Assembly of stored records into units, with subagents under their parents."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from leslied.sessions.calls import link_results
from leslied.sessions.units import make_unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leslied.model.record import PlacedRecord
    from leslied.model.session import SessionSummary, Unit

_SEARCHED_PROMPT_CHARACTERS = 200
"""Number of characters of a subagent's prompt that are searched for in calls."""


@dataclass(slots=True)
class RecordStream:
    """A session or subagent with its records in order, results linked to calls."""

    summary: SessionSummary
    entries: Sequence[PlacedRecord]
    calls: dict[str, PlacedRecord] = field(init=False)
    """The stream's tool calls by call id."""

    def __post_init__(self) -> None:
        self.entries = link_results(self.entries)
        self.calls = {
            p.record.tool_call_id: p
            for p in self.entries
            if p.record.type == "tool_use"
        }


def assemble(main: RecordStream, subagents: Sequence[RecordStream]) -> tuple[Unit, ...]:
    """Return the session's units in order, each with the subagents that it spawned.

    Unit 0 contains the entries before the first prompt.
    """
    tree = _SubagentTree(main, subagents)
    units = [
        (number, tuple(entries))
        for number, entries in groupby(main.entries, key=lambda placed: placed.unit)
    ]
    numbers = [number for number, _ in units]
    return tuple(
        make_unit(
            main.summary, number, entries, tree.build_children(main, number, numbers)
        )
        for number, entries in units
    )


class _SubagentTree:
    """The subagents of each stream, with the number of the unit that spawned them."""

    def __init__(self, main: RecordStream, subagents: Sequence[RecordStream]) -> None:
        self._main = main
        # Keyed by the parent's `id()`, because streams are not hashable.
        self._children: dict[int, list[tuple[RecordStream, int]]] = {}
        streams = [main, *subagents]
        for child in subagents:
            parent, unit = self._get_parent(child, streams)
            self._children.setdefault(id(parent), []).append((child, unit))

    def build_children(
        self, parent: RecordStream, unit: int, numbers: Sequence[int]
    ) -> tuple[Unit, ...]:
        """Return the subagents that this stream spawned in this unit, recursively.

        `numbers` are the numbers of all units. A subagent of a unit that does not
        exist belongs to the last unit.
        """
        children = [
            child
            for child, number in self._children.get(id(parent), [])
            if number == unit or (number not in numbers and unit == numbers[-1])
        ]
        return tuple(self._build_unit(child) for child in children)

    def _build_unit(self, child: RecordStream) -> Unit:
        """Return all entries of a subagent as one unit, with its own subagents."""
        nested = tuple(
            self._build_unit(c) for c, _ in self._children.get(id(child), [])
        )
        return make_unit(child.summary, 0, tuple(child.entries), nested)

    def _get_parent(
        self, child: RecordStream, streams: Sequence[RecordStream]
    ) -> tuple[RecordStream, int]:
        """Return the stream and unit that probably spawned the child."""
        other_streams = [stream for stream in streams if stream is not child]
        for stream in other_streams:
            call = stream.calls.get(child.summary.spawn_call_id)
            if call:
                return stream, call.unit
        for stream in other_streams:
            if stream.summary.subagent_id == child.summary.parent_agent != "":
                return stream, 0
        return self._find_parent_by_prompt(child) or (
            self._main,
            self._find_unit_by_time(child),
        )

    def _find_parent_by_prompt(
        self, child: RecordStream
    ) -> tuple[RecordStream, int] | None:
        """Return the main stream and the unit whose call contains the child's prompt.

        Return None if there is none. Old logs need this: they do not name the call.
        """
        prompt = next(
            (
                p.record.content
                for p in child.entries
                if p.record.type == "user_message"
            ),
            "",
        )
        if not prompt:
            return None
        for call in self._main.calls.values():
            if prompt[:_SEARCHED_PROMPT_CHARACTERS] in _unescape(
                call.record.tool_input
            ):
                return self._main, call.unit
        return None

    def _find_unit_by_time(self, child: RecordStream) -> int:
        """Return the main stream's last unit with an entry before the child's start."""
        started_at = child.summary.started_at
        unit = 0
        for placed in self._main.entries:
            at = placed.record.created_at
            if started_at and at and at <= started_at:
                unit = placed.unit
        return unit


def _unescape(tool_input: str) -> str:
    """Undo the most common JSON escapes, so that the text can be searched."""
    return tool_input.replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\")
