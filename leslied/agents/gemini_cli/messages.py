"""Decode messages, thoughts, tool calls and results, under stable ids."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from leslied.agents._parsing import (
    parse_shell_result,
    parse_time,
    to_json,
)
from leslied.agents.gemini_cli.authorship import (
    ACKNOWLEDGED,
    CANCELLED,
    INTERRUPTED,
    GeminiAuthorship,
    find_steering,
    split_by_author,
)
from leslied.agents.gemini_cli.parts import (
    as_dict,
    as_dicts,
    as_text,
    format_thoughts,
    has_only_text,
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
from leslied.model.record import MAIN, SHELL, Record, SessionKey

if TYPE_CHECKING:
    from leslied.model.record import RecordType, Role

_SUBAGENT_RESULT = re.compile(
    r"Subagent '[^\n]*' finished\.\nTermination Reason: GOAL\nResult:\n(.*)", re.DOTALL
)
"""A subagent's result: lines of the client, then the report, which is group 1."""
_THINKING_BLOCK, _TOKENS_BLOCK, _OUTPUT_BLOCK, _QUEUED_BLOCK = 1, 2, 3, 4
_FIRST_CALL_BLOCK, _FIRST_UNKNOWN_BLOCK = 10, 500
"""Block numbers of a message's records, the same each time the message is written."""
_SHELL_TOOL = "run_shell_command"
_FAILED_STATUSES = ("error", "cancelled")
_FINISHED_STATUSES = ("success", *_FAILED_STATUSES)


class MessageContext(NamedTuple):
    """Session and turn of a message."""

    key: SessionKey
    scope: str
    """The session or subagent in which the message's ids are unique."""
    task: str = ""
    """For a subagent: the id of the message with its task."""
    is_repeat: bool = False
    """True if the message may repeat an earlier one, as in a checkpoint."""
    is_turn_open: bool = False
    """True if a turn was in progress when the message was written."""


def decode_message(message: dict[str, Any], context: MessageContext) -> list[Record]:
    """Return the records of one message; empty if it has no content."""
    parts = list_parts(message.get("content"))
    known_parts = [part for part in parts if is_known_part(part)]
    match message.get("type"):
        case "user":
            records = _decode_user(message, context, known_parts)
        case "gemini":
            records = _decode_gemini(message, context, known_parts)
        case "info" | "warning" | "error" as kind:
            text = parts_text(known_parts)
            records = _decode_client_message(message, context, text, kind)
        case _:
            return [
                make_record(message, context, "unknown", "system", to_json(message))
            ]
    return [*records, *_make_unknown_parts(message, context, parts)]


def _make_unknown_parts(
    message: dict[str, Any], context: MessageContext, parts: list[dict[str, Any]]
) -> list[Record]:
    """Return records with the unchanged JSON of parts of an unknown kind."""
    return [
        make_record(
            message,
            context,
            "unknown",
            "system",
            to_json(part),
            block=_FIRST_UNKNOWN_BLOCK + number,
        )
        for number, part in enumerate(parts)
        if not is_known_part(part)
    ]


def decode_summary(message: dict[str, Any], context: MessageContext) -> Record:
    """Decode the user message that summarizes everything before a compaction.

    The record has no time: a compaction on resume is not part of the previous turn.
    """
    author = GeminiAuthorship(_message_text(message), kind="compacted", note="summary")
    return replace(_make_event(message, context, author), created_at=None)


def is_acknowledgement(message: dict[str, Any]) -> bool:
    """Return whether this is the client's reply to a compaction summary."""
    return message.get("type") == "gemini" and _message_text(message) == ACKNOWLEDGED


def make_record(
    message: dict[str, Any],
    context: MessageContext,
    type_: RecordType,
    role: Role,
    content: str = "",
    **fields: Any,
) -> Record:
    """Return a record of the message; `fields` override the message's values."""
    shared: dict[str, Any] = {
        "session": context.key,
        "native_id": as_text(message.get("id")),
        "scope": context.scope,
        "created_at": parse_time(message.get("timestamp")),
        "message_id": as_text(message.get("id")),
        "is_repeat": context.is_repeat,
    }
    return Record(type=type_, role=role, content=content, **{**shared, **fields})


def _message_text(message: dict[str, Any]) -> str:
    return parts_text(list_parts(message.get("content")))


def _make_event(
    message: dict[str, Any], context: MessageContext, author: GeminiAuthorship
) -> Record:
    fields: dict[str, Any] = {"metadata": {"kind": author.kind, "note": author.note}}
    if author.note == "session_context":
        # Every start of the client writes this message again, under the same id.
        fields |= {"created_at": None, "is_repeat": True}
    return make_record(
        message, context, "system_event", "system", author.content, **fields
    )


def _decode_user(
    message: dict[str, Any], context: MessageContext, parts: list[dict[str, Any]]
) -> list[Record]:
    """Decode a prompt, a subagent's task, client text, or repeated tool results."""
    responses = split_results(parts)
    if responses:
        return _decode_responses(message, context, responses, parts)
    displayed = parts_text(list_parts(message.get("displayContent")))
    texts = [part_text(p) if "text" in p else f"\n{part_text(p)}" for p in parts]
    author = split_by_author(texts, displayed)
    if context.key.source != MAIN and not author.kind:
        is_task = context.task == as_text(message.get("id"))
        if is_task:
            author = author._replace(note="", origin="task")
        else:
            author = author._replace(note="steering", origin=None, kind="notice")
    if author.kind:
        return [_make_event(message, context, author)]
    metadata: dict[str, Any] = {"origin": author.origin}
    if author.origin == "shell":
        output = GeminiAuthorship(author.attached, kind="notice", note="output")
        event = _make_event(message, context, output)
        event = replace(event, block=_OUTPUT_BLOCK, tool_name=SHELL)
        return [_make_user_message(message, context, author.content, metadata), event]
    if author.attached:
        metadata["attached"] = author.attached
    return [_make_user_message(message, context, author.content, metadata)]


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
    responses: list[tuple[dict[str, Any], list[dict[str, Any]]]],
    parts: list[dict[str, Any]],
) -> list[Record]:
    """Decode tool results, which repeat those in the calls, and a queued prompt."""
    repeat_context = context._replace(is_repeat=True)
    records = [
        _make_result(
            message,
            repeat_context,
            _CallIdentity(
                as_text(response.get("id")), as_text(response.get("name")), number
            ),
            response_text(response, extra_parts),
            is_error="error" in as_dict(response.get("response")),
        )
        for number, (response, extra_parts) in enumerate(responses)
    ]
    steering = find_steering("\n".join(as_text(part.get("text")) for part in parts))
    if steering:
        message_record = _make_user_message(
            message, context, steering, {"origin": "queued"}
        )
        records.append(replace(message_record, block=_QUEUED_BLOCK))
    return records


def _decode_gemini(
    message: dict[str, Any], context: MessageContext, parts: list[dict[str, Any]]
) -> list[Record]:
    """Decode thoughts, text and calls in this order.

    The record of the thoughts or, without thoughts, that of the text has the usage.
    """
    call_records = _decode_calls(message, context, parts)
    text_parts = [p for p in parts if not is_thought(p) and "functionCall" not in p]
    text, thoughts = parts_text(text_parts), format_thoughts(message, parts)
    if text in (ACKNOWLEDGED, INTERRUPTED) and not message.get("tokens"):
        return [
            _make_event(
                message, context, GeminiAuthorship(text, kind="notice", note="client")
            )
        ]
    make = partial(make_record, message, context, model=as_text(message.get("model")))
    records: list[Record] = []
    if thoughts:
        records.append(make("thinking", "assistant", thoughts, block=_THINKING_BLOCK))
    if text:
        metadata = {} if call_records else _find_turn_end(message, context, text)
        records.append(make("assistant_message", "assistant", text, metadata=metadata))
    usage = parse_usage(message.get("tokens"))
    if usage and not records:
        # The usage needs a record of its own: that of a call could not have it, because
        # the first version of the message has no call yet.
        records.append(make("token_usage", "assistant", block=_TOKENS_BLOCK))
    if records:
        records[0] = replace(records[0], usage=usage)
    return [*records, *call_records]


def _find_turn_end(
    message: dict[str, Any], context: MessageContext, text: str
) -> dict[str, str]:
    """Return metadata with a stop reason if a turn may end after this answer."""
    if has_only_text(message.get("tokens"), text):
        return {"stop_reason": "end_turn"}
    # A subagent's end has a line of its own; a session's log may end with the answer.
    return {"stop_reason": "unknown"} if context.key.source == MAIN else {}


class _CallIdentity(NamedTuple):
    """Id, tool and position of a call; the id may be empty."""

    id: str
    name: str
    number: int

    def to_fields(self, prefix: str, offset: int) -> dict[str, Any]:
        """Return the record fields that identify the call or its result.

        `prefix` tells call and result apart; without a call id, `offset` does.
        """
        fields: dict[str, Any] = {"tool_call_id": self.id, "tool_name": self.name}
        if self.id:
            return {**fields, "native_id": f"{prefix}:{self.id}"}
        return {**fields, "block": _FIRST_CALL_BLOCK + 2 * self.number + offset}


def _decode_calls(
    message: dict[str, Any], context: MessageContext, parts: list[dict[str, Any]]
) -> list[Record]:
    """Decode `toolCalls` with results, or a checkpoint's calls without results."""
    calls = as_dicts(message.get("toolCalls"))
    call_parts = [as_dict(part.get("functionCall")) for part in parts]
    records: list[Record] = []
    for number, call in enumerate(calls or [part for part in call_parts if part]):
        responses = split_results(list_parts(call.get("result")))
        ids = [call.get("id"), *(response.get("id") for response, _ in responses)]
        name = as_text(call.get("name"))
        identity = _CallIdentity(
            next(filter(None, map(as_text, ids)), ""), name, number
        )
        records += _decode_call(message, context, call, identity)
    return records


def _decode_call(
    message: dict[str, Any],
    context: MessageContext,
    call: dict[str, Any],
    identity: _CallIdentity,
) -> list[Record]:
    """Decode a call, its result if there is one, and the link to its subagent."""
    arguments = call.get("args")
    fields = {
        **identity.to_fields("call", 0),
        "tool_input": "" if arguments is None else to_json(arguments),
        "model": as_text(message.get("model")),
    }
    records = [make_record(message, context, "tool_use", "assistant", **fields)]
    status, finished_at = call.get("status"), parse_time(call.get("timestamp"))
    if call.get("result") or status in _FINISHED_STATUSES:
        text, is_error = result_text(call, identity.id), status in _FAILED_STATUSES
        record = _make_result(message, context, identity, text, is_error=is_error)
        records.append(replace(record, created_at=finished_at or record.created_at))
    if as_text(call.get("agentId")):
        records = [_with_report(record) for record in records]
        records.append(_link_subagent(context, call, identity))
    return records


def _with_report(record: Record) -> Record:
    """Add the report to a subagent's result if the subagent finished its task."""
    match = _SUBAGENT_RESULT.fullmatch(record.content)
    if not match:
        return record
    return replace(record, metadata={**record.metadata, "report": match[1]})


def _make_result(
    message: dict[str, Any],
    context: MessageContext,
    identity: _CallIdentity,
    text: str,
    *,
    is_error: bool,
) -> Record:
    metadata: dict[str, Any] = {"is_error": True} if is_error else {}
    if identity.name == _SHELL_TOOL:
        text, shell_metadata = parse_shell_result(text)
        metadata |= shell_metadata
    fields = {**identity.to_fields("result", 1), "metadata": metadata}
    return make_record(message, context, "tool_result", "tool", text, **fields)


def _link_subagent(
    context: MessageContext, call: dict[str, Any], identity: _CallIdentity
) -> Record:
    """Return the link between a subagent and the call that started it."""
    child = as_text(call.get("agentId"))
    requested_type = as_dict(call.get("args")).get("agent_name")
    displayed_type = as_dict(call.get("resultDisplay")).get("agentName")
    parent = context.key.source.partition(":")[2]
    metadata = {
        "kind": "subagent_linked",
        "tool_call_id": identity.id,
        "agent_type": as_text(requested_type)
        or as_text(displayed_type)
        or identity.name,
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
    """Decode a message of the client; an error during a turn ends the turn."""
    if not text:
        return []
    if kind == "error":
        role: Role = "assistant" if context.is_turn_open else "system"
        return [make_record(message, context, "error", role, text)]
    if text == CANCELLED:
        author = GeminiAuthorship(text, kind="turn_ended", note="interrupt")
        return [_make_event(message, context, author)]
    return [
        _make_event(message, context, GeminiAuthorship(text, kind="notice", note=kind))
    ]
