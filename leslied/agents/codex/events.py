"""Decode events: turn starts and ends, tokens, subagents, and the client's notices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.agents._parsing import to_json
from leslied.agents.codex.routing import as_id, id_field
from leslied.agents.codex.schema import (
    count_field,
    list_field,
    object_field,
    parse_json_or_empty,
    text_field,
)
from leslied.model.record import Usage

if TYPE_CHECKING:
    from leslied.agents.codex.items import RecordsStateNoise
    from leslied.agents.codex.routing import LineContext
    from leslied.agents.codex.schema import CodexLine
    from leslied.model.record import Record, Role

_CANCEL_REASONS = ("interrupted", "replaced")
_TOTAL_FIELDS = ("input_tokens", "cached_input_tokens", "output_tokens", "total_tokens")
_MAX_REASON_LENGTH = 60
_MAX_NAME_LENGTH = 100
_MAX_MESSAGE_ID_LENGTH = 200


def decode_event(
    line: CodexLine, context: LineContext, state: dict[str, Any]
) -> RecordsStateNoise:
    """Decode one event; an unknown type has neither records nor noise."""
    payload = line.payload
    match line.kind:
        case "task_started" | "turn_started":
            return (), {**state, "turn": "open"}, f"event_msg/{line.kind}"
        case "task_complete" | "turn_complete":
            return _decode_turn_end(payload, context, state)
        case "turn_aborted":
            return _decode_turn_abort(payload, context, state)
        case "token_count":
            return _decode_token_count(payload, context, state)
        case "item_completed":
            return _decode_turn_item(line, context, state)
        case "collab_agent_spawn_end" | "sub_agent_activity":
            records = _link_subagent(payload, context)
            return records, state, "" if records else f"event_msg/{line.kind}"
        case "error" | "stream_error":
            return _decode_error(payload, context, state, line.kind)
    return _decode_notice(payload, context), state, ""


def _decode_notice(payload: dict[str, Any], context: LineContext) -> tuple[Record, ...]:
    """Decode a name, rollback, goal, warning or review; return nothing otherwise."""
    kind = text_field(payload, "type")
    match kind:
        case "thread_name_updated":
            name = text_field(payload, "thread_name")
            return (context.make_event("title", name, title_kind="custom"),)
        case "thread_rolled_back":
            return (
                context.make_event("rewound", turns=count_field(payload, "num_turns")),
            )
        case "thread_goal_updated":
            goal = text_field(object_field(payload, "goal"), "objective")
            return (context.make_event("context", goal, note="goal"),)
        case "warning" | "guardian_warning" | "deprecation_notice":
            text = text_field(payload, "message") or text_field(payload, "summary")
            return (context.make_event("notice", text, note=kind),)
        case "entered_review_mode" | "EnteredReviewMode":
            hint = text_field(payload, "user_facing_hint")
            return (context.make_event("notice", hint, note="review"),)
        case "exited_review_mode" | "ExitedReviewMode":
            output = object_field(payload, "review_output")
            text = text_field(output, "overall_explanation")
            return (context.make_event("notice", text, note="reviewed"),)
    return ()


def _decode_turn_end(
    payload: dict[str, Any], context: LineContext, state: dict[str, Any]
) -> RecordsStateNoise:
    """Decode the end of a turn, or the error that ended it.

    The line is noise if the turn failed without an answer and an earlier line has
    already reported its error.
    """
    error, is_reported = object_field(payload, "error"), state.get("failed")
    state = {
        name: value for name, value in state.items() if name not in ("turn", "failed")
    }
    if is_reported and not text_field(payload, "last_agent_message"):
        return (), state, "event_msg/task_complete"
    if error:
        return (_make_error(error, context),), state, ""
    milliseconds = count_field(payload, "duration_ms") or None
    return (context.make_event("turn_ended", duration_ms=milliseconds),), state, ""


def _decode_turn_abort(
    payload: dict[str, Any], context: LineContext, state: dict[str, Any]
) -> RecordsStateNoise:
    """Decode the end of a turn that was aborted."""
    reason = text_field(payload, "reason")[:_MAX_REASON_LENGTH]
    note = "interrupt" if reason in _CANCEL_REASONS else reason
    state = {
        name: value for name, value in state.items() if name not in ("turn", "failed")
    }
    return (context.make_event("turn_ended", note=note, reason=reason),), state, ""


def _decode_error(
    payload: dict[str, Any], context: LineContext, state: dict[str, Any], kind: str
) -> RecordsStateNoise:
    """Decode an error. An `error` ends the turn; a `stream_error` is retried."""
    record = _make_error(payload, context, is_final=kind == "error")
    return (record,), {**state, "failed": True} if kind == "error" else state, ""


def _make_error(
    payload: dict[str, Any], context: LineContext, *, is_final: bool = True
) -> Record:
    """Return a record of an error; a final error ended the turn."""
    # The error's name is a string, or the only key of an object with details.
    info = payload.get("codex_error_info")
    name = next(iter(info), "") if isinstance(info, dict) else info
    name = name[:_MAX_NAME_LENGTH] if isinstance(name, str) else ""
    metadata = {"error": name} if name else {}
    text = _find_message(text_field(payload, "message")) or name or "The turn failed."
    role: Role = "assistant" if is_final else "system"
    return context.make_record("error", role, text, metadata=metadata)


def _find_message(text: str) -> str:
    """Return the message of an error, which may be the JSON body of a response."""
    error = object_field(parse_json_or_empty(text), "error")
    return text_field(error, "message") or text


def _decode_turn_item(
    line: CodexLine, context: LineContext, state: dict[str, Any]
) -> RecordsStateNoise:
    """Decode subagents and reviews; an unknown type has neither records nor noise."""
    item = line.item
    match text_field(item, "type"):
        case "CollabAgentToolCall" | "SubAgentActivity" as kind:
            records = _link_subagent(item, context)
            return records, state, "" if records else f"item_completed/{kind}"
        case "EnteredReviewMode" | "ExitedReviewMode":
            return _decode_notice(item, context), state, ""
    return (), state, ""


def _link_subagent(payload: dict[str, Any], context: LineContext) -> tuple[Record, ...]:
    """Return a link to the subagent that a call started; nothing if it started none."""
    call_id = (
        text_field(payload, "call_id")
        or text_field(payload, "event_id")
        or text_field(payload, "id")
    )
    child = id_field(payload, "new_thread_id")
    if text_field(payload, "kind") == "started":
        child = id_field(payload, "agent_thread_id")
    elif text_field(payload, "tool") == "spawn_agent":
        receivers = list_field(payload, "receiver_thread_ids")
        child = as_id(receivers[0]) if receivers else ""
    if not child:
        return ()
    return (context.make_subagent_link(child, "spawn", tool_call_id=call_id),)


def decode_usage(
    line: CodexLine, context: LineContext, state: dict[str, Any]
) -> RecordsStateNoise:
    """Decode the token counts of one API message."""
    payload = line.payload
    thread_id = text_field(payload, "thread_id")
    # From now on, `token_count` events are ignored: they repeat these tokens.
    state = {**state, "counted": "by message"}
    usage = _parse_usage(object_field(payload, "usage"))
    if not usage or (thread_id and thread_id != context.thread):
        return (), state, line.type
    message_id = text_field(payload, "response_id")
    return (_make_usage_record(context, usage, message_id),), state, ""


def _decode_token_count(
    payload: dict[str, Any], context: LineContext, state: dict[str, Any]
) -> RecordsStateNoise:
    """Decode the tokens of the last message, in older logs.

    Such lines are often repeated; only one with a changed running total has a record.
    In newer logs, other lines have the tokens, so these are noise ("by message").
    """
    noise = "event_msg/token_count"
    info = object_field(payload, "info")
    total = object_field(info, "total_token_usage")
    total_json = to_json([count_field(total, name) for name in _TOTAL_FIELDS])
    previous = state.get("counted")
    if not info or previous in (total_json, "by message"):
        return (), state, noise
    state = {**state, "counted": total_json}
    usage = _parse_usage(object_field(info, "last_token_usage"))
    if not usage or "replay" in state:
        return (), state, noise
    return (_make_usage_record(context, usage, ""),), state, ""


def _make_usage_record(context: LineContext, usage: Usage, message_id: str) -> Record:
    return context.make_record(
        "token_usage",
        "assistant",
        usage=usage,
        message_id=message_id[:_MAX_MESSAGE_ID_LENGTH],
        model=context.model,
    )


def _parse_usage(payload: dict[str, Any]) -> Usage | None:
    """Return token counts; the log's input count includes cached tokens."""
    cached = count_field(payload, "cached_input_tokens")
    usage = Usage(
        input_tokens=max(count_field(payload, "input_tokens") - cached, 0),
        output_tokens=count_field(payload, "output_tokens"),
        cache_read_tokens=cached,
        cache_write_tokens=count_field(payload, "cache_write_input_tokens"),
    )
    return usage or None
