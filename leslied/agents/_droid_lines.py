"""Decode the lines and the settings of Droid's sessions.

`docs/formats/droid.md` documents them.
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
)
from leslied.agents._parsing import (
    format_size,
    mark_exit_code,
    parse_object,
    parse_time,
    printable_name,
    reject_entry,
    to_json,
)
from leslied.errors import DecodeError
from leslied.model.record import MAIN, DecodeResult, SessionKey, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.record import Record
    from leslied.model.source import RawEntry

    State = dict[str, Any]
    """`cwd`; `parent`: the session that started this subagent; `is_failed`: whether
    the previous line is an error."""

NOISE = frozenset({"todo_state", "session_settings"})
"""Types of lines that repeat other lines or serve only the client."""
_CANCEL_REASONS = ("cancelled", "permission_rejected", "process_exit")
"""Reasons of turns that a person stopped."""
_COMPLETION_REASONS = ("completed", "spec_handoff")
_REMINDER = "<system-reminder>"
_EVENT_BLOCK, _TEXT_BLOCK = 900, 901
"""Block numbers of records that do not come from one block of a message."""
_MAX_ID_LENGTH = 100
"""A longer id is ignored, to keep the decode state small."""
_CALLING_SESSION = re.compile(r'"callingSessionId":\s*"([\w-]{1,100})"', re.ASCII)
_CUSTOM_MODEL = re.compile(r"custom:(.+?)(?:-\d+)?")
"""The id of a model from the user's settings: its name and number."""
_EXIT_CODE = re.compile(r"\s*\[Process exited with code (-?\d{1,9})\]\s*\Z")
_FAILURE_LINE = re.compile(r"\AError: Command failed \(exit code: -?\d+\)\n")
_TASK = re.compile(
    r"\ASubagent type: (?P<type>[^\n]*)\n(?:.*\n)?Task description: (?P<title>[^\n]*)\n"
    r".*^---BEGIN TASK FROM PARENT AGENT---\n(?P<task>.*)\n---END TASK",
    re.DOTALL | re.MULTILINE,
)
_TASK_HEADING = "# Task Tool Invocation\n\n"
_COMPLETION = re.compile(
    r"\ABackground task (\w+)\..*?^description: ([^\n]*)\noutput: (.*?)"
    r"(?:\n\nBackground task \"|\Z)",
    re.DOTALL | re.MULTILINE,
)


def decode_line(entry: RawEntry, state: State) -> DecodeResult:
    """Decode one line of a session's or subagent's log."""
    value = parse_object(entry.data)
    kind = as_text(value.get("type"))
    if entry.is_fragment and not (kind and (value.get("id") or value.get("turnId"))):
        reject_entry("a fragment that is not an entry")
    if kind == "session_start":
        state = _start_state(value)
    log_entry = LogEntry(
        key=_make_key(entry, as_text(state.get("parent"))),
        native_id=as_text(value.get("id")),
        created_at=parse_time(value.get("timestamp")),
        parent_id=as_text(value.get("parentId")),
    )
    records = tuple(_decode_by_type(log_entry, kind, value, state))
    noise = kind if not records and kind in NOISE else ""
    if not records and kind == "message" and _is_hidden(value):
        noise = "hidden"
    if not records and not noise:
        records = (log_entry.make_unknown(entry.data, line_type=kind),)
    # The end of a failed turn becomes an error unless the line before it is one.
    is_failed = any(record.type == "error" for record in records)
    state = {name: fact for name, fact in state.items() if name != "is_failed"}
    state |= {"is_failed": True} if is_failed else {}
    return DecodeResult(
        records=records, state=state, noise=noise, cwd=as_text(state.get("cwd"))
    )


def decode_settings(entry: RawEntry, state: State) -> DecodeResult:
    """Decode the token counts of a whole session; they grow with every request.

    `beside` is the beginning of the log, whose first line names a subagent's parent. It
    is empty if the log is missing; then nothing is stored.
    """
    value = parse_object(entry.data)
    tokens = as_dict(value.get("tokenUsage"))
    names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheCreationTokens")
    usage = Usage(*(as_count(tokens.get(name)) for name in names))
    header, cwd = as_text(state.get("beside", "{}")), as_text(state.get("cwd"))
    state = {"cwd": cwd} if cwd else {}
    if not usage or not header:
        return DecodeResult(state=state, noise="settings", cwd=cwd)
    parent = _CALLING_SESSION.search(header.partition("\n")[0])
    key = _make_key(entry, parent[1] if parent else "")
    session_id = key.subagent_id or key.session_id
    log_entry = LogEntry(
        key=key,
        native_id=f"usage:{session_id}",
        created_at=parse_time(value.get("providerLockTimestamp")),
    )
    record = log_entry.make_record(
        "token_usage",
        "system",
        usage=usage,
        message_id=f"session:{session_id}",
        model=_parse_model(value.get("model")),
        metadata={"is_sum": True},
    )
    return DecodeResult(records=(record,), state=state, cwd=cwd)


def _make_key(entry: RawEntry, parent: str) -> SessionKey:
    """Return the key of the session that a file is named after.

    If `parent` is not empty, the file is that of a subagent of the session `parent`.
    """
    agent = entry.source.agent
    session_id = printable_name(entry.source.parts[-1]).partition(".")[0]
    if parent:
        return SessionKey(agent, parent, f"subagent:{session_id}")
    return SessionKey(agent, session_id)


def _start_state(value: dict[str, Any]) -> State:
    parent = as_text(value.get("callingSessionId"))
    parent = parent if len(parent) <= _MAX_ID_LENGTH else ""
    facts = {"cwd": as_folder(value.get("cwd")), "parent": parent}
    return {name: fact for name, fact in facts.items() if fact}


def _decode_by_type(
    entry: LogEntry, kind: str, value: dict[str, Any], state: State
) -> Iterator[Record]:
    match kind:
        case "session_start":
            yield from _decode_start(entry, value)
        case "message":
            message = as_dict(value.get("message"))
            if message.get("role") == "assistant":
                yield from _decode_answer(entry, message)
            elif message.get("role") == "user":
                yield from _decode_user(entry, message)
        case "agent_turn_outcome":
            yield from _decode_outcome(entry, value, state)
        case "compaction_state":
            yield entry.make_event("compacted", as_text(value.get("summaryText")))


def _decode_start(entry: LogEntry, value: dict[str, Any]) -> Iterator[Record]:
    forked_from = as_text(value.get("parent"))
    cwd = as_folder(value.get("cwd"))
    yield entry.make_event("opened", cwd=cwd, forked_from=forked_from)
    is_manual = value.get("isSessionTitleManuallySet") is True
    title = as_text(value.get("sessionTitle")).strip()
    # Unless a person set it, `title` is the beginning of the first prompt.
    title = title or (as_text(value.get("title")) if is_manual else "")
    if entry.key.source != MAIN:
        call_id = as_text(value.get("callingToolUseId"))
        # The type of the subagent comes before its description.
        description = title.partition(": ")[2]
        yield entry.make_event(
            "subagent_linked",
            block=_EVENT_BLOCK,
            tool_call_id=call_id,
            description=description,
        )
    elif title:
        title_kind = "custom" if is_manual else "ai"
        event = entry.make_event(
            "title", title, block=_TEXT_BLOCK, title_kind=title_kind
        )
        # The client rewrites the line; each title has its own id.
        yield replace(event, native_id=f"{entry.native_id}:{title}")


def _decode_answer(entry: LogEntry, message: dict[str, Any]) -> Iterator[Record]:
    model = _parse_model(message.get("modelId"))
    blocks = as_list(message.get("content"))
    for number, block in enumerate(map(as_dict, blocks)):
        fields = {"block": number, "model": model, "message_id": entry.native_id}
        match block.get("type"):
            case "text":
                text = as_text(block.get("text"))
                yield entry.make_record(
                    "assistant_message", "assistant", content=text, **fields
                )
            case "thinking":
                text = as_text(block.get("thinking"))
                yield entry.make_record("thinking", "assistant", content=text, **fields)
            case "tool_use":
                yield entry.make_record(
                    "tool_use",
                    "assistant",
                    tool_name=as_text(block.get("name")),
                    tool_call_id=as_text(block.get("id")),
                    tool_input=to_json(block.get("input")),
                    **fields,
                )
            case "redacted_thinking":
                continue
            case _:
                text = to_json(block)
                yield entry.make_record("unknown", "assistant", content=text, **fields)


def _is_hidden(value: dict[str, Any]) -> bool:
    """Return whether a message has no text that anybody can read."""
    blocks = as_list(as_dict(value.get("message")).get("content"))
    return bool(blocks) and all(
        as_dict(block).get("type") == "redacted_thinking" for block in blocks
    )


def _decode_user(entry: LogEntry, message: dict[str, Any]) -> Iterator[Record]:
    """Decode tool results, a person's prompt, or a text of the client."""
    content = message.get("content")
    blocks = (
        [{"type": "text", "text": content}] if isinstance(content, str) else content
    )
    texts = []
    for number, block in enumerate(map(as_dict, as_list(blocks))):
        if block.get("type") == "tool_result":
            yield _decode_result(entry, block, number)
        elif text := as_text(block.get("text")) or _format_attachment(block):
            texts.append(text)
    reminders = [text for text in texts if text.startswith(_REMINDER)]
    text = "\n\n".join(text for text in texts if text not in reminders)
    if reminders:
        joined = "\n\n".join(reminders)
        yield entry.make_event(
            "context", joined, block=_EVENT_BLOCK, note="system_reminder"
        )
    if text:
        yield from _decode_text(entry, text, message)


def _decode_text(
    entry: LogEntry, text: str, message: dict[str, Any]
) -> Iterator[Record]:
    visibility = message.get("visibility")
    if entry.native_id.startswith("context-"):
        yield entry.make_event("context", text, block=_TEXT_BLOCK, note="context")
    elif visibility == "user_only" and "error" in text.partition("\n")[0].casefold():
        yield entry.make_record("error", "assistant", content=text, block=_TEXT_BLOCK)
    elif visibility in ("user_only", "llm_only"):
        yield _decode_notice(entry, text, message)
    elif entry.key.source != MAIN:
        yield from _decode_task(entry, text)
    else:
        metadata = {"origin": "prompt"}
        if message.get("interactionMode") == "spec":
            metadata["permission_mode"] = "plan"
        yield entry.make_record(
            "user_message", "user", content=text, block=_TEXT_BLOCK, metadata=metadata
        )


def _decode_notice(entry: LogEntry, text: str, message: dict[str, Any]) -> Record:
    """Decode a client message that only the person, or only the agent, receives."""
    note = as_text(message.get("hookEventName") or message.get("visibility"))
    facts = {}
    if match := _COMPLETION.search(text):
        facts["notification"] = f"Background task {match[1]}: {match[2]}"
        facts["report"] = match[3].strip()
    return entry.make_event("notice", text, block=_TEXT_BLOCK, note=note, **facts)


def _decode_task(entry: LogEntry, text: str) -> Iterator[Record]:
    """Decode the task of a subagent, without the client's instructions around it."""
    metadata: dict[str, Any] = {"origin": "task"}
    if match := _TASK.search(text.removeprefix(_TASK_HEADING)):
        yield entry.make_event(
            "subagent_linked",
            block=_EVENT_BLOCK,
            agent_type=match["type"],
            description=match["title"],
        )
        metadata["attached"] = text
        text = match["task"]
    yield entry.make_record(
        "user_message", "user", content=text, block=_TEXT_BLOCK, metadata=metadata
    )


def _decode_result(entry: LogEntry, block: dict[str, Any], number: int) -> Record:
    content = block.get("content")
    parts = [as_dict(part) for part in as_list(content)]
    texts = [as_text(part.get("text")) or _format_attachment(part) for part in parts]
    text = content if isinstance(content, str) else "\n\n".join(filter(None, texts))
    metadata: dict[str, Any] = {}
    if match := _EXIT_CODE.search(text):
        text = _FAILURE_LINE.sub("", text[: match.start()])
        text, metadata = mark_exit_code(text, int(match[1]))
    if block.get("is_error") is True:
        metadata["is_error"] = True
    elif report := _summarize_result(text):
        metadata["report"] = report
    return entry.make_record(
        "tool_result",
        "tool",
        content=text,
        tool_call_id=as_text(block.get("tool_use_id")),
        block=number,
        metadata=metadata,
    )


def _summarize_result(text: str) -> str:
    """Return a short form of a result that only repeats the call, or ""."""
    if text.startswith("Task launched in background."):
        return text.partition("\n")[0]
    if not text.startswith('{"success":true'):
        return ""
    try:
        value = parse_object(text.encode())
    except DecodeError:
        return ""
    counts = (as_count(value.get(name)) for name in ("linesAdded", "linesRemoved"))
    signs = [f"{sign}{n}" for sign, n in zip("+-", counts, strict=True) if n]
    return " ".join(filter(None, [as_text(value.get("file_path")), *signs]))


def _decode_outcome(
    entry: LogEntry, value: dict[str, Any], state: State
) -> Iterator[Record]:
    """Decode the end of a turn; the line has neither an id nor a time."""
    reason = as_text(value.get("reason"))
    entry = LogEntry(
        key=entry.key,
        native_id=f"outcome:{as_text(value.get('turnId'))}",
        created_at=None,
    )
    if reason in _CANCEL_REASONS:
        yield entry.make_event("turn_ended", note="interrupt", reason=reason)
        return
    if reason not in _COMPLETION_REASONS and not state.get("is_failed"):
        text = reason.replace("_", " ") or "error"
        yield entry.make_record("error", "assistant", content=text, block=1)
    yield entry.make_event("turn_ended", note="agent_turn_outcome", reason=reason)


def _parse_model(value: object) -> str:
    """Return the name of a model, without the prefix and number of a custom one."""
    model = as_text(value)
    match = _CUSTOM_MODEL.fullmatch(model)
    return match[1] if match else model


def _format_attachment(block: dict[str, Any]) -> str:
    """Return a placeholder for an image or a document, or ""."""
    kind, source = block.get("type"), as_dict(block.get("source"))
    if kind not in ("image", "document"):
        return ""
    size = format_size(len(as_text(source.get("data"))) * 3 // 4)
    media_type = as_text(source.get("media_type")) or "data"
    return f"[{'image' if kind == 'image' else 'file'} {media_type}, {size}]"
