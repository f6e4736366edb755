"""Messages: what was said, thought, called and answered, under ids that last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from leslied.agents._parsing import parse_time, to_json
from leslied.agents.gemini_cli.authorship import (
    ACKNOWLEDGED,
    CANCELLED,
    INTERRUPTED,
    GeminiAuthorship,
    classify_author,
    find_steering,
)
from leslied.agents.gemini_cli.parts import (
    as_dict,
    as_dicts,
    as_text,
    format_thoughts,
    is_known_part,
    is_thought,
    list_parts,
    parse_usage,
    part_text,
    parts_text,
    response_text,
    result_text,
    split_results,
)
from leslied.model.record import MAIN, Record, SessionKey

if TYPE_CHECKING:
    from leslied.model.record import RecordType, Role

THINKING, TOKENS, OUTPUT, QUEUED, CALLS, UNKNOWN_PARTS = 1, 2, 3, 4, 10, 500
"""Block numbers: a message sent again has the same parts under the same numbers."""
_FAILED_STATUSES = ("error", "cancelled")
_FINISHED_STATUSES = ("success", *_FAILED_STATUSES)


class MessageContext(NamedTuple):
    """Where a message stands."""

    key: SessionKey
    scope: str
    """Its ids are unique in this session or subagent."""
    task: str = ""
    """The message that holds the task, where this is a subagent."""
    is_repeat: bool = False
    is_open: bool = False
    """Whether a turn was going on when the message came."""


def decode_message(message: dict[str, Any], context: MessageContext) -> list[Record]:
    """The records of one message; none where it says nothing."""
    parts = list_parts(message.get("content"))
    plain = [part for part in parts if is_known_part(part)]
    match message.get("type"):
        case "user":
            records = _decode_user(message, context, plain)
        case "gemini":
            records = _decode_gemini(message, context, plain)
        case "info" | "warning" | "error" as kind:
            records = _decode_client_message(message, context, parts_text(plain), kind)
        case _:
            return [
                make_record(message, context, "unknown", "system", to_json(message))
            ]
    return [*records, *_make_unknown_parts(message, context, parts)]


def _make_unknown_parts(
    message: dict[str, Any], context: MessageContext, parts: list[dict[str, Any]]
) -> list[Record]:
    """Parts of a kind nobody knows yet, as they stood."""
    return [
        make_record(
            message,
            context,
            "unknown",
            "system",
            to_json(part),
            block=UNKNOWN_PARTS + number,
        )
        for number, part in enumerate(parts)
        if not is_known_part(part)
    ]


def decode_summary(message: dict[str, Any], context: MessageContext) -> Record:
    """The user message that stands for all that was said before a compaction.

    It has no time: a compaction at a resume is no part of the turn before it.
    """
    speech = GeminiAuthorship(_message_text(message), kind="compacted", note="summary")
    return replace(_make_event(message, context, speech), created_at=None)


def is_acknowledgement(message: dict[str, Any]) -> bool:
    """Whether the client has the model thank for a compaction's summary."""
    return message.get("type") == "gemini" and _message_text(message) == ACKNOWLEDGED


def make_record(
    message: dict[str, Any],
    context: MessageContext,
    type_: RecordType,
    role: Role,
    content: str = "",
    **more: Any,
) -> Record:
    """A record of the message; `more` replaces what all its records share."""
    shared: dict[str, Any] = {
        "session": context.key,
        "native_id": as_text(message.get("id")),
        "scope": context.scope,
        "created_at": parse_time(message.get("timestamp")),
        "message_id": as_text(message.get("id")),
        "is_repeat": context.is_repeat,
    }
    return Record(type=type_, role=role, content=content, **{**shared, **more})


def _message_text(message: dict[str, Any]) -> str:
    return parts_text(list_parts(message.get("content")))


def _make_event(
    message: dict[str, Any], context: MessageContext, speech: GeminiAuthorship
) -> Record:
    known: dict[str, Any] = {"metadata": {"kind": speech.kind, "note": speech.note}}
    if speech.note == "session_context":
        # Every start of the client tells it anew, under the same id.
        known |= {"created_at": None, "is_repeat": True}
    return make_record(
        message, context, "system_event", "system", speech.content, **known
    )


def _decode_user(
    message: dict[str, Any], context: MessageContext, parts: list[dict[str, Any]]
) -> list[Record]:
    """A prompt, a subagent's task, the client's words, or tool results told again."""
    answers = split_results(parts)
    if answers:
        return _decode_responses(message, context, answers, parts)
    shown = parts_text(list_parts(message.get("displayContent")))
    texts = [part_text(p) if "text" in p else f"\n{part_text(p)}" for p in parts]
    speech = classify_author(texts, shown)
    if context.key.source != MAIN and not speech.kind:
        is_task = context.task == as_text(message.get("id"))
        known = {"origin": "task"} if is_task else {"origin": None, "kind": "notice"}
        speech = speech._replace(note="" if is_task else "steering", **known)
    if speech.kind:
        return [_make_event(message, context, speech)]
    metadata: dict[str, Any] = {"origin": speech.origin}
    if speech.origin == "shell":
        output = GeminiAuthorship(speech.attached, kind="notice", note="output")
        event = replace(_make_event(message, context, output), block=OUTPUT)
        return [_make_user_message(message, context, speech.content, metadata), event]
    if speech.attached:
        metadata["attached"] = speech.attached
    return [_make_user_message(message, context, speech.content, metadata)]


def _make_user_message(
    message: dict[str, Any],
    context: MessageContext,
    text: str,
    metadata: dict[str, Any],
) -> Record:
    return make_record(
        message, context, "user_message", "user", text, metadata=metadata
    )


def _decode_responses(
    message: dict[str, Any],
    context: MessageContext,
    answers: list[tuple[dict[str, Any], list[dict[str, Any]]]],
    parts: list[dict[str, Any]],
) -> list[Record]:
    """What is sent back to the model: the calls themselves told it before."""
    again = context._replace(is_repeat=True)
    records = [
        _make_result(
            message,
            again,
            _GeminiCall(
                as_text(response.get("id")), as_text(response.get("name")), number
            ),
            response_text(response, more),
            is_error="error" in as_dict(response.get("response")),
        )
        for number, (response, more) in enumerate(answers)
    ]
    steering = find_steering("\n".join(as_text(part.get("text")) for part in parts))
    if steering:
        said = _make_user_message(message, context, steering, {"origin": "queued"})
        records.append(replace(said, block=QUEUED))
    return records


def _decode_gemini(
    message: dict[str, Any], context: MessageContext, parts: list[dict[str, Any]]
) -> list[Record]:
    """Thoughts, words and calls, in this order; tokens stand on the first of them."""
    calls = _decode_calls(message, context, parts)
    spoken = [p for p in parts if not is_thought(p) and "functionCall" not in p]
    text, thoughts = parts_text(spoken), format_thoughts(message, parts)
    if text in (ACKNOWLEDGED, INTERRUPTED) and not message.get("tokens"):
        return [
            _make_event(
                message, context, GeminiAuthorship(text, None, "notice", "client")
            )
        ]
    known: dict[str, Any] = {"model": as_text(message.get("model"))}
    said: list[Record] = []
    if thoughts:
        more = {**known, "block": THINKING}
        said.append(
            make_record(message, context, "thinking", "assistant", thoughts, **more)
        )
    if text:
        more = {**known, "metadata": {} if calls else {"stop_reason": "end_turn"}}
        said.append(
            make_record(
                message, context, "assistant_message", "assistant", text, **more
            )
        )
    usage = parse_usage(message.get("tokens"))
    if usage and not said:
        # The message comes first without the calls it makes: they stand elsewhere.
        known["block"] = TOKENS
        said.append(make_record(message, context, "token_usage", "assistant", **known))
    if said:
        said[0] = replace(said[0], usage=usage)
    return [*said, *calls]


class _GeminiCall(NamedTuple):
    id: str
    name: str
    number: int

    def identify(self, what: str, step: int) -> dict[str, Any]:
        """Ids of its own where the log gives it one, else its place in the message."""
        known: dict[str, Any] = {"tool_call_id": self.id, "tool_name": self.name}
        if self.id:
            return {**known, "native_id": f"{what}:{self.id}"}
        return {**known, "block": CALLS + 2 * self.number + step}


def _decode_calls(
    message: dict[str, Any], context: MessageContext, parts: list[dict[str, Any]]
) -> list[Record]:
    """Calls with their results; a checkpoint has them as parts, without results."""
    told = as_dicts(message.get("toolCalls"))
    inner = [as_dict(part.get("functionCall")) for part in parts]
    records: list[Record] = []
    for number, call in enumerate(told or [each for each in inner if each]):
        answers = split_results(list_parts(call.get("result")))
        ids = [call.get("id"), *(response.get("id") for response, _ in answers)]
        name = as_text(call.get("name"))
        known = _GeminiCall(next(filter(None, map(as_text, ids)), ""), name, number)
        records += _decode_call(message, context, call, known)
    return records


def _decode_call(
    message: dict[str, Any],
    context: MessageContext,
    call: dict[str, Any],
    known: _GeminiCall,
) -> list[Record]:
    """The call, its result once there is one, and the subagent it started."""
    arguments = call.get("args")
    more = {
        **known.identify("call", 0),
        "tool_input": "" if arguments is None else to_json(arguments),
        "model": as_text(message.get("model")),
    }
    records = [make_record(message, context, "tool_use", "assistant", **more)]
    status, at = call.get("status"), parse_time(call.get("timestamp"))
    if call.get("result") or status in _FINISHED_STATUSES:
        text, is_error = result_text(call, known.id), status in _FAILED_STATUSES
        record = _make_result(message, context, known, text, is_error=is_error)
        records.append(replace(record, created_at=at or record.created_at))
    if as_text(call.get("agentId")):
        records.append(_link_subagent(context, call, known))
    return records


def _make_result(
    message: dict[str, Any],
    context: MessageContext,
    call: _GeminiCall,
    text: str,
    *,
    is_error: bool,
) -> Record:
    more = {
        **call.identify("result", 1),
        "metadata": {"is_error": True} if is_error else {},
    }
    return make_record(message, context, "tool_result", "tool", text, **more)


def _link_subagent(
    context: MessageContext, call: dict[str, Any], known: _GeminiCall
) -> Record:
    """The subagent hangs under the call that started it."""
    child = as_text(call.get("agentId"))
    kind = as_dict(call.get("args")).get("agent_name")
    shown = as_dict(call.get("resultDisplay")).get("agentName")
    parent = context.key.source.partition(":")[2]
    metadata = {
        "kind": "subagent_linked",
        "tool_call_id": known.id,
        "agent_type": as_text(kind) or as_text(shown) or known.name,
        **({"parent_agent": parent} if parent else {}),
        "is_finished": True,
    }
    return Record(
        session=SessionKey(
            context.key.agent, context.key.session_id, f"subagent:{child}"
        ),
        type="system_event",
        role="system",
        native_id=f"link:{child}",
        scope=context.key.session_id,
        metadata=metadata,
    )


def _decode_client_message(
    message: dict[str, Any], context: MessageContext, text: str, kind: str
) -> list[Record]:
    """What the client showed the person; an error in mid-turn ends the turn."""
    if not text:
        return []
    if kind == "error":
        role: Role = "assistant" if context.is_open else "system"
        return [make_record(message, context, "error", role, text)]
    if text == CANCELLED:
        speech = GeminiAuthorship(text, kind="turn_ended", note="interrupt")
        return [_make_event(message, context, speech)]
    return [
        _make_event(message, context, GeminiAuthorship(text, kind="notice", note=kind))
    ]
