"""Decode an event of OpenHands into records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import structs

from leslied.agents._entry import (
    LogEntry,
    as_dict,
    as_list,
    as_text,
    format_attachment,
)
from leslied.agents._parsing import mark_exit_code, to_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.record import Record

    Body = dict[str, Any]

_TEXT_BLOCK, _CALL_BLOCK = 500, 501
"""Block numbers of records that are not a thought."""
_NOISE = frozenset(
    {
        "CondensationRequest",
        "ConversationStateUpdateEvent",
        "LLMCompletionLogEvent",
        "StreamingDeltaEvent",
        "TokenEvent",
    }
)
_NOISE_OBSERVATIONS = frozenset({"FinishObservation", "ThinkObservation"})
"""Observations that repeat the text of their action, or only say that it was read."""


def is_noise(kind: str, body: Body) -> bool:
    """Return whether an event is not worth a record."""
    observation = as_dict(body.get("observation"))
    is_repeated = as_text(observation.get("kind")) in _NOISE_OBSERVATIONS
    return kind in _NOISE or (kind == "ObservationEvent" and is_repeated)


def decode_event(event: LogEntry, kind: str, body: Body) -> Iterator[Record]:
    """Yield the records of an event; none for noise and for unknown kinds."""
    match kind:
        case "MessageEvent":
            yield from _decode_message(event, body)
        case "ActionEvent":
            yield from _decode_action(event, body)
        case "ObservationEvent" if not is_noise(kind, body):
            yield _decode_observation(event, body)
        case "UserRejectObservation" | "AgentErrorEvent":
            yield _decode_failure(event, body)
        case "ACPToolCallEvent":
            yield _decode_foreign_call(event, body)
        case _:
            yield from _decode_notice(event, kind, body)


def _decode_notice(event: LogEntry, kind: str, body: Body) -> Iterator[Record]:
    """Decode an event that is neither a message nor a call."""
    match kind:
        case "SystemPromptEvent":
            parts = [body.get("system_prompt"), body.get("dynamic_context")]
            yield event.make_event("context", join_texts(parts), note="system_prompt")
        case "Condensation" | "CondensationSummaryEvent":
            yield event.make_event("compacted", as_text(body.get("summary")))
        case "ConversationErrorEvent":
            texts = _list_texts(body, "code", "detail")
            yield event.make_record("error", "assistant", content=": ".join(texts))
        case "PauseEvent":
            yield event.make_event("turn_ended", note="interrupt")
        case "HookExecutionEvent":
            yield _decode_hook(event, body)


def _decode_message(event: LogEntry, body: Body) -> Iterator[Record]:
    """Decode a message of a person, the agent or a hook."""
    message = as_dict(body.get("llm_message"))
    text = join_texts(message.get("content"))
    if body.get("source") == "agent":
        yield from _decode_reasoning(event, message)
        answer = event.make_answer(text, block=_TEXT_BLOCK, stop_reason="end_turn")
        yield _with_request_id(answer, body)
    elif body.get("source") == "user":
        prompt = event.make_prompt(text)
        # The texts of skills that the prompt's words activated.
        if attached := join_texts(body.get("extended_content")):
            metadata = {**prompt.metadata, "attached": attached}
            prompt = structs.replace(prompt, metadata=metadata)
        yield prompt
    else:
        yield event.make_event("context", text, note=as_text(body.get("source")))


def _decode_action(event: LogEntry, body: Body) -> Iterator[Record]:
    """Decode a call, and `thought`, the text that the agent wrote before it."""
    yield from (_with_request_id(each, body) for each in _decode_reasoning(event, body))
    if text := join_texts(body.get("thought")).strip():
        yield _with_request_id(event.make_answer(text, block=_TEXT_BLOCK), body)
    action = as_dict(body.get("action"))
    match action.get("kind"):
        case "FinishAction":
            text = as_text(action.get("message"))
            record = event.make_answer(text, block=_CALL_BLOCK, stop_reason="end_turn")
        case "ThinkAction":
            text = as_text(action.get("thought"))
            record = event.make_thinking(text, block=_CALL_BLOCK)
        case _:
            call = as_dict(body.get("tool_call"))
            name = as_text(body.get("tool_name")) or as_text(call.get("name"))
            call_id = as_text(body.get("tool_call_id"))
            arguments = as_text(call.get("arguments")) or action
            record = event.make_call(name, call_id, arguments, block=_CALL_BLOCK)
    yield _with_request_id(record, body)


def _decode_reasoning(event: LogEntry, body: Body) -> Iterator[Record]:
    """Decode the reasoning of a message or action, which has one of three forms."""
    blocks = as_list(body.get("thinking_blocks"))
    texts = [as_text(as_dict(block).get("thinking")) for block in blocks]
    item = as_dict(body.get("responses_reasoning_item"))
    summary = [as_text(text) for text in as_list(item.get("summary"))]
    if not any(texts):
        texts = [as_text(body.get("reasoning_content"))]
    if not any(texts):
        texts = ["\n\n".join(summary)]
    for block, text in enumerate(texts[:_TEXT_BLOCK]):
        if text.strip():
            yield event.make_thinking(text, block=block)


def _decode_observation(event: LogEntry, body: Body) -> Record:
    """Decode a call's result; put a failed command's exit code before its output."""
    observation = as_dict(body.get("observation"))
    code = observation.get("exit_code")
    # The code of a command that still runs is -1.
    text, facts = mark_exit_code(
        join_texts(observation.get("content")), None if code == -1 else code
    )
    if observation.get("is_error") is True:
        facts["is_error"] = True
    name, call_id = (as_text(body.get(key)) for key in ("tool_name", "tool_call_id"))
    return event.make_result(name, call_id, text, **facts)


def _decode_failure(event: LogEntry, body: Body) -> Record:
    """Decode the result of a call that was rejected or could not be made."""
    text = as_text(body.get("rejection_reason")) or as_text(body.get("error"))
    name, call_id = (as_text(body.get(key)) for key in ("tool_name", "tool_call_id"))
    return event.make_result(name, call_id, text, is_error=True)


def _decode_foreign_call(event: LogEntry, body: Body) -> Record:
    """Decode a call of an agent that OpenHands runs; each change of it is an event."""
    call_id, title = as_text(body.get("tool_call_id")), as_text(body.get("title"))
    if body.get("status") not in ("completed", "failed"):
        return event.make_call(title, call_id, body.get("raw_input"))
    output = body.get("raw_output") or body.get("content")
    text = output if isinstance(output, str) else to_json(output)
    facts = {"is_error": True} if body.get("is_error") is True else {}
    return event.make_result(title, call_id, text, **facts)


def _decode_hook(event: LogEntry, body: Body) -> Record:
    """Decode a hook that ran, with the texts that it added to the conversation."""
    texts = _list_texts(body, "additional_context", "reason", "error", "stderr")
    text = "\n\n".join(texts) or as_text(body.get("hook_command"))
    note = f"hook {as_text(body.get('hook_event_type'))}".strip()
    return event.make_event("notice", text, note=note)


def _list_texts(body: Body, *names: str) -> list[str]:
    """Return the texts of these fields that are not empty."""
    return [text for name in names if (text := as_text(body.get(name)))]


def _with_request_id(record: Record, body: Body) -> Record:
    """Return the record with the id of the request that it answers."""
    return structs.replace(record, message_id=as_text(body.get("llm_response_id")))


def join_texts(content: object) -> str:
    """Return the texts of a message, with a placeholder for each image."""
    if isinstance(content, str):
        return content
    parts = [as_dict(part) for part in as_list(content)]
    return "\n\n".join(text for part in parts for text in _iter_texts(part) if text)


def _iter_texts(part: Body) -> Iterator[str]:
    yield as_text(part.get("text"))
    for url in as_list(part.get("image_urls")):
        head, _, data = as_text(url).partition(";base64,")
        yield format_attachment("image", head.removeprefix("data:"), data)
