"""Decode the events of Pi's sessions, which OpenClaw writes, too.

`docs/formats/pi.md` documents them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from leslied.agents._entry import (
    LogEntry,
    as_count,
    as_dict,
    as_folder,
    as_list,
    as_text,
    format_attachment,
)
from leslied.agents._parsing import (
    mark_exit_code,
    parse_object,
    parse_time,
    printable_name,
    reject_entry,
    to_json,
)
from leslied.model.record import SHELL, DecodeResult, SessionKey, Usage
from leslied.model.times import to_us

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.record import Record
    from leslied.model.source import RawEntry

    State = dict[str, Any]
    """`cwd`; `failed`: the id of a request that just failed; `result_us`: the time of
    the tool result that came last, if no answer followed it."""

NOISE = frozenset({"context_edit", "custom", "label"})
"""Types of events that only the client and its extensions use."""
_STOP_REASONS = {"stop": "end_turn", "length": "max_tokens"}
"""Stop reasons after which the agent waits, as records name them."""
_END_BLOCK, _USAGE_BLOCK, _ERROR_BLOCK = 1000, 1001, 1002
"""Block numbers of records that do not come from a part of a message."""
_MAX_ID_LENGTH = 100
"""Longer ids are truncated in the decode state."""
_EXIT_CODE = re.compile(r"\n*\(?Command exited with code (\d{1,9})\)?\s*\Z")
_SKILL = re.compile(
    r'<skill name="([^"]+)" location="[^"]+">\n(.*?)\n</skill>(?:\n\n(.+))?', re.DOTALL
)
"""The text that the client stores instead of `/skill:NAME TEXT`."""
_FILES = re.compile(r'(?:<file name="[^"\n]*">.*?</file>\n)+', re.DOTALL)
"""The files that `@NAME` on the command line puts before the prompt."""


def decode_line(entry: RawEntry, state: State) -> DecodeResult:
    """Decode one line of a log, whose name is `TIME_SESSION.jsonl`."""
    value = parse_object(entry.data)
    if entry.is_fragment and not (value.get("type") and value.get("timestamp")):
        reject_entry("a fragment that is not an event")
    name = printable_name(entry.source.parts[-1]).removesuffix(".jsonl")
    key = SessionKey(entry.source.agent, name.rpartition("_")[2])
    return decode_event(value, key, state, entry.data)


def decode_event(
    value: dict[str, Any], key: SessionKey, state: State, data: bytes, scope: str = ""
) -> DecodeResult:
    """Decode one event of a session; `data` is the text that `value` comes from.

    Ids are unique in `scope`, which is the session by default.
    """
    entry = LogEntry(
        key=key,
        native_id=as_text(value.get("id")),
        created_at=parse_time(value.get("timestamp")),
        scope=scope or key.session_id,
        parent_id=as_text(value.get("parentId")),
    )
    kind = as_text(value.get("type"))
    records = tuple(_decode_by_type(entry, kind, value, state))
    noise = "" if records or kind not in NOISE else kind
    if not records and not noise:
        records = (entry.make_unknown(data, event_type=kind),)
    state = _update_state(entry, kind, value, state)
    return DecodeResult(
        records=records, state=state, noise=noise, cwd=as_text(state.get("cwd"))
    )


def _update_state(
    entry: LogEntry, kind: str, value: dict[str, Any], state: State
) -> State:
    """Return the state after an event.

    It has the folder; the id of the request, if the event is a failed one; and the time
    of the last tool result, until an answer follows that result.
    """
    message = as_dict(value.get("message"))
    changes: State = {"failed": None}
    if kind == "session":
        changes["cwd"] = as_folder(value.get("cwd")) or None
    elif kind == "message" and message.get("role") == "toolResult":
        changes["result_us"] = to_us(entry.created_at) if entry.created_at else None
    elif kind == "message" and message.get("role") == "assistant":
        if message.get("stopReason") == "error":
            changes["failed"] = entry.native_id[:_MAX_ID_LENGTH]
        changes["result_us"] = None
    new_state = {**state, **changes}
    return {name: fact for name, fact in new_state.items() if fact is not None}


def _decode_by_type(
    entry: LogEntry, kind: str, value: dict[str, Any], state: State
) -> Iterator[Record]:
    match kind:
        case "session":
            yield _decode_header(entry, value)
        case "message":
            yield from _decode_message(entry, as_dict(value.get("message")), state)
        case "model_change" | "thinking_level_change" | "session_info":
            yield _decode_setting(entry, kind, value)
        case "compaction":
            yield entry.make_event("compacted", as_text(value.get("summary")))
            yield from _decode_usage(entry, value)
        case "branch_summary":
            yield entry.make_event("rewound", note=kind)
            summary = as_text(value.get("summary"))
            yield entry.make_event("context", summary, block=1, note=kind)
            yield from _decode_usage(entry, value)
        case "usage":
            yield from _decode_usage(entry, value)
        case "custom_message":
            yield _decode_custom(entry, value)
        case "context_edit" if value.get("targetId") == state.get("failed", ""):
            # The client drops a failed request just before it tries again.
            yield entry.make_event("notice", note="request_retried")


def _decode_header(entry: LogEntry, value: dict[str, Any]) -> Record:
    """Decode the first line; in a fork, it names the file of the original session."""
    parent = as_text(value.get("parentSession")).replace("\\", "/")
    stem = parent.rpartition("/")[2].removesuffix(".jsonl")
    return entry.make_event(
        "opened",
        cwd=as_folder(value.get("cwd")),
        forked_from=stem.rpartition("_")[2],
    )


def _decode_setting(entry: LogEntry, kind: str, value: dict[str, Any]) -> Record:
    """Decode a change of the model, the thinking level or the session's name."""
    if kind == "session_info":
        return entry.make_event(
            "title", as_text(value.get("name")), title_kind="custom"
        )
    effort, model = (as_text(value.get(name)) for name in ("thinkingLevel", "modelId"))
    return replace(entry.make_event("context", note=kind, effort=effort), model=model)


def _decode_message(
    entry: LogEntry, message: dict[str, Any], state: State
) -> Iterator[Record]:
    match message.get("role"):
        case "user":
            yield _decode_prompt(entry, message, state)
        case "assistant":
            yield from _decode_answer(entry, message)
        case "toolResult":
            yield _decode_result(entry, message)
            yield from _decode_usage(entry, message)
        case "system":
            sections = as_dict(message.get("sections")).values()
            texts = [_join_parts(message.get("content")), *map(as_text, sections)]
            text = "\n\n".join(filter(None, texts))
            yield entry.make_event("context", text, note="system_prompt")
        case "bashExecution":
            yield from _decode_shell(entry, message)
        case "custom" | "hookMessage":
            yield _decode_custom(entry, message)
        case "compactionSummary":
            yield entry.make_event("compacted", as_text(message.get("summary")))
        case "branchSummary":
            summary = as_text(message.get("summary"))
            yield entry.make_event("context", summary, note="branch_summary")


def _decode_prompt(entry: LogEntry, message: dict[str, Any], state: State) -> Record:
    """Decode a person's message, without the text of files and skills in it."""
    text = _join_parts(message.get("content"))
    sent_at, result_us = parse_time(message.get("timestamp")), state.get("result_us")
    is_queued = sent_at and isinstance(result_us, int) and to_us(sent_at) <= result_us
    metadata: dict[str, Any] = {"origin": "queued" if is_queued else "prompt"}
    if skill := _SKILL.fullmatch(text):
        name, body, arguments = skill.groups(default="")
        text = f"/skill:{name} {arguments}".strip()
        metadata = {"origin": "command", "attached": body}
    elif (files := _FILES.match(text)) and text[files.end() :].strip():
        metadata["attached"] = files[0]
        text = text[files.end() :]
    return entry.make_record("user_message", "user", content=text, metadata=metadata)


def _decode_answer(entry: LogEntry, message: dict[str, Any]) -> Iterator[Record]:
    reason = as_text(message.get("stopReason"))
    stop_reason = _STOP_REASONS.get(reason)
    common = {
        "model": as_text(message.get("model")),
        "usage": _parse_usage(message),
        "message_id": _make_message_id(entry, message),
    }
    parts = [part for part in as_list(message.get("content")) if isinstance(part, dict)]
    for block, part in enumerate(parts[:_END_BLOCK]):
        metadata = {"stop_reason": stop_reason} if stop_reason else {}
        yield _decode_part(entry, part, block=block, metadata=metadata, **common)
    if reason == "error":
        text = as_text(message.get("errorMessage")) or "The request failed."
        yield entry.make_record(
            "error", "assistant", content=text, block=_ERROR_BLOCK, **common
        )
    elif reason == "aborted":
        yield entry.make_event("turn_ended", block=_END_BLOCK, note="interrupt")
    elif not parts:
        yield from _decode_usage(entry, message)
        yield entry.make_event("turn_ended", block=_END_BLOCK, stop_reason=stop_reason)


def _decode_part(entry: LogEntry, part: dict[str, Any], **fields: Any) -> Record:
    match part.get("type"):
        case "text":
            text = as_text(part.get("text"))
            return entry.make_record(
                "assistant_message", "assistant", content=text, **fields
            )
        case "thinking":
            text = as_text(part.get("thinking"))
            return entry.make_record("thinking", "assistant", content=text, **fields)
        case "toolCall":
            arguments = part.get("arguments", part.get("input"))
            return entry.make_record(
                "tool_use",
                "assistant",
                tool_name=as_text(part.get("name")),
                tool_call_id=as_text(part.get("id")),
                tool_input=to_json(arguments),
                **fields,
            )
    return entry.make_record("unknown", "assistant", content=to_json(part), **fields)


def _decode_result(entry: LogEntry, message: dict[str, Any]) -> Record:
    """Decode a tool result; the text or the details report how a command ended."""
    text = _join_parts(message.get("content"))
    code = as_dict(message.get("details")).get("exitCode")
    if match := _EXIT_CODE.search(text):
        text = text[: match.start()]
        code = code if type(code) is int else int(match[1])
    text, metadata = mark_exit_code(text, code)
    if message.get("isError") is True:
        metadata["is_error"] = True
    return entry.make_record(
        "tool_result",
        "tool",
        content=text,
        tool_name=as_text(message.get("toolName")),
        tool_call_id=as_text(message.get("toolCallId")),
        metadata=metadata,
    )


def _decode_shell(entry: LogEntry, message: dict[str, Any]) -> Iterator[Record]:
    """Decode a command that a person ran with `!`, and its output."""
    yield entry.make_record(
        "user_message",
        "user",
        content=f"! {as_text(message.get('command'))}",
        metadata={"origin": "shell"},
    )
    text, _ = mark_exit_code(as_text(message.get("output")), message.get("exitCode"))
    event = entry.make_event("notice", text, block=1, note="shell_output")
    yield replace(event, tool_name=SHELL)


def _decode_custom(entry: LogEntry, message: dict[str, Any]) -> Record:
    """Decode a message that an extension added to the conversation."""
    text = _join_parts(message.get("content"))
    return entry.make_event("context", text, note=as_text(message.get("customType")))


def _decode_usage(entry: LogEntry, message: dict[str, Any]) -> Iterator[Record]:
    """Decode the tokens of a request that has no answer in the conversation."""
    if usage := _parse_usage(message):
        yield entry.make_record(
            "token_usage",
            "system",
            block=_USAGE_BLOCK,
            usage=usage,
            model=as_text(message.get("model")),
            message_id=_make_message_id(entry, message),
        )


def _parse_usage(message: dict[str, Any]) -> Usage | None:
    usage = as_dict(message.get("usage"))
    names = ("input", "output", "cacheRead", "cacheWrite", "cacheWrite1h")
    input_tokens, output, cache_read, cache_write, write_1h = (
        as_count(usage.get(name)) for name in names
    )
    write_1h = min(write_1h, cache_write)
    return Usage(input_tokens, output, cache_read, cache_write, write_1h) or None


def _make_message_id(entry: LogEntry, message: dict[str, Any]) -> str:
    """Return an id that a fork's copy of the message has, too.

    Ids of entries are unique only in their session, so the time is added.
    """
    created_us = to_us(entry.created_at) if entry.created_at else 0
    time = as_count(message.get("timestamp")) or created_us
    return f"{entry.native_id}-{time}" if entry.native_id else ""


def _join_parts(content: object) -> str:
    """Return the text of a message, with a placeholder for each image."""
    if isinstance(content, str):
        return content
    parts = [part for part in as_list(content) if isinstance(part, dict)]
    return "\n\n".join(filter(None, map(_part_text, parts)))


def _part_text(part: dict[str, Any]) -> str:
    if part.get("type") == "image":
        return format_attachment("image", part.get("mimeType"), part.get("data"))
    return as_text(part.get("text"))
