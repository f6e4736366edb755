"""Decode the parts of a message: prompts, answers, reasoning and tool calls."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from leslied.agents._opencode.schema import (
    OpenCodeMessage,
    OpenCodePart,
    object_field,
    text_field,
)
from leslied.agents._parsing import (
    format_size,
    mark_exit_code,
    parse_time,
    to_json,
)
from leslied.model.record import MAIN, Record, SessionKey

if TYPE_CHECKING:
    from collections.abc import Iterator

_NOISE_PARTS = frozenset({"step-start", "step-finish", "snapshot", "patch", "agent"})
"""Parts that repeat other parts or serve only the client."""
_TASK_RESULT = re.compile(
    r"<task id=[^\n]*>\n<task_result>\n(.+)\n</task_result>", re.DOTALL
)
"""Tags of the client around a subagent's answer, which is group 1."""
_PROMPT_PARTS = frozenset({"text", "file", "subtask"})
_QUOTED_PROMPT = re.compile(r'"((?:[^"\\]|\\.)* (?:[^"\\]|\\.)*)"', re.DOTALL)
"""Text in quotes that contains a space; quotes within it are escaped."""
_MAX_SUBAGENT_ID_LENGTH = 200


def with_content(record: Record, content: str) -> Record:
    """Return the record with this content."""
    return replace(record, content=content)


def decode_prompt(message: OpenCodeMessage, base: dict[str, Any]) -> Iterator[Record]:
    """Decode a person's text as one prompt, then each part that the client added.

    `base` holds the record fields that all records of the message share.
    """
    at = object_field(message.info, "time").get("created")
    base = {**base, "created_at": parse_time(at)}
    content = "\n\n".join(filter(None, map(_typed_text, message.parts)))
    if content:
        yield _make_prompt(message, base, content)
    for part in message.parts:
        if part.type == "text" and not _is_typed(part):
            yield _make_synthetic(part, base)
        elif part.type == "compaction":
            yield _make_compaction(part, base)
        elif part.type not in _PROMPT_PARTS and part.type not in _NOISE_PARTS:
            yield _make_unknown_part(part, base, "user")


def decode_answer(message: OpenCodeMessage, base: dict[str, Any]) -> Iterator[Record]:
    """Decode an answer's parts, up to the first that is still being written.

    `base` holds the record fields that all records of the message share.
    """
    for part in message.parts:
        if part.type in _NOISE_PARTS:
            continue
        if not message.is_complete and _is_unfinished(part):
            return
        if part.type in ("text", "reasoning"):
            if _part_text(part).strip():
                yield _decode_text(message, part, base)
        elif part.type == "tool":
            yield from _decode_tool(part, base)
        elif part.type == "file":
            yield Record(
                **base,
                type="assistant_message",
                role="assistant",
                native_id=part.id,
                content=_format_file(part),
            )
        elif part.type == "retry":
            at = object_field(part.data, "time").get("created")
            fields = {**base, "model": ""}
            error = object_field(part.data, "error")
            record = make_error(error, fields, part.id, 0, at)
            attempt = part.data.get("attempt")
            suffix = f" (attempt {attempt})" if type(attempt) is int else ""
            # The agent retries, so the error does not end its turn.
            yield replace(record, role="system", content=record.content + suffix)
        else:
            yield _make_unknown_part(part, base, "assistant")


def make_error(
    error: dict[str, Any], base: dict[str, Any], native_id: str, block: int, at: Any
) -> Record:
    """Return a record of an error: its name, status code and message."""
    data = object_field(error, "data")
    name = text_field(error, "name") or "Error"
    status = data.get("statusCode")
    label = f"{name} {status}" if isinstance(status, int) else name
    text = text_field(data, "message")
    return Record(
        **{**base, "created_at": parse_time(at)},
        type="error",
        role="assistant",
        native_id=native_id,
        block=block,
        content=f"{label}: {text}" if text else label,
        metadata={"error": name},
    )


def _typed_text(part: OpenCodePart) -> str:
    """Return the text or placeholder of a part that a person added, or ""."""
    match part.type:
        case "text" if _is_typed(part):
            return _part_text(part)
        case "file":
            return _format_file(part)
        case "subtask":
            return _subtask_text(part)
    return ""


def _is_typed(part: OpenCodePart) -> bool:
    """Return whether a person typed the part; the client marks its own parts."""
    data: dict[str, Any] = part.data
    return not data.get("synthetic") and not data.get("ignored")


def _part_text(part: OpenCodePart) -> str:
    return text_field(part.data, "text") or text_field(part.data, "content")


def _subtask_text(part: OpenCodePart) -> str:
    """Return the prompt of a subagent's task, with its slash command if any."""
    command = text_field(part.data, "command")
    prompt = text_field(part.data, "prompt")
    return f"/{command} {prompt}".strip() if command else prompt


def _make_prompt(
    message: OpenCodeMessage, base: dict[str, Any], content: str
) -> Record:
    key: SessionKey = base["session"]
    metadata: dict[str, Any] = {"origin": "prompt" if key.source == MAIN else "task"}
    quoted = _QUOTED_PROMPT.fullmatch(content)
    if quoted and key.source == MAIN:
        # `opencode run` puts quotes around its arguments.
        content = re.sub(r"\\(.)", r"\1", quoted.group(1), flags=re.DOTALL)
        metadata["is_quoted"] = True
    if "plan" in (text_field(message.info, "agent"), text_field(message.info, "mode")):
        metadata["permission_mode"] = "plan"
    return Record(
        **{**base, "model": ""},
        type="user_message",
        role="user",
        native_id=message.id,
        content=content,
        metadata=metadata,
    )


def _make_synthetic(part: OpenCodePart, base: dict[str, Any]) -> Record:
    """Return a record of text that the client added to a person's message."""
    return Record(
        **{**base, "model": ""},
        type="system_event",
        role="system",
        native_id=part.id,
        content=_part_text(part),
        metadata={"kind": "context", "note": "synthetic"},
    )


def _make_compaction(part: OpenCodePart, base: dict[str, Any]) -> Record:
    return Record(
        **{**base, "model": ""},
        type="system_event",
        role="system",
        native_id=part.id,
        metadata={"kind": "compacted", "note": "compact_boundary"},
    )


def _is_unfinished(part: OpenCodePart) -> bool:
    """Return whether the part has no content yet and will be rewritten.

    Text appears in one write; a call is pending until it has its arguments.
    """
    if part.type in ("text", "reasoning"):
        times = object_field(part.data, "time")
        return not _part_text(part) and "start" in times and "end" not in times
    return part.type == "tool" and _call_status(part) == "pending"


def _call_status(part: OpenCodePart) -> str:
    return text_field(object_field(part.data, "state"), "status")


def _decode_text(
    message: OpenCodeMessage, part: OpenCodePart, base: dict[str, Any]
) -> Record:
    """Decode an answer or a thought; a compaction's summary becomes an event."""
    started = object_field(part.data, "time").get("start")
    created = object_field(message.info, "time").get("created")
    fields = {
        **base,
        "native_id": part.id,
        "created_at": parse_time(started) or parse_time(created),
        "content": _part_text(part),
    }
    if part.type == "reasoning":
        return Record(**fields, type="thinking", role="assistant")
    if message.info.get("summary") is True:
        metadata = {"kind": "context", "note": "summary"}
        return Record(**fields, type="system_event", role="system", metadata=metadata)
    return Record(**fields, type="assistant_message", role="assistant")


def _decode_tool(part: OpenCodePart, base: dict[str, Any]) -> Iterator[Record]:
    """Decode a call, its result if there is one, and the link to its subagent."""
    state = object_field(part.data, "state")
    times = object_field(state, "time")
    fields = {
        **base,
        "native_id": part.id,
        "tool_name": text_field(part.data, "tool"),
        "tool_call_id": text_field(part.data, "callID") or part.id,
    }
    yield Record(
        **fields,
        type="tool_use",
        role="assistant",
        created_at=parse_time(times.get("start")),
        tool_input=to_json(state.get("input")) if "input" in state else "",
    )
    child = text_field(object_field(state, "metadata"), "sessionId")[
        :_MAX_SUBAGENT_ID_LENGTH
    ]
    if text_field(part.data, "tool") == "task" and child:
        yield _link_task(child, state, fields)
    if _call_status(part) in ("completed", "error"):
        code = object_field(state, "metadata").get("exit")
        text, metadata = mark_exit_code(_result_text(state), code)
        yield Record(
            **fields,
            type="tool_result",
            role="tool",
            block=1,
            created_at=parse_time(times.get("end")),
            content=text,
            metadata=metadata | _make_result_metadata(part, state),
        )


def _make_result_metadata(part: OpenCodePart, state: dict[str, Any]) -> dict[str, Any]:
    metadata: dict[str, Any] = {}
    if _has_failed(part):
        metadata["is_error"] = True
    is_task = text_field(part.data, "tool") == "task"
    if is_task and (match := _TASK_RESULT.match(text_field(state, "output"))):
        metadata["report"] = match[1]
    return metadata


def _link_task(
    child: str, state: dict[str, Any], call_fields: dict[str, Any]
) -> Record:
    """Return the link between a subagent's session and the call that started it."""
    key: SessionKey = call_fields["session"]
    arguments = object_field(state, "input")
    facts = {
        "tool_call_id": call_fields["tool_call_id"],
        "agent_type": text_field(arguments, "subagent_type"),
        "description": text_field(arguments, "description"),
    }
    return Record(
        session=SessionKey(key.agent, key.session_id, f"subagent:{child}"),
        type="system_event",
        role="system",
        native_id=f"task:{child}",
        created_at=parse_time(object_field(state, "time").get("start")),
        metadata={
            "kind": "subagent_linked",
            **{name: value for name, value in facts.items() if value},
        },
    )


def _result_text(state: dict[str, Any]) -> str:
    """Return a call's output or error, with placeholders for attached files."""
    attachments = state.get("attachments")
    files = attachments if isinstance(attachments, list) else []
    labels = [
        _format_file(OpenCodePart("", file)) for file in files if isinstance(file, dict)
    ]
    output = state["output"] if "output" in state else state.get("error")
    text = output if isinstance(output, str) else to_json(output)
    return "\n".join([text, *labels])


def _has_failed(part: OpenCodePart) -> bool:
    """Return whether the call failed; a command that ran has an exit code instead."""
    return text_field(part.data, "tool") == "invalid" or _call_status(part) == "error"


def _format_file(part: OpenCodePart) -> str:
    """Return a placeholder for a file: its type, name and size."""
    url = text_field(part.data, "url")
    kind = text_field(part.data, "mime") or "data"
    name = text_field(part.data, "filename")
    size = ""
    if url.startswith("data:"):
        size = ", " + format_size(len(url.partition(",")[2]) * 3 // 4)
    return f"[file {kind}{f' {name}' if name else ''}{size}]"


def make_unknown_message(message: OpenCodeMessage, base: dict[str, Any]) -> Record:
    """Return a record with the unchanged JSON of a message with an unknown role."""
    content = [message.info or message.raw, *(part.data for part in message.parts)]
    return Record(
        **base,
        type="unknown",
        role="system",
        native_id=message.id,
        content=to_json(content),
        metadata={"role": text_field(message.info, "role")},
    )


def _make_unknown_part(part: OpenCodePart, base: dict[str, Any], role: Any) -> Record:
    """Return a record with the unchanged JSON of a part of an unknown kind."""
    return Record(
        **base,
        type="unknown",
        role=role,
        native_id=part.id,
        content=part.data if isinstance(part.data, str) else to_json(part.data),
        metadata={"part_type": part.type},
    )
