"""A session as a page of text for the terminal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from leslied.cli.output import (
    clean,
    say_cost,
    say_count,
    say_number,
    say_path,
    say_time,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leslied.model.record import Placed, Record
    from leslied.model.session import SessionSummary, Status, Unit

_RESULT_LINES = 4
_WIDTH = 160
_TELLING = (
    "command",
    "cmd",
    "file_path",
    "path",
    "pattern",
    "url",
    "query",
    "prompt",
    "message",
    "input",
)
"""Arguments that say what a call does, the most telling first."""
_ANSWERS = {"user_message", "assistant_message", "tool_use", "tool_result", "error"}


def page_lines(
    session: SessionSummary,
    units: Sequence[Unit],
    status: Status,
    home: str,
    *,
    is_full: bool,
    resume: str = "",
) -> Iterator[str]:
    """The whole page: a head, unit by unit, and how to go on."""
    yield click.style(clean(session.title or session.key.session_id), bold=True)
    facts = [
        session.key.session_id,
        session.key.agent,
        say_path(session.cwd, home),
        session.model,
        f"{say_time(session.started_at)} to {say_time(session.ended_at)}",
        status,
        say_count(session.units, "unit"),
        say_count(session.tool_calls, "tool call"),
        f"{say_number(session.usage.output_tokens)} tokens out",
        say_cost(session.cost) if session.cost.priced else "",
    ]
    yield click.style(clean(" · ".join(fact for fact in facts if fact)), dim=True)
    for unit in units:
        if unit.number or is_full or _has_talk(unit):
            yield from _unit_lines(unit, "", is_full=is_full)
    if resume:
        yield ""
        yield click.style(clean(f"go on with it: {resume}"), dim=True)


def _has_talk(unit: Unit) -> bool:
    return any(placed.record.type in _ANSWERS for placed in unit.entries)


def _unit_lines(unit: Unit, indent: str, *, is_full: bool) -> Iterator[str]:
    yield ""
    if unit.summary.is_subagent:
        name = unit.summary.description or unit.summary.agent_type or "subagent"
        head = f"subagent {name} · {unit.summary.subagent_id}"
    else:
        head = f"{unit.chat_id} · {say_time(unit.started_at)} · {unit.stop_reason}"
        if unit.agent_mode != "agent":
            head += f" · {unit.agent_mode}"
    yield indent + click.style(clean(f"── {head} ──"), dim=True)
    waiting = {child.summary.spawn_call_id: child for child in unit.subagents}
    for record in _in_reading_order(unit.entries):
        yield from entry_lines(record, indent, is_full=is_full)
        if record.type == "tool_use" and record.tool_call_id in waiting:
            child = waiting.pop(record.tool_call_id)
            yield from _unit_lines(child, indent + "    ", is_full=is_full)
    for child in waiting.values():
        yield from _unit_lines(child, indent + "    ", is_full=is_full)


def _in_reading_order(entries: Sequence[Placed]) -> Iterator[Record]:
    """Every result right under its call, also when calls ran side by side."""
    records = [placed.record for placed in entries]
    results = {r.tool_call_id: r for r in records if r.type == "tool_result"}
    told: set[str] = set()
    for record in records:
        if record.type == "tool_result" and record.tool_call_id in told:
            continue
        yield record
        if record.type == "tool_use" and record.tool_call_id in results:
            told.add(record.tool_call_id)
            yield results[record.tool_call_id]


def entry_lines(record: Record, indent: str, *, is_full: bool) -> Iterator[str]:
    """One record as a reader wants to see it; nothing for what only machines read."""
    match record.type:
        case "user_message":
            yield ""
            yield from _quote(record.content, indent + click.style("> ", fg="cyan"))
            yield ""
        case "assistant_message" if record.content.strip():
            yield from _quote(record.content, indent)
        case "tool_use":
            name = " ".join(record.tool_name.split())
            call = f"● {name} {_arguments(record, is_full=is_full)}"
            yield indent + click.style(clean(call), fg="blue")
            if record.metadata.get("is_unanswered"):
                yield indent + click.style("  └ no answer", dim=True)
        case "tool_result":
            yield from _result_lines(record, indent, is_full=is_full)
        case "error":
            yield indent + click.style(clean(f"✗ {record.content}"), fg="red")
        case "thinking" if is_full and record.content.strip():
            dim = click.style("~ ", dim=True)
            yield from _quote(record.content, indent + dim)
        case "unknown" if is_full:
            yield indent + clean(f"? {record.content[:_WIDTH]}")
        case "system_event":
            yield from _event_lines(record, indent, is_full=is_full)


def _event_lines(record: Record, indent: str, *, is_full: bool) -> Iterator[str]:
    kind, note = record.metadata.get("kind"), record.metadata.get("note")
    if note == "interrupt":
        yield indent + click.style("✗ interrupted", fg="yellow")
    elif kind == "compacted" and note == "compact_boundary":
        yield indent + click.style("≈ conversation compacted", fg="yellow")
    elif is_full:
        text = record.content.strip().replace("\n", " ")[:_WIDTH]
        words = " ".join(str(word) for word in (kind, note, text) if word)
        yield indent + click.style(clean(f"· {words}"), dim=True)


def _arguments(record: Record, *, is_full: bool) -> str:
    """The call's arguments: the telling one alone, or all of them."""
    try:
        given = json.loads(record.tool_input)
    except ValueError:
        return record.tool_input[:_WIDTH]
    if is_full or not isinstance(given, dict):
        return record.tool_input
    for name in _TELLING:
        if isinstance(given.get(name), str):
            return _cut(given[name])
    return _cut(record.tool_input)


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…"


def _result_lines(record: Record, indent: str, *, is_full: bool) -> Iterator[str]:
    text = (record.spilled or record.content).strip("\n")
    lines = text.split("\n")
    color = "red" if record.metadata.get("is_error") else None
    shown = lines if is_full else lines[:_RESULT_LINES]
    for number, line in enumerate(shown):
        mark = "  └ " if number == 0 else "    "
        text = line if is_full else line[:_WIDTH]
        yield indent + mark + click.style(clean(text), fg=color, dim=not color)
    if len(shown) < len(lines):
        more = f"    … {len(lines) - len(shown)} more lines"
        yield indent + click.style(more, dim=True)


def _quote(text: str, mark: str) -> Iterator[str]:
    for line in text.strip("\n").split("\n"):
        yield mark + clean(line)
