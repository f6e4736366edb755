"""Decode one line of a Gemini CLI log, or one whole document, into records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from leslied.agents._parsing import (
    parse_object,
    parse_time,
    printable_name,
    reject_entry,
    to_json,
)
from leslied.agents.gemini_cli.authorship import find_folder
from leslied.agents.gemini_cli.messages import (
    MessageContext,
    decode_message,
    decode_summary,
    is_acknowledgement,
)
from leslied.agents.gemini_cli.parts import (
    as_dict,
    as_dicts,
    as_text,
    list_parts,
    parts_text,
)
from leslied.model.record import MAIN, DecodeResult, Record, SessionKey

if TYPE_CHECKING:
    from leslied.model.source import RawEntry, SourceRef

_MAX_FACT_LENGTHS = {"cwd": 800}
_MAX_ID_LENGTH = 100
"""Longer values are ignored, to keep the decode state small."""
_RETOLD_NOISE = "told again"
"""Noise kind of a line that repeats or updates a message; its records are stored, too.

Stores contain this text.
"""
_NOISE_FIELDS = frozenset(
    {
        "lastUpdated",
        "sessionId",
        "memoryScratchpad",
        "summary",
        "directories",
        "kind",
        "startTime",
        "projectHash",
    }
)
"""Fields of a session that repeat its messages or serve only the client."""
_RETRACTION_TEXT = (
    "No answer came, and Gemini CLI took the prompt back without saying why."
)
_FIRST_ANONYMOUS_BLOCK = 1000
"""Block number of a checkpoint's first message, if the message has no id."""


def decode_line(entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
    """Decode one line of a session's or subagent's log."""
    line = _parse(entry.data)
    if entry.is_fragment and not _is_entry(line):
        reject_entry("a fragment that is not an entry")
    try:
        header_records, state = _decode_header(entry.source, line, state)
        records, state, noise = _decode_by_kind(entry, line, state)
    except RecursionError:
        reject_entry("nested too deeply")
    return _build_result([*header_records, *records], state, noise)


def decode_document(entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
    """Decode a whole session of older versions: header and messages in one object."""
    document = _parse(entry.data)
    if not as_text(document.get("sessionId")):
        reject_entry("a document without a session id")
    try:
        records, state = _decode_header(entry.source, document, state)
        records += _decode_summary_field(document, _make_context(entry.source, state))
        for message in as_dicts(document.get("messages")):
            message_records, state = _decode_turn_message(entry.source, message, state)
            records += message_records
    except RecursionError:
        reject_entry("nested too deeply")
    return _build_result(records, state, "")


def _parse(data: bytes) -> dict[str, Any]:
    """Return the line as plain Python; try a strict parser before the lenient one.

    A checkpoint may be larger than the lenient parser accepts.
    """
    try:
        return msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return parse_object(data)


def _is_entry(line: dict[str, Any]) -> bool:
    """Return whether an object in a damaged line is an entry, not a part of one."""
    is_message = all(as_text(line.get(n)) for n in ("id", "type", "timestamp"))
    return is_message or "$set" in line or "$rewindTo" in line or _is_header(line)


def _is_header(line: dict[str, Any]) -> bool:
    return bool(as_text(line.get("sessionId")) and as_text(line.get("projectHash")))


def _build_result(
    records: list[Record], state: dict[str, Any], noise: str
) -> DecodeResult:
    """Build the result without duplicates: a checkpoint may repeat a tool result."""
    unique_records: dict[Any, Record] = {}
    for record in records:
        identity: Any = (record.session, record.scope, record.native_id, record.block)
        if not record.native_id:
            # A record without an id is never a duplicate, so any new key will do.
            identity = len(unique_records)
        unique_records.setdefault(identity, record)
    return DecodeResult(
        records=tuple(unique_records.values()),
        state=state,
        noise=noise,
        cwd=state.get("cwd", ""),
    )


def _make_context(source: SourceRef, state: dict[str, Any]) -> MessageContext:
    """Return the context of a source; subagents' files are one directory deeper."""
    *folders, file_name = map(printable_name, source.parts)
    stem = file_name.rpartition(".")[0]
    if folders[2:]:
        key = SessionKey(source.agent, folders[-1], f"subagent:{stem}")
        return MessageContext(key, stem, state.get("task", ""))
    session_id = state.get("session") or stem
    is_turn_open = bool(state.get("prompt")) and not state.get("is_done")
    return MessageContext(
        SessionKey(source.agent, session_id), session_id, is_turn_open=is_turn_open
    )


def _with_facts(state: dict[str, Any], **facts: Any) -> dict[str, Any]:
    """Return the state with these facts, except those that are too long."""
    short_facts = {
        name: fact
        for name, fact in facts.items()
        if not isinstance(fact, str)
        or len(fact) <= _MAX_FACT_LENGTHS.get(name, _MAX_ID_LENGTH)
    }
    return {**state, **short_facts}


def _decode_header(
    source: SourceRef, line: dict[str, Any], state: dict[str, Any]
) -> tuple[list[Record], dict[str, Any]]:
    """Decode the session's id and directory from a header and the marker file.

    Return the records and the new state. Only a header or the first line has a record.
    It has no time: every resume writes another header, often in another file.
    """
    # The state of the first line contains the text of the marker file as `beside`.
    marker_text = as_text(state.get("beside")).strip()
    is_header_or_first = "beside" in state or _is_header(line)
    state = {name: fact for name, fact in state.items() if name != "beside"}
    if not is_header_or_first:
        return [], state
    session_id = as_text(line.get("sessionId")) if _is_header(line) else ""
    if session_id and "session" not in state:
        state = _with_facts(state, session=session_id)
    folder = marker_text or state.get("cwd", "") or _first_folder(line)
    state = _with_facts(state, cwd=folder) if folder else state
    facts = {"cwd": state["cwd"]} if state.get("cwd") else {}
    context = _make_context(source, state)
    return [_make_event(context, "opened", native_id="opened", **facts)], state


def _first_folder(line: dict[str, Any]) -> str:
    """Return the first directory that a header lists, or ""."""
    folders = line.get("directories")
    return as_text(folders[0]) if isinstance(folders, list) and folders else ""


def _make_event(
    context: MessageContext,
    kind: str,
    content: str = "",
    native_id: str = "",
    **facts: Any,
) -> Record:
    return Record(
        session=context.key,
        type="system_event",
        role="system",
        content=content,
        native_id=native_id,
        scope=context.scope,
        metadata={"kind": kind, **facts},
    )


def _decode_by_kind(
    entry: RawEntry, line: dict[str, Any], state: dict[str, Any]
) -> tuple[list[Record], dict[str, Any], str]:
    """Return the records, the new state and the kind of noise ("" for no noise)."""
    context = _make_context(entry.source, state)
    if as_text(line.get("$rewindTo")):
        event = _make_event(context, "rewound", to=line["$rewindTo"])
        return [event], _with_facts(state, is_done=True), ""
    if "type" in line or as_text(line.get("id")):
        return _decode_message_line(entry, line, state)
    if isinstance(line.get("$set"), dict):
        return _decode_patch(entry, line["$set"], state)
    if _is_header(line):
        return _decode_summary_field(line, context), state, ""
    return [_make_unknown_entry(entry, context)], state, ""


def _decode_message_line(
    entry: RawEntry, line: dict[str, Any], state: dict[str, Any]
) -> tuple[list[Record], dict[str, Any], str]:
    """Decode a line with one message; later lines with its id are updates of it."""
    is_update = bool(line.get("id")) and line.get("id") == state.get("last")
    records, state = _decode_turn_message(entry.source, line, state)
    is_unknown = [(r.type, r.block) for r in records] == [("unknown", 0)]
    if is_unknown:
        # Store the unchanged line instead of JSON that was encoded again.
        raw = entry.data.decode(errors="replace")
        records = [replace(records[0], content=raw)]
    state = _with_facts(state, last=as_text(line.get("id")))
    if not records:
        return [], state, "empty message"
    is_known_message = is_update or all(record.is_repeat for record in records)
    return records, state, _RETOLD_NOISE if is_known_message else ""


def _decode_turn_message(
    source: SourceRef, message: dict[str, Any], state: dict[str, Any]
) -> tuple[list[Record], dict[str, Any]]:
    """Decode a message; return its records, and the state with the current turn."""
    context, message_id = _make_context(source, state), as_text(message.get("id"))
    if not context.task:
        # Until the task has been read, every message may be the one that contains it.
        context = context._replace(task=message_id)
    records = decode_message(message, context)
    for record in records:
        origin = record.metadata.get("origin")
        if origin == "task":
            state = _with_facts(state, task=message_id)
        if origin in ("prompt", "command", "task"):
            state = _with_facts(state, prompt=message_id, is_done=False)
        elif record.type == "tool_use":
            state = _with_facts(state, is_done=False)
        elif _ends_turn(record):
            state = _with_facts(state, is_done=True)
    return records, state


def _ends_turn(record: Record) -> bool:
    return (
        "stop_reason" in record.metadata
        or record.metadata.get("kind") == "turn_ended"
        or record.type == "error"
    )


def _decode_patch(
    entry: RawEntry, patch: dict[str, Any], state: dict[str, Any]
) -> tuple[list[Record], dict[str, Any], str]:
    """Decode changed session fields; `messages` is a checkpoint of all messages."""
    records = _decode_summary_field(patch, _make_context(entry.source, state))
    folders = patch.get("directories")
    if isinstance(folders, list) and any(map(as_text, folders)):
        text = "\n".join(filter(None, map(as_text, folders)))
        event = _make_event(_make_context(entry.source, state), "context", text)
        metadata = {**event.metadata, "note": "directories"}
        records.append(replace(event, metadata=metadata))
    if isinstance(patch.get("messages"), list):
        checkpoint_records, state = _decode_checkpoint(entry.source, patch, state)
        return [*records, *checkpoint_records], state, _RETOLD_NOISE
    if records:
        return records, state, ""
    if _NOISE_FIELDS.intersection(patch):
        return [], state, "$set"
    return [_make_unknown_entry(entry, _make_context(entry.source, state))], state, ""


def _decode_checkpoint(
    source: SourceRef, patch: dict[str, Any], state: dict[str, Any]
) -> tuple[list[Record], dict[str, Any]]:
    """Decode a checkpoint's messages up to a compaction's summary, as repeats.

    Most of these repeat earlier records, maybe truncated. Messages after the summary
    are skipped: they are copies of earlier ones under new ids, or have their own lines.
    """
    context = _make_context(source, state)._replace(is_repeat=True)
    messages: list[Any] = patch["messages"]
    # The client replies to a summary, so the summary is the message before the reply.
    end = next(
        (
            index
            for index, message in enumerate(messages)
            if is_acknowledgement(as_dict(message))
        ),
        len(messages),
    )
    records: list[Record] = []
    for number, message in enumerate(messages[:end]):
        if not isinstance(message, dict) or not as_text(message.get("id")):
            unknown = _make_unknown(context, to_json(message))
            records.append(replace(unknown, block=_FIRST_ANONYMOUS_BLOCK + number))
        elif number == end - 1 and end < len(messages):
            records.append(decode_summary(message, context))
        else:
            records += decode_message(message, context)
    folder_records, state = _decode_folder(context, messages, state)
    if end == len(messages) and _is_prompt_retracted(messages, state):
        records.append(_make_retraction_error(context, patch, state["prompt"]))
        state = _with_facts(state, is_done=True)
    return [*folder_records, *records], state


def _make_retraction_error(
    context: MessageContext, patch: dict[str, Any], prompt_id: str
) -> Record:
    """Return an error for a prompt that Gemini CLI removed without an answer."""
    return replace(
        _make_unknown(context, _RETRACTION_TEXT),
        type="error",
        role="assistant",
        native_id=f"back:{prompt_id}",
        created_at=parse_time(patch.get("lastUpdated")),
    )


def _is_prompt_retracted(messages: list[Any], state: dict[str, Any]) -> bool:
    """Return whether the unanswered prompt is missing from the messages."""
    prompt_id = state.get("prompt")
    if not prompt_id or state.get("is_done"):
        return False
    return all(message.get("id") != prompt_id for message in as_dicts(messages))


def _decode_folder(
    context: MessageContext, messages: list[Any], state: dict[str, Any]
) -> tuple[list[Record], dict[str, Any]]:
    """Decode the directory in `<session_context>`, unless it is already known."""
    if state.get("cwd"):
        return [], state
    for message in as_dicts(messages):
        folder = find_folder(parts_text(list_parts(message.get("content"))))
        if folder:
            event = _make_event(context, "context", native_id="folder", cwd=folder)
            return [event], _with_facts(state, cwd=folder)
    return [], state


def _decode_summary_field(
    fields: dict[str, Any], context: MessageContext
) -> list[Record]:
    """Decode the `summary` field: a session's title, or a subagent's result."""
    summary = as_text(fields.get("summary"))
    if not summary:
        return []
    if context.key.source != MAIN:
        return [_make_event(context, "turn_ended", summary, "ended", note="result")]
    metadata = {"title_kind": "ai", "is_side": True}
    return [
        _make_event(
            context, "title", summary, f"title:{summary[:_MAX_ID_LENGTH]}", **metadata
        )
    ]


def _make_unknown_entry(entry: RawEntry, context: MessageContext) -> Record:
    return _make_unknown(context, entry.data.decode(errors="replace"))


def _make_unknown(context: MessageContext, text: str) -> Record:
    return Record(
        session=context.key,
        type="unknown",
        role="system",
        content=text,
        scope=context.scope,
        is_repeat=context.is_repeat,
    )
