"""Decode the documents of Cline's sessions: messages, manifests and summaries.

Cline writes all messages of a session again whenever one is added. A message keeps its
id, so its records are stored once; a changed record is stored as a new version. The
results of calls may get new ids when a session is resumed, so each is identified by its
call.

`docs/formats/cline.md` documents the format.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from leslied.agents._entry import (
    LogEntry,
    as_count,
    as_dict,
    as_folder,
    as_list,
    as_text,
    format_attachment,
    get_side_file,
)
from leslied.agents._parsing import (
    mark_exit_code,
    parse_document,
    parse_object,
    parse_time,
    printable_name,
    reject_entry,
    to_json,
)
from leslied.errors import DecodeError
from leslied.model.record import MAIN, DecodeResult, SessionKey, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.record import Record
    from leslied.model.source import RawEntry

    State = dict[str, Any]

_USAGE_BLOCK, _END_BLOCK = 1000, 1001
"""Block numbers of records that do not come from a part of a message."""
_MAX_TITLE_ID = 100
"""Characters of a title that are a part of its id."""
_SUFFIX = re.compile(r"(?:\.messages|\.compaction)?\.json\Z")
_FOLDER = re.compile(r'"cwd":\s*("(?:[^"\\]|\\.)*")')
_COMMAND = re.compile(r'<user_command\b[^>]*\bslash="([^"]+)"[^>]*>')
_PLAN_MODE = re.compile(r'<user_input\b[^>]*\bmode="plan"')
_TAGS = re.compile(r"</?user_(?:input|command)\b[^>]*>")
_NOTICE = re.compile(r"<mode_notice>[^<]*</mode_notice>\s*")
"""Notice that the client adds to a prompt."""
_CONTINUATIONS = ("[TASK RESUMPTION]", "The user approved switching to act mode.")
"""Beginnings of prompts that the client sends by itself."""
_EXIT_CODE = re.compile(r"Command exited with code (-?\d{1,9})")
_EXIT_LINE = re.compile(r"\A\[Command exited with code -?\d{1,9}\]\s*")
_COMPACTIONS = ("compaction", "compaction_summary")
"""Kinds of messages that replace earlier ones in requests."""


def decode_messages(entry: RawEntry, state: State) -> DecodeResult:
    """Decode all messages of a session or a subagent.

    The side file is the session's manifest.
    """
    document = parse_document(entry.data)
    messages = document.get("messages")
    if not isinstance(messages, list):
        reject_entry("a document without messages")
    key = _make_key(entry)
    cwd = _find_folder(get_side_file(state))
    try:
        records = _decode_header(key, document, cwd)
        result_counts: Counter[str] = Counter()
        for number, message in enumerate(messages):
            log_entry = _make_entry(key, as_dict(message), f"nth:{number}")
            records += _decode_message(log_entry, message, result_counts)
    except RecursionError:
        reject_entry("nested too deeply")
    records = _drop_duplicates(records)
    return DecodeResult(
        records=tuple(records), state={"cwd": cwd} if cwd else {}, cwd=cwd
    )


def decode_manifest(entry: RawEntry, state: State) -> DecodeResult:
    """Decode a session's directory, and the title that a person gave it, if any.

    Until a person gives one, the title in the manifest is the start of the prompt; it
    yields no record.
    """
    del state
    manifest = parse_object(entry.data)
    cwd, key = as_folder(manifest.get("cwd")), _make_key(entry)
    records: list[Record] = []
    if cwd:
        # The messages have the same record, because they may be read first.
        records.append(_make_entry(key, {}, "session").make_event("opened", cwd=cwd))
    title = as_text(as_dict(manifest.get("metadata")).get("title")).strip()
    if title and not as_text(manifest.get("prompt")).strip().startswith(title):
        log_entry = _make_entry(key, {}, f"title:{title[:_MAX_TITLE_ID]}")
        event = log_entry.make_side_title(title, "custom")
        records.append(event)
    return DecodeResult(
        records=tuple(records),
        state={"cwd": cwd} if cwd else {},
        noise="manifest",
        cwd=cwd,
    )


def decode_compaction(entry: RawEntry, state: State) -> DecodeResult:
    """Decode the summary that replaces a session's earlier messages in requests.

    The document also repeats the messages that are not replaced.
    """
    document = parse_document(entry.data)
    key = _make_key(entry)
    records: list[Record] = []
    for message in map(as_dict, as_list(document.get("messages"))):
        if _find_kind(message) in _COMPACTIONS:
            log_entry = _make_entry(key, message, f"compaction:{len(records)}")
            text = _join_texts(message.get("content"))
            records.append(log_entry.make_event("compacted", text))
    records = _drop_duplicates(records)
    noise = "" if records else "compaction"
    return DecodeResult(records=tuple(records), state=state, noise=noise)


def _make_key(entry: RawEntry) -> SessionKey:
    """Return the session that the folder names, or a subagent that the file names."""
    session_id, name = map(printable_name, entry.source.parts[-2:])
    stem = _SUFFIX.sub("", name)
    source = MAIN if stem == session_id else f"subagent:{stem}"
    return SessionKey(entry.source.agent, session_id, source)


def _make_entry(key: SessionKey, message: dict[str, Any], default_id: str) -> LogEntry:
    return LogEntry(
        key=key,
        native_id=as_text(message.get("id")) or default_id,
        created_at=parse_time(message.get("ts")),
        scope=key.subagent_id or key.session_id,
        model=as_text(as_dict(message.get("modelInfo")).get("id")),
    )


def _find_folder(manifest_head: str) -> str:
    """Return the directory in the beginning of a manifest, or ""."""
    match = _FOLDER.search(manifest_head)
    with suppress(ValueError):
        return as_folder(json.loads(match[1])) if match else ""
    return ""


def _drop_duplicates(records: list[Record]) -> list[Record]:
    """Drop records with the id and block of an earlier one."""
    unique = {(record.native_id, record.block): record for record in reversed(records)}
    return list(reversed(unique.values()))


def _decode_header(key: SessionKey, document: dict[str, Any], cwd: str) -> list[Record]:
    """Decode the session's directory and system prompt, or a subagent's parent."""
    entry = _make_entry(key, {}, "session")
    if key.source != MAIN:
        parent = as_text(as_dict(document.get("origin")).get("parentThreadId"))
        # If the parent is a subagent itself, its id is `SESSION__AGENT`.
        prefix = f"{key.session_id}__"
        parent_agent = parent.removeprefix(prefix) if parent.startswith(prefix) else ""
        return [entry.make_event("subagent_linked", parent_agent=parent_agent)]
    records = [entry.make_event("opened", cwd=cwd)]
    if prompt := as_text(document.get("system_prompt")):
        event = entry.make_event("context", prompt, block=1, note="system_prompt")
        records.append(event)
    return records


def _decode_message(
    entry: LogEntry, value: object, result_counts: Counter[str]
) -> Iterator[Record]:
    """Decode one message; `result_counts` counts the earlier results of each call."""
    message = as_dict(value)
    role = message.get("role")
    display_role = as_text(as_dict(message.get("metadata")).get("displayRole"))
    if role not in ("user", "assistant"):
        yield entry.make_unknown(value)
    elif display_role in ("system", "status", "error"):
        yield _decode_notice(entry, message, display_role)
    elif role == "assistant":
        yield from _decode_answer(entry, message)
    else:
        yield from _decode_user(entry, message, result_counts)


def _find_kind(message: dict[str, Any]) -> str:
    return as_text(as_dict(message.get("metadata")).get("kind"))


def _decode_notice(
    entry: LogEntry, message: dict[str, Any], display_role: str
) -> Record:
    """Decode a message that the client added to the conversation."""
    text, kind = _join_texts(message.get("content")), _find_kind(message)
    if display_role == "error":
        return entry.make_record("error", "assistant", content=text)
    if kind in _COMPACTIONS:
        return entry.make_event("compacted", text)
    return entry.make_event("context", text, note=kind or display_role)


def _decode_user(
    entry: LogEntry, message: dict[str, Any], result_counts: Counter[str]
) -> Iterator[Record]:
    """Decode a person's message, or the results of calls."""
    parts = _list_parts(message.get("content"))
    results = [part for part in parts if part.get("type") == "tool_result"]
    for part in results:
        yield _decode_result(entry, part, result_counts)
    prompt_parts = [part for part in parts if part.get("type") != "tool_result"]
    if prompt_parts or not results:
        yield _decode_prompt(entry, prompt_parts)


def _decode_prompt(entry: LogEntry, parts: list[dict[str, Any]]) -> Record:
    """Decode a prompt without the tags around it and the files in it."""
    text = _join_texts([part for part in parts if part.get("type") != "file"])
    files = [part for part in parts if part.get("type") == "file"]
    prompt = _TAGS.sub("", _NOTICE.sub("", text)).strip()
    if prompt.startswith(_CONTINUATIONS):
        return entry.make_event("context", prompt, note="continuation")
    command = _COMMAND.search(text)
    record = entry.make_prompt(
        f"/{command[1]} {prompt}".strip() if command else prompt,
        origin="command" if command and entry.key.source == MAIN else "",
    )
    facts: dict[str, Any] = {}
    if files:
        facts["attached"] = "\n".join(
            f"{as_text(part.get('path'))}\n{as_text(part.get('content'))}"
            for part in files
        )
    if _PLAN_MODE.search(text):
        facts["permission_mode"] = "plan"
    return replace(record, metadata={**record.metadata, **facts})


def _decode_answer(entry: LogEntry, message: dict[str, Any]) -> Iterator[Record]:
    """Decode thoughts, texts and calls; an answer without a call ends the turn."""
    parts = _list_parts(message.get("content"))
    usage, message_id = _parse_usage(message), entry.native_id
    has_call = any(part.get("type") == "tool_use" for part in parts)
    facts = {} if has_call else {"stop_reason": "end_turn"}
    for block, part in enumerate(parts[:_USAGE_BLOCK]):
        record = _decode_part(entry, part, block)
        yield replace(
            record,
            usage=usage,
            message_id=message_id,
            metadata={**record.metadata, **facts},
        )
    if not parts:
        if usage:
            yield entry.make_usage(usage, message_id, block=_USAGE_BLOCK)
        yield entry.make_event("turn_ended", block=_END_BLOCK, stop_reason="end_turn")


def _decode_part(entry: LogEntry, part: dict[str, Any], block: int) -> Record:
    match part.get("type"):
        case "text":
            return entry.make_answer(as_text(part.get("text")), block=block)
        case "thinking" | "redacted_thinking":
            return entry.make_thinking(as_text(part.get("thinking")), block=block)
        case "tool_use":
            name, call_id = as_text(part.get("name")), as_text(part.get("id"))
            return entry.make_call(name, call_id, part.get("input"), block=block)
        case "image":
            return entry.make_answer(_format_image(part), block=block)
    return entry.make_unknown(part, block=block)


def _parse_usage(message: dict[str, Any]) -> Usage | None:
    """Return the tokens of a request; the log's input count includes cached tokens."""
    metrics = as_dict(message.get("metrics"))
    names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
    input_total, output, cache_read, cache_write = (
        as_count(metrics.get(name)) for name in names
    )
    input_tokens = max(input_total - cache_read - cache_write, 0)
    return Usage(input_tokens, output, cache_read, cache_write) or None


def _decode_result(
    entry: LogEntry, part: dict[str, Any], result_counts: Counter[str]
) -> Record:
    """Decode the result of a call; several results of one call are numbered."""
    call_id = as_text(part.get("tool_use_id"))
    result_counts[call_id] += 1
    text, facts = _format_result(part.get("content"))
    if part.get("is_error") is True:
        facts["is_error"] = True
    record = entry.make_result(as_text(part.get("name")), call_id, text, **facts)
    return replace(
        record, native_id=f"result:{call_id}", block=result_counts[call_id] - 1
    )


def _format_result(content: object) -> tuple[str, dict[str, Any]]:
    """Return the text and facts of a result, which reports one or more operations."""
    if isinstance(content, str):
        operation = _parse_operation(content)
        return _format_operation(operation) if operation else (content, {})
    operations = [part if isinstance(part, dict) else {} for part in as_list(content)]
    if len(operations) == 1:
        return _format_operation(operations[0])
    texts, facts = [], {}
    for operation in operations:
        text, operation_facts = _format_operation(operation)
        query = as_text(operation.get("query"))
        texts.append(f"{query}\n{text}" if query else text)
        facts.update(operation_facts)
    return "\n\n".join(texts), facts


def _parse_operation(text: str) -> dict[str, Any]:
    """Return the report of a tool's operation from its JSON; {} for any other text."""
    if text.startswith("{"):
        with suppress(DecodeError):
            value = parse_object(text.encode(errors="replace"))
            return value if {"result", "error", "text"} & value.keys() else {}
    return {}


def _format_operation(operation: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the text and facts of a command, a file operation or a subagent."""
    if operation.get("type") == "image":
        return _format_image(operation), {}
    values = (operation.get(name) for name in ("result", "text", "error"))
    value = next((value for value in values if value), "")
    if not value and "success" not in operation:
        return to_json(operation), {}
    if isinstance(value, list):
        text = _join_texts(value)
    else:
        text = value if isinstance(value, str) else to_json(value)
    code = _EXIT_CODE.search(as_text(operation.get("error")))
    if code:
        return mark_exit_code(_EXIT_LINE.sub("", text), int(code[1]))
    has_failed = operation.get("success") is False
    return text, {"is_error": True} if has_failed else {}


def _list_parts(content: object) -> list[dict[str, Any]]:
    """Return the parts of a message, which may be a text alone."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [
        part if isinstance(part, dict) else {"type": "unknown", "value": part}
        for part in as_list(content)
    ]


def _join_texts(content: object) -> str:
    """Return the texts of a message, with a placeholder for each image."""
    texts = []
    for part in _list_parts(content):
        match part.get("type"):
            case "text":
                texts.append(as_text(part.get("text")))
            case "image":
                texts.append(_format_image(part))
            case _:
                texts.append(to_json(part))
    return "\n\n".join(filter(None, texts))


def _format_image(part: dict[str, Any]) -> str:
    return format_attachment("image", part.get("mediaType"), part.get("data"))
