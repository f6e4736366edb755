"""Events: turns that start and end, tokens, subagents, and the client's notices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.agents._parsing import to_json
from leslied.agents.codex.place import id_in
from leslied.agents.codex.wire import count_in, list_in, object_in, text_in
from leslied.model.record import Usage

if TYPE_CHECKING:
    from leslied.agents.codex.items import Outcome
    from leslied.agents.codex.place import Here
    from leslied.agents.codex.wire import Line
    from leslied.model.record import Record, Role

_CANCELLED = ("interrupted", "replaced")


def decode_event(line: Line, here: Here, state: dict[str, Any]) -> Outcome:
    """What one event means; nothing where nobody knows its type."""
    told = line.payload
    match line.kind:
        case "task_started" | "turn_started":
            return (), {**state, "turn": "open"}, f"event_msg/{line.kind}"
        case "task_complete" | "turn_complete":
            return _end_turn(told, here, state)
        case "turn_aborted":
            return _abort_turn(told, here, state)
        case "token_count":
            return _count(told, here, state)
        case "item_completed":
            return _decode_turn_item(line, here, state)
        case "collab_agent_spawn_end" | "sub_agent_activity":
            records = _link(told, here)
            return records, state, "" if records else f"event_msg/{line.kind}"
        case "error" | "stream_error":
            return _fail(told, here, state, line.kind)
    return _tell(told, here), state, ""


def _tell(told: dict[str, Any], here: Here) -> tuple[Record, ...]:
    """Names, goals, warnings and reviews: a word or two each."""
    kind = text_in(told, "type")
    match kind:
        case "thread_name_updated":
            name = text_in(told, "thread_name")
            return (here.tell("title", name, title_kind="custom"),)
        case "thread_rolled_back":
            return (here.tell("rewound", turns=count_in(told, "num_turns")),)
        case "thread_goal_updated":
            goal = text_in(object_in(told, "goal"), "objective")
            return (here.tell("context", goal, note="goal"),)
        case "warning" | "guardian_warning" | "deprecation_notice":
            text = text_in(told, "message") or text_in(told, "summary")
            return (here.tell("notice", text, note=kind),)
        case "entered_review_mode" | "EnteredReviewMode":
            hint = text_in(told, "user_facing_hint")
            return (here.tell("notice", hint, note="review"),)
        case "exited_review_mode" | "ExitedReviewMode":
            output = object_in(told, "review_output")
            text = text_in(output, "overall_explanation")
            return (here.tell("notice", text, note="reviewed"),)
    return ()


def _end_turn(told: dict[str, Any], here: Here, state: dict[str, Any]) -> Outcome:
    """The turn is over, or it broke off with an error."""
    failure, is_told = object_in(told, "error"), state.get("failed")
    state = {n: v for n, v in state.items() if n not in ("turn", "failed")}
    if is_told and not text_in(told, "last_agent_message"):
        return (), state, "event_msg/task_complete"
    if failure:
        return (_error(failure, here),), state, ""
    milliseconds = count_in(told, "duration_ms") or None
    return (here.tell("turn_ended", duration_ms=milliseconds),), state, ""


def _abort_turn(told: dict[str, Any], here: Here, state: dict[str, Any]) -> Outcome:
    reason = text_in(told, "reason")
    note = "interrupt" if reason in _CANCELLED else reason[:60]
    state = {n: v for n, v in state.items() if n not in ("turn", "failed")}
    return (here.tell("turn_ended", note=note, reason=reason[:60]),), state, ""


def _fail(
    told: dict[str, Any], here: Here, state: dict[str, Any], kind: str
) -> Outcome:
    """An error; a broken stream is tried again and ends nothing."""
    record = _error(told, here, is_end=kind == "error")
    return (record,), {**state, "failed": True} if kind == "error" else state, ""


def _error(told: dict[str, Any], here: Here, *, is_end: bool = True) -> Record:
    info = told.get("codex_error_info")
    name = next(iter(info), "") if isinstance(info, dict) else info
    name = name[:100] if isinstance(name, str) else ""
    metadata = {"error": name} if name else {}
    text = text_in(told, "message") or name or "The turn failed."
    role: Role = "assistant" if is_end else "system"
    return here.make("error", role, text, metadata=metadata)


def _decode_turn_item(line: Line, here: Here, state: dict[str, Any]) -> Outcome:
    """A turn's items repeat the response items; subagents are told only here."""
    item = line.item
    match text_in(item, "type"):
        case "CollabAgentToolCall" | "SubAgentActivity" as kind:
            records = _link(item, here)
            return records, state, "" if records else f"item_completed/{kind}"
        case "EnteredReviewMode" | "ExitedReviewMode":
            return _tell(item, here), state, ""
    return (), state, ""


def _link(told: dict[str, Any], here: Here) -> tuple[Record, ...]:
    """Which subagent a call started; only a start says so."""
    call = text_in(told, "call_id") or text_in(told, "event_id") or text_in(told, "id")
    child = id_in(told, "new_thread_id")
    if text_in(told, "kind") == "started":
        child = id_in(told, "agent_thread_id")
    elif text_in(told, "tool") == "spawn_agent":
        reached = list_in(told, "receiver_thread_ids")
        child = id_in({"first": reached[0]}, "first") if reached else ""
    if not child:
        return ()
    return (here.link(child, "spawn", tool_call_id=call),)


def record_usage(line: Line, here: Here, state: dict[str, Any]) -> Outcome:
    """The tokens of one API message, by its own id."""
    told = line.payload
    thread = text_in(told, "thread_id")
    state = {**state, "counted": "by message"}
    usage = _usage_of(object_in(told, "usage"))
    if not usage or (thread and thread != here.thread):
        return (), state, line.type
    message = text_in(told, "response_id")
    return (_tokens(here, usage, message),), state, ""


def _count(told: dict[str, Any], here: Here, state: dict[str, Any]) -> Outcome:
    """Older logs tell the running total, often twice, and the last message's part."""
    noise = "event_msg/token_count"
    info = object_in(told, "info")
    total = object_in(info, "total_token_usage")
    mark = to_json([count_in(total, name) for name in _COUNTED])
    before = state.get("counted")
    if not info or before in (mark, "by message"):
        return (), state, noise
    state = {**state, "counted": mark}
    usage = _usage_of(object_in(info, "last_token_usage"))
    if not usage or "replay" in state:
        return (), state, noise
    return (_tokens(here, usage, ""),), state, ""


_COUNTED = ("input_tokens", "cached_input_tokens", "output_tokens", "total_tokens")


def _tokens(here: Here, usage: Usage, message: str) -> Record:
    return here.make(
        "token_usage",
        "assistant",
        usage=usage,
        message_id=message[:200],
        model=here.model,
    )


def _usage_of(told: dict[str, Any]) -> Usage | None:
    """Tokens; what the log calls input holds the cached ones too."""
    cached = count_in(told, "cached_input_tokens")
    usage = Usage(
        input_tokens=max(count_in(told, "input_tokens") - cached, 0),
        output_tokens=count_in(told, "output_tokens"),
        cache_read_tokens=cached,
        cache_write_tokens=count_in(told, "cache_write_input_tokens"),
    )
    return usage or None
