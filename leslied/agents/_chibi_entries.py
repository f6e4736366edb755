"""Decode chibi's entries; `docs/formats/chibi.md` documents them."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, get_args

from leslied.agents._entry import LogEntry, as_count, as_dict, as_list, as_text
from leslied.agents._parsing import (
    parse_object,
    parse_time,
    printable_name,
    reject_entry,
)
from leslied.errors import DecodeError
from leslied.model.record import MAIN, DecodeResult, Origin, SessionKey, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.record import Record
    from leslied.model.source import RawEntry

    State = dict[str, Any]
    """`open`: names and ids of the calls without a result, the oldest first."""

_MAX_OPEN_CALLS = 20
_MAX_ID_LENGTH = 80
_LINK_BLOCK, _USAGE_BLOCK, _INBOX_BLOCK = 1, 2, 3


def decode_line(entry: RawEntry, state: State) -> DecodeResult:
    """Decode one line of a context's log; what chibi calls a context is a session."""
    line = parse_object(entry.data)
    if entry.is_fragment and "timestamp" not in line:
        reject_entry("a fragment that is not an entry")
    context_name, name = printable_name(entry.source.parts[0]), entry.source.parts[-1]
    if name == "requests.jsonl":
        return DecodeResult(state=state, noise="request")
    if name == "response_meta.jsonl":
        record = _decode_response(entry, line, context_name)
        return DecodeResult(records=(record,), state=state)
    if name == "inbox.jsonl":
        record = _decode_inbox(entry, line, context_name)
        if record.session.source != MAIN:
            # leslied's exports have the task of a subagent here, too.
            return DecodeResult(state=state, noise="task")
        return DecodeResult(records=(record,), state=state)
    records, state = _decode_entry(entry.source.agent, line, context_name, state)
    return DecodeResult(records=tuple(records), state=state)


def decode_window(entry: RawEntry, state: State) -> DecodeResult:
    """Decode a file that chibi rewrites: the newest entries of a context.

    Each line is an entry. In the newer format, `context.jsonl` is noise: it only
    repeats entries of chibi's `transcript` files.
    """
    context_name, agent = printable_name(entry.source.parts[0]), entry.source.agent
    lines = [line for line in entry.data.split(b"\n") if line.strip()]
    is_context_file = entry.source.parts[-1] == "context.jsonl"
    if is_context_file and any(b'"role"' in line and _has_role(line) for line in lines):
        return DecodeResult(state=state, noise="window")
    calls: State = {}
    records: dict[tuple[Any, ...], Record] = {}
    for number, data in enumerate(lines, 1):
        try:
            line_records, calls = _decode_entry(
                agent, parse_object(data), context_name, calls
            )
        except DecodeError:
            # The program may be writing the last line at this moment.
            if number == len(lines) and not entry.data.endswith(b"\n"):
                continue
            digest = hashlib.sha256(data).hexdigest()[:16]
            log_entry = _make_log_entry(
                agent, {"id": f"damaged:{digest}"}, context_name
            )
            line_records = [log_entry.make_unknown(data)]
        for record in line_records:
            key = (record.session, record.native_id or number, record.block)
            records.setdefault(key, record)
    if not records:
        reject_entry("no entries")
    return DecodeResult(records=tuple(records.values()), state=state)


def _has_role(data: bytes) -> bool:
    """Return whether a line is an entry of the newer format, which has roles."""
    try:
        return bool(as_text(parse_object(data).get("role")))
    except DecodeError:
        return False


def _make_log_entry(agent: str, line: dict[str, Any], context_name: str) -> LogEntry:
    """Return the fields that all records of an entry share.

    The context is the session, unless the entry names a subagent, as entries in
    leslied's exports do.
    """
    metadata = as_dict(line.get("metadata"))
    root, name = (as_text(metadata.get(n)) for n in ("root_context", "subagent_id"))
    is_subagent = bool(root and name)
    key = SessionKey(agent, root, f"subagent:{name}") if is_subagent else None
    key = key or SessionKey(agent, context_name)
    return LogEntry(
        key=key,
        native_id=as_text(line.get("id")),
        scope=key.session_id,
        created_at=parse_time(line.get("timestamp")),
        model=as_text(metadata.get("model")),
    )


def _decode_entry(
    agent: str, line: dict[str, Any], context_name: str, state: State
) -> tuple[list[Record], State]:
    """Decode an entry; return its records, and the state with the open calls."""
    log_entry = _make_log_entry(agent, line, context_name)
    # The empty texts complete a damaged pair.
    open_calls = [
        [*map(as_text, as_list(call)), "", ""][:2]
        for call in as_list(state.get("open"))
    ]
    records = list(_decode_by_type(log_entry, line, context_name, open_calls))
    links = list(_decode_link(log_entry, line))
    state = {"open": open_calls[-_MAX_OPEN_CALLS:]} if open_calls else {}
    return [*links, *records], state


def _decode_link(log_entry: LogEntry, line: dict[str, Any]) -> Iterator[Record]:
    """Yield the link of a subagent to the call that its first entry names, if any."""
    metadata = as_dict(line.get("metadata"))
    if log_entry.key.source != MAIN and (
        call_id := as_text(metadata.get("spawn_call_id"))
    ):
        parent = as_text(metadata.get("parent_agent"))
        yield log_entry.make_event(
            "subagent_linked",
            block=_LINK_BLOCK,
            tool_call_id=call_id,
            parent_agent=parent,
        )


def _decode_by_type(
    log_entry: LogEntry,
    line: dict[str, Any],
    context_name: str,
    open_calls: list[list[str]],
) -> Iterator[Record]:
    """Decode an entry, and add its call to `open_calls` or remove the answered one.

    The recipient of a call, and the sender of its result, is the tool.
    """
    text, metadata = as_text(line.get("content")), as_dict(line.get("metadata"))
    sender, recipient = as_text(line.get("from")), as_text(line.get("to"))
    call_id = as_text(line.get("tool_call_id")) or as_text(metadata.get("tool_call_id"))
    kind = as_text(line.get("entry_type"))
    match kind:
        case "message" if _is_answer(line, context_name):
            yield log_entry.make_answer(text)
        case "message" if line.get("role") == "system":
            yield log_entry.make_event("context", text)
        case "message":
            origin = as_text(metadata.get("origin"))
            is_valid = log_entry.key.source == MAIN and origin in get_args(Origin)
            yield log_entry.make_prompt(text, origin=origin if is_valid else "")
        case "tool_call":
            call_id = call_id or log_entry.native_id
            open_calls.append([recipient[:_MAX_ID_LENGTH], call_id[:_MAX_ID_LENGTH]])
            yield log_entry.make_call(recipient, call_id, text)
        case "tool_result":
            call_id = _take_call(open_calls, sender, call_id)
            marks = ("is_error", "is_between_turns")
            facts = {name: True for name in marks if metadata.get(name) is True}
            yield log_entry.make_result(sender, call_id, text, **facts)
        case _:
            yield _decode_marker(log_entry, line)


def _decode_marker(log_entry: LogEntry, line: dict[str, Any]) -> Record:
    """Decode an entry that is not a part of the conversation."""
    text, kind = as_text(line.get("content")), as_text(line.get("entry_type"))
    match kind:
        case "compaction" | "archival":
            summary = as_text(as_dict(line.get("metadata")).get("summary"))
            return log_entry.make_event("compacted", summary, note=kind)
        case "context_created":
            return log_entry.make_event("opened")
        case "system_prompt_changed":
            return log_entry.make_event("context", text, note=kind)
        case "control_transfer":
            return log_entry.make_event("notice", text, note=kind)
    return log_entry.make_unknown(line)


def _is_answer(line: dict[str, Any], context_name: str) -> bool:
    """Return whether the agent wrote a message; older entries have no role."""
    if role := as_text(line.get("role")):
        return role in ("agent", "assistant")
    return line.get("to") == "user" or line.get("from") == context_name


def _take_call(open_calls: list[list[str]], name: str, call_id: str) -> str:
    """Return the id of the call that a result answers, and remove the call.

    A result without an id answers the oldest open call of the same tool.
    """
    for call in open_calls:
        if call[1] == call_id or (not call_id and call[0] == name):
            open_calls.remove(call)
            return call[1]
    return call_id


def _decode_inbox(entry: RawEntry, line: dict[str, Any], context_name: str) -> Record:
    """Decode a message from another context; it waits for the next prompt."""
    log_entry = _make_log_entry(entry.source.agent, line, context_name)
    sender = as_text(line.get("from"))
    if not as_text(line.get("content")):
        return log_entry.make_unknown(entry.data)
    text = as_text(line.get("content"))
    return log_entry.make_event(
        "notice", text, block=_INBOX_BLOCK, note="inbox", sender=sender
    )


def _decode_response(
    entry: RawEntry, line: dict[str, Any], context_name: str
) -> Record:
    """Decode the tokens of a response."""
    response = as_dict(line.get("response"))
    usage = as_dict(response.get("usage"))
    input_total, output = (
        as_count(usage.get(name)) for name in ("prompt_tokens", "completion_tokens")
    )
    details = as_dict(usage.get("prompt_tokens_details"))
    cached = min(as_count(details.get("cached_tokens")), input_total)
    response_id = as_text(response.get("id"))
    log_entry = LogEntry(
        key=SessionKey(entry.source.agent, context_name),
        native_id=f"response:{response_id}" if response_id else "",
        scope=context_name,
        created_at=parse_time(line.get("timestamp")),
        model=as_text(response.get("model")),
    )
    if counts := Usage(input_total - cached, output, cached):
        return log_entry.make_usage(counts, response_id, block=_USAGE_BLOCK)
    return log_entry.make_unknown(entry.data)
