"""Decode the lines of Cursor's transcripts, which have neither ids nor times."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from leslied.agents._entry import (
    LogEntry,
    as_count,
    as_dict,
    as_folder,
    as_text,
    get_side_file,
)
from leslied.agents._parsing import parse_object, printable_name
from leslied.errors import DecodeError
from leslied.model.record import MAIN, DecodeResult, Record, SessionKey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.source import RawEntry, SourceRef

State = dict[str, Any]
"""`number`: the number of the last message; `cwd`. Before the first line, it has only
`beside`: the marker of a trusted project."""
_SUBAGENTS = "subagents"
_QUERY = re.compile(r"<user_query>\s*(.*?)\s*</user_query>", re.DOTALL)
"""The user's text; Cursor puts context around it."""
_CONTEXT_TAGS = ("<user_info>", "<system_reminder>", "<open_and_recently_viewed_files>")
"""Starts of messages that contain no text of the user."""


def decode_line(entry: RawEntry, state: State) -> DecodeResult:
    """Decode a message, or the end of a turn.

    Messages are numbered. The end of a turn has the number of the message before it,
    because Cursor removes the end's line when the next turn begins.
    """
    value = parse_object(entry.data)
    key = _make_key(entry.source)
    records: list[Record] = []
    if "number" not in state:
        folder = _parse_marker(get_side_file(state))
        state = {"number": 0, "cwd": folder}
        records += _decode_opening(key, entry.source, folder)
    number = as_count(state.get("number"))
    scope = key.subagent_id or key.session_id
    if value.get("type") == "turn_ended":
        log_entry = LogEntry(key=key, native_id=f"end {number}", scope=scope)
        records += _decode_end(log_entry, value)
    else:
        number += 1
        log_entry = LogEntry(key=key, native_id=f"{number}", scope=scope)
        records += _decode_message(log_entry, value, entry.data)
    noise = "" if records else "empty"
    return DecodeResult(
        records=tuple(records),
        state={**state, "number": number},
        noise=noise,
        cwd=as_text(state.get("cwd")),
    )


def _make_key(source: SourceRef) -> SessionKey:
    """Return the session that a file is named after, or the subagent.

    A subagent's file is in `SESSION/subagents`.
    """
    stem = printable_name(source.path.stem)
    if source.path.parent.name != _SUBAGENTS:
        return SessionKey(source.agent, stem)
    session_id = printable_name(source.path.parent.parent.name)
    return SessionKey(source.agent, session_id, f"subagent:{stem}")


def _parse_marker(text: str) -> str:
    """Return the project's path from the marker of a trusted project, or ""."""
    try:
        return as_folder(parse_object(text.encode(errors="replace"))["workspacePath"])
    except (DecodeError, KeyError):
        return ""


def _decode_opening(
    key: SessionKey, source: SourceRef, folder: str
) -> Iterator[Record]:
    log_entry = LogEntry(
        key=key, native_id="file", scope=printable_name(source.path.stem)
    )
    if folder:
        yield log_entry.make_event("opened", cwd=folder)
    if key.source != MAIN:
        yield log_entry.make_event("subagent_linked", block=1)


def _decode_end(entry: LogEntry, value: dict[str, Any]) -> Iterator[Record]:
    """Decode the end of a turn, and why it failed."""
    status, error = as_text(value.get("status")), as_text(value.get("error"))
    if status == "aborted":
        yield entry.make_event("turn_ended", note="interrupt")
        return
    if status == "error":
        text = error or "The turn failed."
        yield entry.make_record("error", "assistant", block=1, content=text)
    yield entry.make_event("turn_ended")


def _decode_message(
    entry: LogEntry, value: dict[str, Any], data: bytes
) -> Iterator[Record]:
    role, content = value.get("role"), as_dict(value.get("message")).get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if role not in ("user", "assistant") or not isinstance(content, list):
        yield entry.make_unknown(data)
    elif role == "user":
        yield from _decode_prompt(entry, content)
    else:
        for block, part in enumerate(content):
            yield from _decode_part(entry, block, part)


def _decode_prompt(entry: LogEntry, content: list[Any]) -> Iterator[Record]:
    """Decode the user's text, without the context around it."""
    texts = [as_text(as_dict(part).get("text")) for part in content]
    text = "\n\n".join(filter(None, texts)).strip()
    if queries := _QUERY.findall(text):
        prompt = entry.make_prompt("\n\n".join(queries), block=len(content))
        context = _QUERY.sub("", text).strip()
        attached = {"attached": context} if context else {}
        yield replace(prompt, metadata={**prompt.metadata, **attached})
    elif text.startswith(_CONTEXT_TAGS):
        yield entry.make_event("context", text, block=len(content), note="injected")
    elif text:
        yield entry.make_prompt(text, block=len(content))
    for block, part in enumerate(content):
        if as_dict(part).get("type") != "text":
            yield from _decode_part(entry, block, part)


def _decode_part(entry: LogEntry, block: int, part: Any) -> Iterator[Record]:
    """Decode a text, call, thought or result; few transcripts contain results."""
    fields = as_dict(part)
    match fields.get("type"):
        case "text":
            if (text := as_text(fields.get("text"))).strip():
                yield entry.make_answer(text, block=block)
        case "tool_use":
            call_id = as_text(fields.get("id")) or f"{entry.native_id}.{block}"
            name = as_text(fields.get("name"))
            yield entry.make_call(name, call_id, fields.get("input"), block=block)
        case "tool_result":
            call_id, result = as_text(fields.get("tool_use_id")), fields.get("content")
            text = result if isinstance(result, str) else ""
            yield entry.make_result("", call_id, text, block=block)
        case "thinking":
            if thought := as_text(fields.get("thinking")).strip():
                yield entry.make_thinking(thought, block=block)
        case _:
            yield entry.make_unknown(part, block=block)
