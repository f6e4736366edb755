"""Decode the session updates of the Agent Client Protocol (ACP), for several agents.

An update is the `update` of a `session/update` notification. Agents store updates as
they sent them, in envelopes of their own; their adapters open the envelope, and decode
the updates that the protocol does not define. `docs/formats/grok.md` has the details.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from leslied.agents._entry import (
    LogEntry,
    as_count,
    as_dict,
    as_list,
    as_text,
    format_attachment,
)
from leslied.agents._parsing import mark_exit_code, to_json
from leslied.model.record import Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leslied.model.record import Record

    State = dict[str, Any]
    """`prompt`: if the last update was a block of a user's message, that message's
    ordinal, or `_NO_ORDINAL`; `calls`: by call id, the tool's name and the entry's
    id of each call whose arguments have not come yet."""

NOISE = frozenset({"available_commands_update", "config_option_update", "usage_update"})
"""Updates that only describe what a client can show."""
RESULT_BLOCK = 1
"""Block number of the result that comes with its call."""
_NO_ORDINAL = -1
"""State of a prompt without an ordinal."""
_CHUNKS = {
    "user_message_chunk": "user",
    "agent_message_chunk": "agent",
    "agent_thought_chunk": "thought",
}
_FINAL_STATUSES = ("completed", "failed")
_STOP_REASONS = {
    "end_turn": "end_turn",
    "refusal": "end_turn",
    "max_tokens": "max_tokens",
}
_MAX_ID_LENGTH = 100
_MAX_CALLS = 6
"""The number of calls without arguments that the decode state keeps."""


class Prompt(NamedTuple):
    """Facts about a message of the user that an update does not contain."""

    origin: str = ""
    """Empty for an ordinary prompt, and for a subagent's task."""
    ordinal: int | None = None
    """Its number in the conversation; blocks with the same number are one message."""
    text: str = ""
    """Its text, if that is not the text of the block."""


class Decoded(NamedTuple):
    """The records of an update, and the state for the next one."""

    records: list[Record]
    state: State


def decode_update(
    entry: LogEntry,
    update: dict[str, Any],
    state: State,
    *,
    prompt: Prompt | None = None,
    output: str | None = None,
) -> Decoded:
    """Decode one update; return no records for noise and for unknown updates.

    `prompt` describes a message of the user. `output` is the text of a result whose
    update has no content for people; by default, the text is taken from `rawOutput`.
    """
    kind = as_text(update.get("sessionUpdate"))
    if kind == "user_message_chunk":
        return _decode_prompt(entry, update, state, prompt or Prompt())
    state = {name: fact for name, fact in state.items() if name != "prompt"}
    match kind:
        case "agent_message_chunk":
            text = format_block(update.get("content"))
            return Decoded([entry.make_answer(text)] if text else [], state)
        case "agent_thought_chunk":
            text = format_block(update.get("content"))
            return Decoded([entry.make_thinking(text)] if text else [], state)
        case "tool_call" | "tool_call_update":
            return _decode_call(entry, update, state, output)
    return Decoded(list(_decode_setting(entry, kind, update)), state)


def make_turn_end(entry: LogEntry, reason: str, *, block: int = 0) -> Record:
    """Return the end of a turn, from the stop reason of the protocol."""
    if reason == "cancelled":
        return entry.make_event("turn_ended", block=block, note="interrupt")
    stop_reason = _STOP_REASONS.get(reason, "unknown")
    return entry.make_event(
        "turn_ended", block=block, stop_reason=stop_reason, reason=reason
    )


def parse_usage(value: object) -> Usage:
    """Return token counts; `inputTokens` of the log include those of the cache."""
    usage = as_dict(value)
    names = ("inputTokens", "outputTokens", "cachedReadTokens", "cacheCreationTokens")
    input_total, output, cache_read, cache_write = (
        as_count(usage.get(name)) for name in names
    )
    cache_write = cache_write or as_count(usage.get("cachedWriteTokens"))
    input_tokens = max(0, input_total - cache_read - cache_write)
    return Usage(input_tokens, output, cache_read, cache_write)


def find_tool_name(update: dict[str, Any]) -> str:
    """Return the name of a call's tool, or else its kind or title.

    The protocol has only a title for people; agents add the name to `_meta`.
    """
    for value in as_dict(update.get("_meta")).values():
        facts = as_dict(value)
        if name := as_text(facts.get("toolName")) or as_text(facts.get("name")):
            return name
    kind = as_text(update.get("kind"))
    return kind if kind not in ("", "other") else as_text(update.get("title"))


def format_block(value: object) -> str:
    """Return the text of a content block, or a placeholder for a file."""
    block = as_dict(value)
    kind, resource = as_text(block.get("type")), as_dict(block.get("resource"))
    if kind in ("image", "audio"):
        return format_attachment(kind, block.get("mimeType"), block.get("data"))
    if kind in ("resource", "resource_link"):
        uri = as_text(resource.get("uri")) or as_text(block.get("uri"))
        return f"[file {uri or as_text(block.get('name'))}]"
    return as_text(block.get("text"))


def merge_chunks(updates: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Join the chunks of each message, for streams with one update per token."""
    pending: dict[str, Any] | None = None
    for update in updates:
        if pending and _is_continued(pending, update):
            text = format_block(pending["content"]) + format_block(update["content"])
            pending = {**pending, "content": {"type": "text", "text": text}}
            continue
        if pending:
            yield pending
        pending = update
    if pending:
        yield pending


def _is_continued(first: dict[str, Any], second: dict[str, Any]) -> bool:
    """Return whether two updates are chunks of the text of one message."""
    kind = first.get("sessionUpdate")
    return (
        kind in _CHUNKS
        and all(
            first.get(name) == second.get(name)
            for name in ("sessionUpdate", "messageId", "_meta")
        )
        and all(
            as_dict(update.get("content")).get("type") == "text"
            for update in (first, second)
        )
    )


def _decode_prompt(
    entry: LogEntry, update: dict[str, Any], state: State, prompt: Prompt
) -> Decoded:
    """Decode a block of a message: its first text, more text, or a file in it."""
    block = as_dict(update.get("content"))
    text, ordinal = prompt.text or format_block(block), prompt.ordinal
    # None if the update before this one is not a block of a prompt.
    previous_ordinal = state.get("prompt")
    state = {**state, "prompt": _NO_ORDINAL if ordinal is None else ordinal}
    if previous_ordinal is not None and block.get("type") != "text":
        file_text = as_text(as_dict(block.get("resource")).get("text"))
        content = "\n\n".join(filter(None, [text, file_text]))
        return Decoded([entry.make_event("context", content, note="attached")], state)
    is_continued = ordinal is not None and previous_ordinal == ordinal
    record = entry.make_prompt(text, origin="queued" if is_continued else prompt.origin)
    if ordinal is not None:
        record = replace(record, metadata={**record.metadata, "ordinal": ordinal})
    return Decoded([record], state)


def _decode_call(
    entry: LogEntry, update: dict[str, Any], state: State, output: str | None
) -> Decoded:
    """Decode a call and its result.

    If the arguments come in a later update, the call is decoded again, with the id of
    its first record.
    """
    call_id = as_text(update.get("toolCallId"))
    is_new = update.get("sessionUpdate") == "tool_call"
    calls, records = dict(as_dict(state.get("calls"))), []
    pending_call = as_dict(calls.get(call_id))
    arguments = _find_arguments(update)
    name = as_text(pending_call.get("name")) or find_tool_name(update)
    if is_new or (pending_call and arguments is not None):
        record = entry.make_call(name, call_id, arguments or {})
        native_id = entry.native_id if is_new else as_text(pending_call.get("id"))
        records.append(replace(record, native_id=native_id))
        calls.pop(call_id, None)
    # Only short texts are kept in the state.
    is_short = max(map(len, (call_id, entry.native_id, name))) <= _MAX_ID_LENGTH
    if is_new and arguments is None and is_short:
        calls[call_id] = {"id": entry.native_id, "name": name}
    if update.get("status") in _FINAL_STATUSES:
        records.append(_make_result(entry, update, output))
        calls.pop(call_id, None)
    state = {name: fact for name, fact in state.items() if name != "calls"}
    if calls:
        state["calls"] = dict(list(calls.items())[-_MAX_CALLS:])
    return Decoded(records, state)


def _find_arguments(update: dict[str, Any]) -> Any:
    """Return a call's arguments; those of an edit may be only in its diff."""
    arguments = update.get("rawInput")
    if arguments not in (None, "", {}):
        return arguments
    for item in map(as_dict, as_list(update.get("content"))):
        if item.get("type") == "diff":
            old, new = as_text(item.get("oldText")), as_text(item.get("newText"))
            return {"path": as_text(item.get("path")), "oldText": old, "newText": new}
    return None


def _make_result(entry: LogEntry, update: dict[str, Any], output: str | None) -> Record:
    raw = update.get("rawOutput")
    facts = as_dict(raw)
    text = _format_output(raw) if output is None else output
    text = _format_contents(update) or text
    code = facts.get("exit_code", facts.get("exitCode"))
    text, metadata = mark_exit_code(text, code)
    if update.get("status") == "failed":
        metadata["is_error"] = True
    call_id = as_text(update.get("toolCallId"))
    # Kind and title stand in for the missing name of a call, but not of a result.
    name = find_tool_name({"_meta": update.get("_meta")})
    return entry.make_result(name, call_id, text, block=RESULT_BLOCK, **metadata)


def _format_contents(update: dict[str, Any]) -> str:
    """Return a result's text, without diffs: the call's arguments have them."""
    contents = map(as_dict, as_list(update.get("content")))
    texts = (
        format_block(item.get("content"))
        for item in contents
        if item.get("type") == "content"
    )
    return "\n\n".join(filter(None, texts))


def _format_output(raw: object) -> str:
    if raw is None or isinstance(raw, str):
        return raw or ""
    names = ("output", "text", "content", "message")
    texts = (as_text(as_dict(raw).get(name)) for name in names)
    return next(filter(None, texts), "") or to_json(raw)


def _decode_setting(
    entry: LogEntry, kind: str, update: dict[str, Any]
) -> Iterator[Record]:
    match kind:
        case "plan":
            text = _format_plan(update)
            yield entry.make_event("context", text, note="plan")
        case "current_mode_update":
            mode = as_text(update.get("currentModeId"))
            plan = "plan" if mode == "plan" else ""
            yield entry.make_event(
                "context", note=kind, mode=mode, permission_mode=plan
            )
        case "session_info_update":
            if title := as_text(update.get("title")):
                yield entry.make_event("title", title, title_kind="ai")


def _format_plan(update: dict[str, Any]) -> str:
    """Return the steps of a plan as a list."""
    signs = {"completed": "x", "in_progress": "~"}
    steps = map(as_dict, as_list(update.get("entries")))
    return "\n".join(
        f"- [{signs.get(as_text(step.get('status')), ' ')}] "
        f"{as_text(step.get('content'))}"
        for step in steps
    )
