"""Decode the messages that the extension's window shows for a task."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from leslied.agents._cline_tasks.calls import decode_call, is_call, is_result
from leslied.agents._entry import (
    LogEntry,
    as_count,
    as_dict,
    as_folder,
    as_list,
    as_text,
    drop_side_file,
    get_side_file,
)
from leslied.agents._parsing import (
    parse_object,
    parse_time,
    parse_value,
    printable_name,
    reject_entry,
)
from leslied.errors import DecodeError
from leslied.model.record import DecodeResult, Record, SessionKey, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leslied.model.source import RawEntry

_FOLDER = re.compile(r"# Current (?:Working|Workspace) Directory \((?P<path>[^)\n]+)\)")
_WORKSPACE = re.compile(r'"workspace"\s*:\s*"(?:[^"\\]|\\.)*"')
_END_BLOCK, _ERROR_BLOCK, _THOUGHT_BLOCK = 1, 2, 3
_PROMPTS = frozenset({"task", "user_feedback"})
_ENDS = frozenset({"followup", "plan_mode_respond", "completion_result"})
"""Questions with which the agent waits for the user."""
_ERRORS = frozenset(
    {
        "error",
        "diff_error",
        "rooignore_error",
        "clineignore_error",
        "condense_context_error",
        "api_req_failed",
        "mistake_limit_reached",
    }
)
_NOTICES = frozenset(
    {
        "info",
        "api_req_retried",
        "api_req_retry_delayed",
        "api_req_rate_limit_wait",
        "auto_approval_max_req_reached",
        "command_permission_denied",
        "mcp_notification",
        "shell_integration_warning",
        "shell_integration_warning_with_suggestion",
        "sliding_window_truncation",
        "too_many_tools_warning",
    }
)
_CONTEXTS = frozenset({"user_feedback_diff", "user_edit_todos", "task_progress"})
_NOISE = frozenset(
    {
        "api_req_finished",
        "checkpoint_created",
        "checkpoint_saved",
        "conditional_rules_applied",
        "hook_output_stream",
        "hook_status",
        "load_mcp_documentation",
        "resume_completed_task",
        "resume_task",
    }
)
"""Kinds that only the window needs."""


def decode_task(entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
    """Decode all messages of a task."""
    messages = parse_value(entry.data)
    if not isinstance(messages, list):
        reject_entry("a task without messages")
    task_id = printable_name(entry.source.path.parent.name)
    log_entry = LogEntry(
        key=SessionKey(entry.source.agent, task_id),
        native_id="task",
        scope=task_id,
        created_at=_find_time(messages[:1]),
    )
    folder = _find_folder(messages, get_side_file(state))
    records = [log_entry.make_event("opened", cwd=folder)]
    records += _decode_messages(log_entry, messages)
    return DecodeResult(records=tuple(records), state=drop_side_file(state), cwd=folder)


def _find_time(messages: list[Any]) -> Any:
    return parse_time(as_dict(messages[0]).get("ts")) if messages else None


def _find_folder(messages: list[Any], metadata: str) -> str:
    """Return the folder in the task's metadata, or in a request to the model."""
    # Only the beginning of the metadata is read, so it may not be complete JSON.
    if match := _WORKSPACE.search(metadata):
        return as_folder(parse_json_text(f"{{{match[0]}}}").get("workspace"))
    for message in messages:
        if as_dict(message).get("say") == "api_req_started":
            request = as_text(parse_json_text(message.get("text")).get("request"))
            if match := _FOLDER.search(request):
                return as_folder(match["path"])
    return ""


def parse_json_text(text: object) -> dict[str, Any]:
    """Return the JSON object that a message has as its text, or an empty one."""
    if not isinstance(text, str) or not text.startswith("{"):
        return {}
    try:
        return parse_object(text.encode(errors="replace"))
    except DecodeError:
        return {}


def _decode_messages(log_entry: LogEntry, messages: list[Any]) -> Iterator[Record]:
    """Decode all messages; a call is decoded with the results that follow it."""
    ids: set[str] = set()
    number = 0
    while number < len(messages):
        value = messages[number]
        message = as_dict(value)
        message_entry = _make_message_entry(log_entry, message, number, ids)
        is_first = number == 0
        number += 1
        if is_call(message):
            end = number
            while end < len(messages) and is_result(as_dict(messages[end])):
                end += 1
            yield from decode_call(
                message_entry, message, list(map(as_dict, messages[number:end]))
            )
            number = end
        else:
            yield from _decode_message(message_entry, value, is_first=is_first)


def _make_message_entry(
    log_entry: LogEntry, message: dict[str, Any], number: int, ids: set[str]
) -> LogEntry:
    """Return the message as an entry; its time is its id."""
    time = parse_time(message.get("ts"))
    native_id = f"{message['ts']}"[:40] if time else f"nth {number}"
    if native_id in ids:
        native_id = f"{native_id} nth {number}"
    ids.add(native_id)
    return LogEntry(
        key=log_entry.key,
        native_id=native_id,
        scope=log_entry.scope,
        created_at=time,
        model=as_text(as_dict(message.get("modelInfo")).get("modelId")),
    )


def _decode_message(entry: LogEntry, value: Any, *, is_first: bool) -> Iterator[Record]:
    message = as_dict(value)
    is_question = message.get("type") == "ask"
    kind = as_text(message.get("ask" if is_question else "say"))
    text = as_text(message.get("text"))
    if is_question and kind in _ENDS:
        yield from _decode_question(entry, kind, text)
        yield from _decode_end(entry, message)
    elif kind in _PROMPTS or (kind == "text" and is_first):
        yield from _decode_prompt(entry, text, as_list(message.get("images")))
    elif kind in ("api_req_started", "subagent_usage"):
        yield from _decode_request(entry, parse_json_text(text))
    elif kind in _ERRORS:
        yield entry.make_record("error", "assistant", content=text or kind)
    elif kind in ("condense_context", "compaction"):
        summary = as_text(as_dict(message.get("contextCondense")).get("summary"))
        yield entry.make_event("compacted", summary or text)
    else:
        yield from _decode_text(entry, kind, value, text)


def _decode_text(entry: LogEntry, kind: str, value: Any, text: str) -> Iterator[Record]:
    """Decode a text or thought of the agent, or a notice of the extension."""
    thought = as_text(as_dict(value).get("reasoning"))
    if thought.strip() or kind == "reasoning":
        yield entry.make_thinking(thought or text, block=_THOUGHT_BLOCK)
    match kind:
        case "text":
            if text.strip():
                yield entry.make_answer(text)
        case "completion_result" | "plan_completion_result":
            yield entry.make_answer(text)
            yield from _decode_end(entry, as_dict(value))
        case _ if kind in _NOTICES or is_result(as_dict(value)):
            yield entry.make_event("notice", text, note=kind)
        case _ if kind in _CONTEXTS:
            yield entry.make_event("context", text, note=kind)
        case _ if kind not in _NOISE and kind != "reasoning":
            yield entry.make_unknown(value, message_type=kind)


def _decode_prompt(
    entry: LogEntry, text: str, images: Sequence[Any]
) -> Iterator[Record]:
    placeholders = [f"[image {number + 1}]" for number in range(len(images))]
    if prompt := "\n\n".join(filter(None, [text, *placeholders])):
        yield entry.make_prompt(prompt)


def _decode_question(entry: LogEntry, kind: str, text: str) -> Iterator[Record]:
    """Decode a question to the user; that after a completion has only buttons."""
    if kind == "completion_result":
        return
    fields = parse_json_text(text)
    question = as_text(fields.get("question")) or as_text(fields.get("response"))
    options = [*as_list(fields.get("suggest")), *as_list(fields.get("options"))]
    lines = [as_text(as_dict(o).get("answer")) or as_text(o) for o in options]
    choices = "\n".join(f"- {line}" for line in lines if line)
    answer = "\n\n".join(filter(None, [question or ("" if fields else text), choices]))
    if answer:
        yield entry.make_answer(answer)


def _decode_end(entry: LogEntry, message: dict[str, Any]) -> Iterator[Record]:
    """Decode the end of a turn, unless its last message is still being written."""
    if message.get("partial") is not True:
        yield entry.make_event("turn_ended", block=_END_BLOCK, stop_reason="end_turn")


def _decode_request(entry: LogEntry, request: dict[str, Any]) -> Iterator[Record]:
    """Decode the tokens of a request, and why it failed."""
    usage = Usage(
        as_count(request.get("tokensIn")),
        as_count(request.get("tokensOut")),
        as_count(request.get("cacheReads")),
        as_count(request.get("cacheWrites")),
    )
    if usage:
        yield entry.make_usage(usage, f"{entry.scope}:{entry.native_id}")
    reason = request.get("cancelReason")
    if reason == "user_cancelled":
        yield entry.make_event("turn_ended", block=_END_BLOCK, note="interrupt")
    elif reason:
        text = as_text(request.get("streamingFailedMessage")) or as_text(reason)
        yield entry.make_record("error", "assistant", content=text, block=_ERROR_BLOCK)
