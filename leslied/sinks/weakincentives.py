"""weakincentives: a slice of `TranscriptEntry`s, and its readable form."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from uuid import UUID

from leslied.control_characters import format_one_line
from leslied.model.codec import encode_time, usage_to_dict
from leslied.model.output import Artifact
from leslied.model.record import MAIN
from leslied.rendering.messages import get_full_text, iter_units, parse_input
from leslied.rendering.text import replace_controls
from leslied.sinks._contract import Sink
from leslied.sinks._text import (
    dump_json,
    dump_json_lines,
    encode_text,
    make_file_stem,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.record import PlacedRecord, Record
    from leslied.model.session import Session

ENTRY_TYPE = "weakincentives.transcript:TranscriptEntry"
_HEAD = re.compile(r"^\\*(?:\[[^]\n]*\] )?\[\d\d:\d\d:\d\d\] ", re.MULTILINE)
"""A line that looks like the first line of an entry; it gets a backslash in front."""
_MODEL_EVENTS = ("context", "compacted")
"""Kinds of events whose text the model saw; the others are bookkeeping."""
_ROLE_ICONS = {"system": "⚙️", "user": "👤", "assistant": "🤖"}


def render(session: Session) -> tuple[Artifact, ...]:
    """Render the slice, named as weakincentives expects, and a text for people."""
    entries = [p for unit in iter_units(session.units) for p in unit.entries]
    stem = make_file_stem(session)
    readable = "\n".join(line for p in entries for line in _format_entry(p, session))
    return (
        Artifact(
            path=f"{stem}/{ENTRY_TYPE}.jsonl",
            body=dump_json_lines([_entry_to_dict(p) for p in entries]),
        ),
        Artifact(
            path=f"{stem}/transcript.txt", body=encode_text(readable), is_derived=True
        ),
    )


def _entry_to_dict(placed: PlacedRecord) -> dict[str, Any]:
    record = placed.record
    is_call = record.type == "tool_use"
    return {
        "__type__": ENTRY_TYPE,
        "role": record.role,
        "content": _get_content(record),
        "created_at": _format_time(placed),
        "tool_name": record.tool_name or None,
        "tool_call_id": record.tool_call_id or None,
        "tool_input": parse_input(record) if is_call else None,
        "metadata": _metadata_to_dict(placed),
        "entry_id": str(UUID(placed.entry_id)),
        "source": _get_source(record),
        "sequence": placed.sequence,
    }


def _format_time(placed: PlacedRecord) -> str:
    # The format requires a time; without one in the log, use the time of reading.
    time = placed.record.created_at or placed.observed_at
    return (encode_time(time) or "").replace("Z", "+00:00")


def _get_content(record: Record) -> str:
    if record.type == "tool_use":
        return dump_json(parse_input(record), 2)
    return get_full_text(record)


def _metadata_to_dict(placed: PlacedRecord) -> dict[str, Any]:
    record = placed.record
    metadata: dict[str, Any] = {
        "entry_type": record.type,
        "session_id": record.session.session_id,
        "adapter": record.session.agent,
        "model": record.model,
        "usage": usage_to_dict(record.usage) if record.usage else None,
        "message_id": record.message_id,
        "native_id": record.native_id,
        "is_time_observed": record.created_at is None,
    }
    return {k: v for k, v in metadata.items() if v} | dict(record.metadata)


def _get_source(record: Record) -> str:
    source = record.session.source
    return "primary" if source == MAIN else source


def _format_entry(placed: PlacedRecord, session: Session) -> Iterator[str]:
    """Yield the lines of one entry; none if it is empty or an event of bookkeeping."""
    record = placed.record
    text = replace_controls(_get_content(record))
    kind = record.metadata.get("kind")
    if kind and kind not in _MODEL_EVENTS:
        return
    if not (text.strip() or record.tool_name):
        return
    source = _get_source(record)
    prefix = "" if source == "primary" else f"[{format_one_line(source)}] "
    time = record.created_at or placed.observed_at
    clock = f"{time.astimezone(session.zone):%H:%M:%S}"
    name = format_one_line(record.tool_name)
    speaker = (
        f"🔧 {name}"
        if name
        else f"{_ROLE_ICONS.get(record.role, '•')} {record.role.upper()}"
    )
    yield f"{prefix}[{clock}] {speaker}"
    is_call = record.type == "tool_use"
    # A line of the text that looks like the first line of an entry is escaped.
    yield dump_json(parse_input(record)) if is_call else _HEAD.sub(r"\\\g<0>", text)
    yield ""


SINK = Sink(
    name="weakincentives",
    about="a weakincentives transcript slice, and its readable form",
    render=render,
)
