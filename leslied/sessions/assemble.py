"""Assembly of stored records into units, with subagents under their parents."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from leslied.model.omitted_text import load_whole
from leslied.sessions.calls import CallResults, link_results
from leslied.sessions.subagents import MainCall, add_spawn_calls, find_parents
from leslied.sessions.units import find_user_message, make_unit, mark_rewound

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from leslied.model.record import PlacedRecord, SessionKey
    from leslied.model.session import SessionSummary, Unit


@dataclass(slots=True)
class RecordStream:
    """A session or subagent with its records in order, results linked to calls."""

    summary: SessionSummary
    entries: Sequence[PlacedRecord]
    _calls: CallResults | None = None

    def __post_init__(self) -> None:
        self.entries = link_results(self.entries)

    @property
    def calls(self) -> CallResults:
        """The stream's tool calls; needed only to find who spawned a subagent."""
        if self._calls is None:
            self._calls = CallResults(self.entries)
        return self._calls


def assemble(main: RecordStream, subagents: Sequence[RecordStream]) -> tuple[Unit, ...]:
    """Return the session's units in order, each with the subagents that it spawned.

    Unit 0 contains the entries before the first prompt.
    """
    tree = _SubagentTree(main, subagents)
    units = groupby(main.entries, key=lambda placed: placed.unit)
    return tuple(
        mark_rewound(
            make_unit(
                main.summary,
                number,
                tuple(entries),
                tree.build_children(main.summary.key, number),
            )
        )
        for number, entries in units
    )


class _SubagentTree:
    """The subagents of each stream, with the number of the unit that spawned them."""

    def __init__(self, main: RecordStream, subagents: Sequence[RecordStream]) -> None:
        lookup = _StreamLookup([main, *subagents])
        summaries = [child.summary for child in subagents]
        summaries = add_spawn_calls(summaries, lookup)
        self._summaries = {summary.key: summary for summary in summaries}
        self._parents = find_parents(main.summary.key, summaries, lookup)
        self._subagents = subagents

    def build_children(self, key: SessionKey, unit: int) -> tuple[Unit, ...]:
        """Return the subagents that this unit of a stream spawned, recursively."""
        return tuple(
            self._build_unit(child)
            for child in self._subagents
            if self._parents[child.summary.key] == (key, unit)
        )

    def _build_unit(self, child: RecordStream) -> Unit:
        """Return all entries of a subagent as one unit, with its own subagents."""
        summary = self._summaries[child.summary.key]
        children = self.build_children(summary.key, 0)
        return make_unit(summary, 0, tuple(child.entries), children)


class _StreamLookup:
    """Facts about who spawned whom, from streams that are in memory.

    The first stream is the main session.
    """

    def __init__(self, streams: Sequence[RecordStream]) -> None:
        self._main = streams[0]
        self._streams = {stream.summary.key: stream for stream in streams}

    def find_call_units(self, call_id: str) -> dict[SessionKey, int]:
        """Return the unit of the last call with this id, by stream."""
        return {
            key: call.unit
            for key, stream in self._streams.items()
            if (call := stream.calls.find_call(call_id))
        }

    def find_prompt(self, child: SessionSummary) -> str:
        """Return the text of the subagent's first user message, or ""."""
        message = find_user_message(self._streams[child.key].entries)
        return load_whole(message.record.content) if message else ""

    def iter_main_calls(self) -> Iterator[MainCall]:
        """Yield the main session's calls, in order."""
        for placed in self._main.entries:
            record = placed.record
            if record.type == "tool_use":
                arguments = load_whole(record.tool_input)
                yield MainCall(placed.unit, record.tool_call_id, arguments)

    def find_unit_at(self, time: datetime | None) -> int:
        """Return the main session's last unit with an entry at or before this time."""
        entries = self._main.entries
        units = [
            placed.unit
            for placed in entries
            if time and (at := placed.record.created_at) and at <= time
        ]
        return max(units, default=entries[0].unit if entries else 0)
