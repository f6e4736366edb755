"""Decode a message of Crush, with its session, into records."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from leslied.agents._entry import (
    LogEntry,
    as_dict,
    as_text,
    format_attachment,
)
from leslied.agents._parsing import (
    mark_exit_code,
    parse_object,
    parse_time,
    printable_name,
    reject_entry,
)
from leslied.model.record import MAIN, SHELL, DecodeResult, Record, SessionKey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.source import RawEntry

_END_BLOCK, _ERROR_BLOCK, _PROMPT_BLOCK = 100_000, 100_001, 100_002
"""Block numbers of the records about a message as a whole."""
_DATA_FOLDER = ".crush"
_DEFAULT_TITLES = ("", "Untitled Session", "New Session")
"""Titles of a session that has none yet."""
_SUBAGENT_TITLE = "New Agent Session"
_EXIT_LINE = re.compile(r"\n*Exit code (\d{1,9})\Z")
"""Line that Crush adds to the output of a command that failed."""
_LAST_REASONS = ("end_turn", "max_tokens")
"""Reasons for which an answer ends a turn."""


def decode_entry(entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
    """Decode a message, and the facts about its session that come with it."""
    value = parse_object(entry.data)
    session = as_dict(value.get("session"))
    if value.get("kind") != "message":
        return _decode_unknown(entry, state)
    id_, root = as_text(session.get("id")), as_text(session.get("root"))
    if not id_ or not as_text(value.get("id")):
        reject_entry("a message without an id or a session")
    is_main = root in ("", id_)
    key = SessionKey(
        entry.source.agent, *((id_,) if is_main else (root, f"subagent:{id_}"))
    )
    folder = _find_folder(entry)
    message = LogEntry(
        key=key,
        native_id=value["id"],
        scope=id_,
        created_at=parse_time(value.get("created")),
        model=as_text(value.get("model")),
    )
    records = [*_decode_session(message, session, folder)]
    records += _decode_message(message, value)
    return DecodeResult(records=tuple(records), state=state, cwd=folder)


def _decode_unknown(entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
    log_entry = LogEntry(key=SessionKey(entry.source.agent, "unknown"), native_id="")
    record = log_entry.make_unknown(entry.data)
    return DecodeResult(records=(record,), state=state)


def _find_folder(entry: RawEntry) -> str:
    """Return the project of a database; "" if it is not in the default folder."""
    folder = entry.source.path.parent
    is_default = folder.name == _DATA_FOLDER
    return printable_name(str(folder.parent)) if is_default else ""


def _decode_session(
    message: LogEntry, session: dict[str, Any], folder: str
) -> Iterator[Record]:
    """Decode the facts about a session, which each of its messages repeats."""
    log_entry = _make_session_entry(message, "session", session.get("created"))
    yield log_entry.make_event("opened", cwd=folder)
    title = as_text(session.get("title"))
    if log_entry.key.source != MAIN:
        # A subagent's session id ends with `$$` and the id of the call that started it.
        call_id = message.scope.partition("$$")[2]
        description = "" if title == _SUBAGENT_TITLE else title
        yield log_entry.make_event(
            "subagent_linked", block=1, tool_call_id=call_id, description=description
        )
    elif title not in _DEFAULT_TITLES:
        # Each title has its own id, so that a repeated title is stored once.
        event = log_entry.make_event("title", title, title_kind="ai")
        yield replace(event, native_id=f"title:{title}")


def _make_session_entry(message: LogEntry, native_id: str, created: object) -> LogEntry:
    """Return the session as an entry of its own."""
    return LogEntry(
        key=message.key,
        native_id=native_id,
        scope=message.scope,
        created_at=parse_time(created),
    )


def _decode_message(message: LogEntry, value: dict[str, Any]) -> Iterator[Record]:
    """Decode the parts of a message, in their order."""
    parts, role = value.get("parts"), as_text(value.get("role"))
    if not isinstance(parts, list):
        yield message.make_unknown(parts, role=role)
    elif role == "user":
        yield from _decode_prompt(message, parts)
    elif value.get("is_summary") and (text := _join_texts(parts)):
        yield message.make_event("compacted", text, block=_PROMPT_BLOCK)
    elif role == "system" and (text := _join_texts(parts)):
        yield message.make_event(
            "context", text, block=_PROMPT_BLOCK, note="system_prompt"
        )
    else:
        yield from _decode_parts(message, parts, role)


def _decode_prompt(message: LogEntry, parts: list[Any]) -> Iterator[Record]:
    """Decode a person's text, and commands that the person ran with `!`."""
    if text := _join_texts(parts):
        yield message.make_prompt(text, block=_PROMPT_BLOCK)
    # A shell command takes two blocks.
    for block, part in enumerate(parts):
        type_, data = _split_part(part)
        if type_ == "shell_command":
            yield from _decode_shell(message, 2 * block, data)
        elif type_ not in ("text", "binary", "image_url", "finish"):
            yield message.make_unknown(part, block=2 * block)


def _decode_shell(
    message: LogEntry, block: int, data: dict[str, Any]
) -> Iterator[Record]:
    command = f"! {as_text(data.get('command'))}"
    yield message.make_prompt(command, block=block, origin="shell")
    text, _ = mark_exit_code(as_text(data.get("output")), data.get("exit_code"))
    event = message.make_event("notice", text, block=block + 1, note="shell_output")
    yield replace(event, tool_name=SHELL)


def _split_part(part: Any) -> tuple[str, dict[str, Any]]:
    """Return the type and the data of a part."""
    return as_text(as_dict(part).get("type")), as_dict(as_dict(part).get("data"))


def _join_texts(parts: list[Any]) -> str:
    """Return the texts of a message, with placeholders for files."""
    return "\n\n".join(filter(None, map(_format_part, parts)))


def _format_part(part: Any) -> str:
    match _split_part(part):
        case "text", data:
            return as_text(data.get("text"))
        case "binary", data:
            return format_attachment("file", data.get("MIMEType"), data.get("Data"))
        case "image_url", data:
            return f"[image {as_text(data.get('url'))[:200]}]"
    return ""


def _decode_parts(message: LogEntry, parts: list[Any], role: str) -> Iterator[Record]:
    """Decode texts, thoughts, calls and results; a finish says why the answer ended."""
    finish = next((data for t, data in map(_split_part, parts) if t == "finish"), {})
    reason = as_text(finish.get("reason")) if role == "assistant" else ""
    for block, part in enumerate(parts):
        yield from _decode_part(message, block, part)
    if reason in ("error", "content_filter"):
        lines = [as_text(finish.get(name)) for name in ("message", "details")]
        text = "\n".join(filter(None, lines)) or "The request failed."
        yield message.make_record(
            "error", "assistant", block=_ERROR_BLOCK, content=text, model=message.model
        )
    elif reason == "canceled":
        yield message.make_event("turn_ended", block=_END_BLOCK, note="interrupt")
    elif reason in _LAST_REASONS:
        yield message.make_event("turn_ended", block=_END_BLOCK, stop_reason=reason)


def _decode_part(message: LogEntry, block: int, part: Any) -> Iterator[Record]:
    type_, data = _split_part(part)
    match type_:
        case "text" | "binary" | "image_url":
            if (text := _format_part(part)).strip():
                yield message.make_answer(text, block=block)
        case "reasoning":
            if thought := as_text(data.get("thinking")).strip():
                yield message.make_thinking(thought, block=block)
        case "tool_call":
            # While the model writes a call, its input is not complete JSON.
            if data.get("finished") is not False:
                name, call_id = as_text(data.get("name")), as_text(data.get("id"))
                tool_input = as_text(data.get("input"))
                yield message.make_call(name, call_id, tool_input, block=block)
        case "tool_result":
            yield _decode_result(message, block, data)
        case "finish":
            pass
        case _:
            yield message.make_unknown(part, block=block)


def _decode_result(message: LogEntry, block: int, data: dict[str, Any]) -> Record:
    """Decode the result of a call; put the exit code of a failed command in front."""
    name, text = as_text(data.get("name")), as_text(data.get("content"))
    facts: dict[str, Any] = {"is_error": True} if data.get("is_error") is True else {}
    if name == "bash" and (line := _EXIT_LINE.search(text)):
        text, facts = mark_exit_code(text[: line.start()], int(line[1]))
    if not text and data.get("data"):
        text = format_attachment("file", data.get("mime_type"), data.get("data"))
    call_id = as_text(data.get("tool_call_id"))
    return message.make_result(name, call_id, text, block=block, **facts)
