"""The parts of a message: what was typed, answered, thought and done."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from leslied.agents._parsing import format_size, parse_time, to_json
from leslied.agents.opencode.schema import (
    OpenCodeMessage,
    OpenCodePart,
    object_field,
    text_field,
)
from leslied.model.record import MAIN, Record, SessionKey

if TYPE_CHECKING:
    from collections.abc import Iterator

_NOISE_PARTS = frozenset({"step-start", "step-finish", "snapshot", "patch", "agent"})
"""Parts that repeat what stands elsewhere or serve the client alone."""
_PROMPT_PARTS = frozenset({"text", "file", "subtask"})
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)* (?:[^"\\]|\\.)*)"', re.DOTALL)
_MAX_SUBAGENT_ID = 200


def with_content(record: Record, content: str) -> Record:
    """The record with its words."""
    return replace(record, content=content)


def decode_prompt(message: OpenCodeMessage, base: dict[str, Any]) -> Iterator[Record]:
    """What a person typed, as one prompt; after it what the client added."""
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
    """What the agent said and did, up to the first part that is still being written."""
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
            retry = {**base, "model": ""}
            record = make_error(object_field(part.data, "error"), retry, part.id, 0, at)
            # The agent tries again: its turn goes on.
            yield replace(record, role="system")
        else:
            yield _make_unknown_part(part, base, "assistant")


def make_error(
    error: dict[str, Any], base: dict[str, Any], native_id: str, block: int, at: Any
) -> Record:
    """An error in the words of whoever made it."""
    data = object_field(error, "data")
    name = text_field(error, "name") or "Error"
    status = data.get("statusCode")
    told = f"{name} {status}" if isinstance(status, int) else name
    words = text_field(data, "message")
    return Record(
        **{**base, "created_at": parse_time(at)},
        type="error",
        role="assistant",
        native_id=native_id,
        block=block,
        content=f"{told}: {words}" if words else told,
        metadata={"error": name},
    )


def _typed_text(part: OpenCodePart) -> str:
    """A part of a prompt as a person would write it."""
    match part.type:
        case "text" if _is_typed(part):
            return _part_text(part)
        case "file":
            return _format_file(part)
        case "subtask":
            return _subtask_text(part)
    return ""


def _is_typed(part: OpenCodePart) -> bool:
    """Whether a person wrote it: the client marks what it adds itself."""
    data: dict[str, Any] = part.data
    return not data.get("synthetic") and not data.get("ignored")


def _part_text(part: OpenCodePart) -> str:
    return text_field(part.data, "text") or text_field(part.data, "content")


def _subtask_text(part: OpenCodePart) -> str:
    """A command that a subagent carries out."""
    command = text_field(part.data, "command")
    prompt = text_field(part.data, "prompt")
    return f"/{command} {prompt}".strip() if command else prompt


def _make_prompt(
    message: OpenCodeMessage, base: dict[str, Any], content: str
) -> Record:
    key: SessionKey = base["session"]
    metadata: dict[str, Any] = {"origin": "prompt" if key.source == MAIN else "task"}
    quoted = _QUOTED.fullmatch(content)
    if quoted and key.source == MAIN:
        # `opencode run` puts the words it was given in quotes.
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
    """Text in a person's message that the client wrote."""
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
    """Whether it will be written anew: words come whole, a call with its arguments."""
    if part.type in ("text", "reasoning"):
        times = object_field(part.data, "time")
        return not _part_text(part) and "start" in times and "end" not in times
    return part.type == "tool" and _status(part) == "pending"


def _status(part: OpenCodePart) -> str:
    return text_field(object_field(part.data, "state"), "status")


def _decode_text(
    message: OpenCodeMessage, part: OpenCodePart, base: dict[str, Any]
) -> Record:
    """An answer or a thought; the summary of a compaction is context, not an answer."""
    begun = object_field(part.data, "time").get("start")
    created = object_field(message.info, "time").get("created")
    here = {
        **base,
        "native_id": part.id,
        "created_at": parse_time(begun) or parse_time(created),
        "content": _part_text(part),
    }
    if part.type == "reasoning":
        return Record(**here, type="thinking", role="assistant")
    if message.info.get("summary") is True:
        metadata = {"kind": "context", "note": "summary"}
        return Record(**here, type="system_event", role="system", metadata=metadata)
    return Record(**here, type="assistant_message", role="assistant")


def _decode_tool(part: OpenCodePart, base: dict[str, Any]) -> Iterator[Record]:
    """The call, its answer once there is one, and the subagent it started."""
    state = object_field(part.data, "state")
    times = object_field(state, "time")
    here = {
        **base,
        "native_id": part.id,
        "tool_name": text_field(part.data, "tool"),
        "tool_call_id": text_field(part.data, "callID") or part.id,
    }
    yield Record(
        **here,
        type="tool_use",
        role="assistant",
        created_at=parse_time(times.get("start")),
        tool_input=to_json(state.get("input")) if "input" in state else "",
    )
    child = text_field(object_field(state, "metadata"), "sessionId")[:_MAX_SUBAGENT_ID]
    if text_field(part.data, "tool") == "task" and child:
        yield _link_task(child, state, here)
    if _status(part) in ("completed", "error"):
        yield Record(
            **here,
            type="tool_result",
            role="tool",
            block=1,
            created_at=parse_time(times.get("end")),
            content=_result_text(state),
            metadata={"is_error": True} if _has_failed(part, state) else {},
        )


def _link_task(child: str, state: dict[str, Any], here: dict[str, Any]) -> Record:
    """The subagent's session hangs under the call that started it."""
    key: SessionKey = here["session"]
    told = object_field(state, "input")
    known = {
        "tool_call_id": here["tool_call_id"],
        "agent_type": text_field(told, "subagent_type"),
        "description": text_field(told, "description"),
    }
    return Record(
        session=SessionKey(key.agent, key.session_id, f"subagent:{child}"),
        type="system_event",
        role="system",
        native_id=f"task:{child}",
        created_at=parse_time(object_field(state, "time").get("start")),
        metadata={
            "kind": "subagent_linked",
            **{name: value for name, value in known.items() if value},
        },
    )


def _result_text(state: dict[str, Any]) -> str:
    attached = state.get("attachments")
    files = attached if isinstance(attached, list) else []
    told = [
        _format_file(OpenCodePart("", each)) for each in files if isinstance(each, dict)
    ]
    output = state.get("error") if "output" not in state else state["output"]
    words = output if isinstance(output, str) else to_json(output)
    return "\n".join([words, *told])


def _has_failed(part: OpenCodePart, state: dict[str, Any]) -> bool:
    """A command that failed completes like any other: only its exit code tells."""
    if text_field(part.data, "tool") == "invalid" or _status(part) == "error":
        return True
    code = object_field(state, "metadata").get("exit")
    return isinstance(code, int) and not isinstance(code, bool) and code != 0


def _format_file(part: OpenCodePart) -> str:
    """What stands for a file: its type, name and size."""
    url = text_field(part.data, "url")
    kind = text_field(part.data, "mime") or "data"
    name = text_field(part.data, "filename")
    size = ""
    if url.startswith("data:"):
        size = ", " + format_size(len(url.partition(",")[2]) * 3 // 4)
    return f"[file {kind}{f' {name}' if name else ''}{size}]"


def make_unknown_message(message: OpenCodeMessage, base: dict[str, Any]) -> Record:
    """A message of a speaker nobody knows, as it stood."""
    whole = [message.info or message.raw, *(part.data for part in message.parts)]
    return Record(
        **base,
        type="unknown",
        role="system",
        native_id=message.id,
        content=to_json(whole),
        metadata={"role": text_field(message.info, "role")},
    )


def _make_unknown_part(part: OpenCodePart, base: dict[str, Any], role: Any) -> Record:
    """A part of a kind nobody knows yet, as it stood."""
    return Record(
        **base,
        type="unknown",
        role=role,
        native_id=part.id,
        content=part.data if isinstance(part.data, str) else to_json(part.data),
        metadata={"part_type": part.type},
    )
