"""Messages: what was said, thought, called and answered, under ids that last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from leslied.agents._parsing import parse_time, to_json
from leslied.agents.gemini_cli.parts import (
    is_plain,
    is_thought,
    mapping,
    objects,
    part_text,
    parts_of,
    response_text,
    result_of,
    split_results,
    tell_thoughts,
    text_of,
    usage_of,
    words,
)
from leslied.agents.gemini_cli.speech import (
    ACKNOWLEDGED,
    CANCELLED,
    INTERRUPTED,
    Speech,
    hear,
    hear_steering,
)
from leslied.model.record import MAIN, Record, SessionKey

if TYPE_CHECKING:
    from leslied.model.record import RecordType, Role

THINKING, TOKENS, OUTPUT, QUEUED, CALLS, STRANGE = 1, 2, 3, 4, 10, 500
"""Block numbers: a message sent again has the same parts under the same numbers."""
_FAILED = ("error", "cancelled")
_ANSWERED = ("success", *_FAILED)


class Frame(NamedTuple):
    """Where a message stands."""

    key: SessionKey
    scope: str
    """Its ids are unique in this session or subagent."""
    task: str = ""
    """The message that holds the task, where this is a subagent."""
    is_repeat: bool = False
    is_open: bool = False
    """Whether a turn was going on when the message came."""


def decode_message(message: dict[str, Any], frame: Frame) -> list[Record]:
    """The records of one message; none where it says nothing."""
    parts = parts_of(message.get("content"))
    plain = [part for part in parts if is_plain(part)]
    match message.get("type"):
        case "user":
            records = _decode_user(message, frame, plain)
        case "gemini":
            records = _decode_gemini(message, frame, plain)
        case "info" | "warning" | "error" as kind:
            records = _decode_note(message, frame, text_of(plain), kind)
        case _:
            return [make(message, frame, "unknown", "system", to_json(message))]
    return [*records, *_keep_strange(message, frame, parts)]


def _keep_strange(
    message: dict[str, Any], frame: Frame, parts: list[dict[str, Any]]
) -> list[Record]:
    """Parts of a kind nobody knows yet, as they stood."""
    return [
        make(message, frame, "unknown", "system", to_json(part), block=STRANGE + number)
        for number, part in enumerate(parts)
        if not is_plain(part)
    ]


def decode_summary(message: dict[str, Any], frame: Frame) -> Record:
    """The user message that stands for all that was said before a compaction.

    It has no time: a compaction at a resume is no part of the turn before it.
    """
    speech = Speech(_say(message), kind="compacted", note="summary")
    return replace(_make_event(message, frame, speech), created_at=None)


def is_acknowledgement(message: dict[str, Any]) -> bool:
    """Whether the client has the model thank for a compaction's summary."""
    return message.get("type") == "gemini" and _say(message) == ACKNOWLEDGED


def make(
    message: dict[str, Any],
    frame: Frame,
    type_: RecordType,
    role: Role,
    content: str = "",
    **more: Any,
) -> Record:
    """A record of the message; `more` replaces what all its records share."""
    shared: dict[str, Any] = {
        "session": frame.key,
        "native_id": words(message.get("id")),
        "scope": frame.scope,
        "created_at": parse_time(message.get("timestamp")),
        "message_id": words(message.get("id")),
        "is_repeat": frame.is_repeat,
    }
    return Record(type=type_, role=role, content=content, **{**shared, **more})


def _say(message: dict[str, Any]) -> str:
    return text_of(parts_of(message.get("content")))


def _make_event(message: dict[str, Any], frame: Frame, speech: Speech) -> Record:
    known: dict[str, Any] = {"metadata": {"kind": speech.kind, "note": speech.note}}
    if speech.note == "session_context":
        # Every start of the client tells it anew, under the same id.
        known |= {"created_at": None, "is_repeat": True}
    return make(message, frame, "system_event", "system", speech.content, **known)


def _decode_user(
    message: dict[str, Any], frame: Frame, parts: list[dict[str, Any]]
) -> list[Record]:
    """A prompt, a subagent's task, the client's words, or tool results told again."""
    answers = split_results(parts)
    if answers:
        return _decode_responses(message, frame, answers, parts)
    shown = text_of(parts_of(message.get("displayContent")))
    texts = [part_text(p) if "text" in p else f"\n{part_text(p)}" for p in parts]
    speech = hear(texts, shown)
    if frame.key.source != MAIN and not speech.kind:
        is_task = frame.task == words(message.get("id"))
        known = {"origin": "task"} if is_task else {"origin": None, "kind": "notice"}
        speech = speech._replace(note="" if is_task else "steering", **known)
    if speech.kind:
        return [_make_event(message, frame, speech)]
    metadata: dict[str, Any] = {"origin": speech.origin}
    if speech.origin == "shell":
        output = Speech(speech.attached, kind="notice", note="output")
        event = replace(_make_event(message, frame, output), block=OUTPUT)
        return [_make_said(message, frame, speech.content, metadata), event]
    if speech.attached:
        metadata["attached"] = speech.attached
    return [_make_said(message, frame, speech.content, metadata)]


def _make_said(
    message: dict[str, Any], frame: Frame, text: str, metadata: dict[str, Any]
) -> Record:
    return make(message, frame, "user_message", "user", text, metadata=metadata)


def _decode_responses(
    message: dict[str, Any],
    frame: Frame,
    answers: list[tuple[dict[str, Any], list[dict[str, Any]]]],
    parts: list[dict[str, Any]],
) -> list[Record]:
    """What is sent back to the model: the calls themselves told it before."""
    again = frame._replace(is_repeat=True)
    records = [
        _make_result(
            message,
            again,
            _Call(words(response.get("id")), words(response.get("name")), number),
            response_text(response, more),
            is_error="error" in mapping(response.get("response")),
        )
        for number, (response, more) in enumerate(answers)
    ]
    steering = hear_steering("\n".join(words(part.get("text")) for part in parts))
    if steering:
        said = _make_said(message, frame, steering, {"origin": "queued"})
        records.append(replace(said, block=QUEUED))
    return records


def _decode_gemini(
    message: dict[str, Any], frame: Frame, parts: list[dict[str, Any]]
) -> list[Record]:
    """Thoughts, words and calls, in this order; tokens stand on the first of them."""
    calls = _decode_calls(message, frame, parts)
    spoken = [p for p in parts if not is_thought(p) and "functionCall" not in p]
    text, thoughts = text_of(spoken), tell_thoughts(message, parts)
    if text in (ACKNOWLEDGED, INTERRUPTED) and not message.get("tokens"):
        return [_make_event(message, frame, Speech(text, None, "notice", "client"))]
    known: dict[str, Any] = {"model": words(message.get("model"))}
    said: list[Record] = []
    if thoughts:
        more = {**known, "block": THINKING}
        said.append(make(message, frame, "thinking", "assistant", thoughts, **more))
    if text:
        more = {**known, "metadata": {} if calls else {"stop_reason": "end_turn"}}
        said.append(
            make(message, frame, "assistant_message", "assistant", text, **more)
        )
    usage = usage_of(message.get("tokens"))
    if usage and not said:
        # The message comes first without the calls it makes: they stand elsewhere.
        known["block"] = TOKENS
        said.append(make(message, frame, "token_usage", "assistant", **known))
    if said:
        said[0] = replace(said[0], usage=usage)
    return [*said, *calls]


class _Call(NamedTuple):
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
    message: dict[str, Any], frame: Frame, parts: list[dict[str, Any]]
) -> list[Record]:
    """Calls with their results; a checkpoint has them as parts, without results."""
    told = objects(message.get("toolCalls"))
    inner = [mapping(part.get("functionCall")) for part in parts]
    records: list[Record] = []
    for number, call in enumerate(told or [each for each in inner if each]):
        answers = split_results(parts_of(call.get("result")))
        ids = [call.get("id"), *(response.get("id") for response, _ in answers)]
        name = words(call.get("name"))
        known = _Call(next(filter(None, map(words, ids)), ""), name, number)
        records += _decode_call(message, frame, call, known)
    return records


def _decode_call(
    message: dict[str, Any], frame: Frame, call: dict[str, Any], known: _Call
) -> list[Record]:
    """The call, its result once there is one, and the subagent it started."""
    arguments = call.get("args")
    more = {
        **known.identify("call", 0),
        "tool_input": "" if arguments is None else to_json(arguments),
        "model": words(message.get("model")),
    }
    records = [make(message, frame, "tool_use", "assistant", **more)]
    status, at = call.get("status"), parse_time(call.get("timestamp"))
    if call.get("result") or status in _ANSWERED:
        text, is_error = result_of(call, known.id), status in _FAILED
        record = _make_result(message, frame, known, text, is_error=is_error)
        records.append(replace(record, created_at=at or record.created_at))
    if words(call.get("agentId")):
        records.append(_link(frame, call, known))
    return records


def _make_result(
    message: dict[str, Any], frame: Frame, call: _Call, text: str, *, is_error: bool
) -> Record:
    more = {
        **call.identify("result", 1),
        "metadata": {"is_error": True} if is_error else {},
    }
    return make(message, frame, "tool_result", "tool", text, **more)


def _link(frame: Frame, call: dict[str, Any], known: _Call) -> Record:
    """The subagent hangs under the call that started it."""
    child = words(call.get("agentId"))
    kind = mapping(call.get("args")).get("agent_name")
    shown = mapping(call.get("resultDisplay")).get("agentName")
    parent = frame.key.source.partition(":")[2]
    metadata = {
        "kind": "subagent_linked",
        "tool_call_id": known.id,
        "agent_type": words(kind) or words(shown) or known.name,
        **({"parent_agent": parent} if parent else {}),
        "is_finished": True,
    }
    return Record(
        session=SessionKey(frame.key.agent, frame.key.session_id, f"subagent:{child}"),
        type="system_event",
        role="system",
        native_id=f"link:{child}",
        scope=frame.key.session_id,
        metadata=metadata,
    )


def _decode_note(
    message: dict[str, Any], frame: Frame, text: str, kind: str
) -> list[Record]:
    """What the client showed the person; an error in mid-turn ends the turn."""
    if not text:
        return []
    if kind == "error":
        role: Role = "assistant" if frame.is_open else "system"
        return [make(message, frame, "error", role, text)]
    if text == CANCELLED:
        speech = Speech(text, kind="turn_ended", note="interrupt")
        return [_make_event(message, frame, speech)]
    return [_make_event(message, frame, Speech(text, kind="notice", note=kind))]
