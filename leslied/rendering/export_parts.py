"""Texts that the Markdown and HTML exports share: header fields, tool calls, events."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from leslied.rendering.edits import (
    can_compare,
    find_patch_edits,
    find_replacements,
)
from leslied.rendering.labels import find_label
from leslied.rendering.messages import find_version, parse_input
from leslied.rendering.text import first_line, replace_controls
from leslied.sessions.tools import PATH_ARGUMENTS, find_text, find_tool_kind

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from leslied.model.session import Session, Unit
    from leslied.rendering.edits import FileEdit
    from leslied.rendering.events import ShownEvent
    from leslied.rendering.messages import SpeakerMessage, ToolInvocation


def format_title(session: Session) -> str:
    """Return the session's title on one line, or its id if it has none."""
    return first_line(session.summary.title, 200) or session.summary.key.session_id


def iter_header_fields(session: Session) -> Iterator[tuple[str, str]]:
    """Yield name and value of each header field that has a value."""
    summary, usage = session.summary, session.summary.usage
    version = find_version(session.units)
    fields = [
        ("Session", summary.key.session_id),
        ("Thread", summary.thread_id),
        ("Agent", f"{summary.key.agent} {version}".strip()),
        ("Model", summary.model),
        ("Folder", summary.cwd),
        ("Began", format_time(summary.started_at, session)),
        ("Ended", format_time(summary.ended_at, session)),
        ("Status", session.status),
        ("Units", str(summary.current_units)),
        ("Tool calls", str(summary.tool_calls)),
        ("Subagents", str(summary.subagents or "")),
        ("Tokens in", _format_number(usage.input_tokens)),
        ("Tokens out", _format_number(usage.output_tokens)),
        ("Cache read", _format_number(usage.cache_read_tokens)),
        ("Cache written", _format_number(usage.cache_write_tokens)),
        ("Cost", "" if session.cost_usd is None else f"${session.cost_usd:.4f}"),
    ]
    yield from ((name, first_line(value, 500)) for name, value in fields if value)


def iter_unit_facts(unit: Unit, session: Session) -> Iterator[str]:
    """Yield the unit's chat id, start and stop reason, and `rewound` if it is."""
    yield unit.chat_id
    if unit.started_at:
        yield format_time(unit.started_at, session)
    yield unit.stop_reason
    if unit.is_rewound:
        yield "rewound"


def _format_number(number: int) -> str:
    return f"{number:,}" if number else ""


def format_time(time: datetime | None, session: Session) -> str:
    """Format the time to the second, with its zone."""
    if time is None:
        return ""
    local = time.astimezone(session.zone)
    zone = local.strftime("%z")
    return f"{local:%Y-%m-%d %H:%M:%S} {'UTC' if zone == '+0000' else zone}"


def format_clock(message: SpeakerMessage, session: Session) -> str:
    """Format a message's time of day; empty if its record has no time."""
    time = message.placed.record.created_at
    return f"{time.astimezone(session.zone):%H:%M:%S}" if time else ""


def format_call_label(call: ToolInvocation) -> str:
    """Return the argument that summarizes the call, else all arguments, on one line."""
    arguments = parse_input(call.placed.record)
    _, label = find_label(arguments)
    return first_line(
        label or (call.placed.record.tool_input if arguments else ""), 120
    )


def format_detail_title(event: ShownEvent) -> str:
    """Return the title of an event's detail."""
    return "Report" if event.kind == "notification" else "Summary"


def format_subagent(unit: Unit) -> str:
    """Format a subagent's type, task and id."""
    summary = unit.summary
    parts = (summary.agent_type, summary.description, summary.subagent_id)
    return " · ".join(first_line(part, 100) for part in parts if part)


def format_edit_diff(call: ToolInvocation) -> str:
    """Return an edit's changes as a diff; empty if the call is not an edit."""
    record = call.placed.record
    arguments = parse_input(record)
    patches = find_patch_edits(record.tool_name, arguments)
    if patches:
        return "\n".join(line for edit in patches for line in _format_patch(edit))
    is_edit = find_tool_kind(record.tool_name) == "edit"
    # Of any other tool, arguments like `before` are texts of an edit only with a path.
    has_edits = is_edit or bool(find_text(arguments, PATH_ARGUMENTS))
    pairs = find_replacements(arguments) if has_edits else []
    return "\n".join(line for old, new in pairs for line in _diff_texts(old, new))


def _diff_texts(old: str, new: str) -> list[str]:
    """Return the lines of a unified diff, without its two lines of file names.

    Texts that are too long to compare are listed as a whole.
    """
    before, after = (replace_controls(text).split("\n") for text in (old, new))
    if not can_compare(before, after):
        lines = [f"-{line}" for line in before] + [f"+{line}" for line in after]
        return ["@@ too long to compare @@", *lines]
    return list(difflib.unified_diff(before, after, lineterm="", n=3))[2:]


def _format_patch(edit: FileEdit) -> Iterator[str]:
    yield f"@@ {replace_controls(edit.path)} @@"
    for sign, text in edit.changes:
        yield "@@" if sign == "@" else sign + replace_controls(text)
