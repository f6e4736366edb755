"""What is played of a session: its entries as the page shows them, one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from leslied.cli.output import clean, say_time
from leslied.cli.page import entry_lines
from leslied.cli.player import Cue
from leslied.sessions.timeline import build_timeline

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from leslied.cli.player import Manner
    from leslied.model.record import Record
    from leslied.model.session import Unit
    from leslied.model.timed_entry import TimedEntry

_INDENT = "    "


def make_cues(units: Sequence[Unit], *, is_full: bool) -> Iterator[Cue]:
    """The entries as they came, and a line where another has the word."""

    def is_told(record: Record) -> bool:
        return any(entry_lines(record, "", is_full=is_full))

    heads = _Heads()
    for beat in build_timeline(units, is_told):
        indent, pause = _INDENT * beat.depth, beat.pause.total_seconds()
        head = [
            indent + click.style(clean(line), dim=True) for line in heads.find(beat)
        ]
        if head:
            yield Cue(pause, _join(head))
            pause = 0.0
        lines = entry_lines(beat.placed.record, indent, is_full=is_full)
        yield Cue(pause, _join(lines), _find_manner(beat))


def _join(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


class _Heads:
    """What stands above an entry that the one before it does not explain."""

    def __init__(self) -> None:
        self._speakers: dict[int, str] = {}
        self._calls: dict[str, Record] = {}
        self._last: Record | None = None

    def find(self, beat: TimedEntry) -> tuple[str, ...]:
        """Whose word it is, or which call it answers; nothing where that is plain."""
        record, before = beat.placed.record, self._last
        self._last = record
        call = self._calls.get(record.tool_call_id)
        if record.type == "tool_use":
            self._calls[record.tool_call_id] = record
        if self._speakers.get(beat.depth) != beat.unit.chat_id:
            self._speakers[beat.depth] = beat.unit.chat_id
            return "", _introduce(beat)
        if record.type == "tool_result" and call and call is not before:
            return (_name(call),)
        return ()


def _introduce(beat: TimedEntry) -> str:
    summary = beat.unit.summary
    if summary.is_subagent:
        name = summary.description or summary.agent_type or "subagent"
        return f"── subagent {name} · {summary.subagent_id} ──"
    at = say_time(beat.placed.record.created_at)
    return f"── unit {beat.unit.number} · {beat.unit.chat_id} · {at} ──"


def _name(call: Record) -> str:
    """The call in one line, as when it was made."""
    line = next(entry_lines(call, "", is_full=False))
    return click.unstyle(line).replace("●", "○", 1)


def _find_manner(beat: TimedEntry) -> Manner:
    match beat.placed.record.type:
        case "user_message" if beat.depth == 0:
            return "typed"
        case "user_message" | "assistant_message" | "thinking":
            return "spoken"
        case _:
            return "at once"
