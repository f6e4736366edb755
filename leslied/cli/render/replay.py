"""Events of a replay: a session's entries, rendered one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from leslied.cli.render.output import format_time, sanitize
from leslied.cli.render.session import render_record
from leslied.cli.terminal.player import ReplayEvent
from leslied.rendering.entry_order import build_timeline

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from leslied.cli.terminal.player import Pacing
    from leslied.model.record import Record
    from leslied.model.session import Unit
    from leslied.model.timed_entry import TimedEntry

_INDENT = "    "


def make_replay_events(
    units: Sequence[Unit], *, is_full: bool
) -> Iterator[ReplayEvent]:
    """Yield an event for each visible entry, after one for its header if it has one."""

    def is_visible(record: Record) -> bool:
        return any(render_record(record, "", is_full=is_full))

    headers = _HeaderTracker()
    for entry in build_timeline(units, is_visible):
        indent, pause = _INDENT * entry.depth, entry.pause.total_seconds()
        header_lines = [
            indent + click.style(sanitize(line), dim=True)
            for line in headers.lines_before(entry)
        ]
        if header_lines:
            yield ReplayEvent(pause, _join_lines(header_lines))
            pause = 0.0
        lines = render_record(entry.placed.record, indent, is_full=is_full)
        yield ReplayEvent(pause, _join_lines(lines), _choose_pacing(entry))


def _join_lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


class _HeaderTracker:
    """Tracker of units and calls, to decide which entries need a header."""

    def __init__(self) -> None:
        self._chat_id_by_depth: dict[int, str] = {}
        """The unit of the last entry at each depth; subagents are deeper."""
        self._calls: dict[str, Record] = {}
        self._last_record: Record | None = None

    def lines_before(self, entry: TimedEntry) -> tuple[str, ...]:
        """Return the header to show above the entry, and remember the entry.

        A header introduces a unit or subagent, or repeats the call of a result that
        does not directly follow its call.
        """
        record, previous = entry.placed.record, self._last_record
        self._last_record = record
        call = self._calls.get(record.tool_call_id)
        if record.type == "tool_use":
            self._calls[record.tool_call_id] = record
        if self._chat_id_by_depth.get(entry.depth) != entry.unit.chat_id:
            self._chat_id_by_depth[entry.depth] = entry.unit.chat_id
            return "", _format_unit_header(entry)
        if record.type == "tool_result" and call and call is not previous:
            return (_format_call(call),)
        return ()


def _format_unit_header(entry: TimedEntry) -> str:
    summary = entry.unit.summary
    if summary.is_subagent:
        name = summary.description or summary.agent_type or "subagent"
        return f"── subagent {name} · {summary.subagent_id} ──"
    time = format_time(entry.placed.record.created_at)
    return f"── unit {entry.unit.number} · {entry.unit.chat_id} · {time} ──"


def _format_call(call: Record) -> str:
    """Format, on one line, a call that was shown before; `○` takes the place of `●`."""
    line = next(render_record(call, "", is_full=False))
    return click.unstyle(line).replace("●", "○", 1)


def _choose_pacing(entry: TimedEntry) -> Pacing:
    match entry.placed.record.type:
        case "user_message" if entry.depth == 0:
            return "typed"
        case "user_message" | "assistant_message" | "thinking":
            return "spoken"
        case _:
            return "at once"
