"""Decode the entries of Hermes: messages, token counts of models, ends of sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from leslied.agents._entry import (
    LogEntry,
    as_count,
    as_dict,
    as_list,
    as_text,
    format_attachment,
)
from leslied.agents._parsing import (
    mark_exit_code,
    parse_object,
    parse_time,
    reject_entry,
    to_json,
)
from leslied.errors import DecodeError
from leslied.model.record import MAIN, DecodeResult, Record, SessionKey, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.source import RawEntry

_OPENED_BLOCK, _TITLE_BLOCK, _LINK_BLOCK = 900, 901, 902
"""Block numbers of the records about a session."""
_FIRST_CALL_BLOCK = 10
_JSON_PREFIX = "\0json:"
"""Prefix of a message that is a list of parts as JSON."""
_COMPACTION_PREFIX = "[CONTEXT COMPACTION"
"""Start of the summary that replaces earlier messages."""
_DELEGATE = "delegate_task"


def decode_entry(entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
    """Decode an entry with the state of its session."""
    value = parse_object(entry.data)
    session = as_dict(value.get("session"))
    if value.get("kind") not in ("message", "usage", "end"):
        return _decode_unknown(entry, state)
    if not as_text(session.get("id")):
        reject_entry("an entry without a session")
    log_entry = _make_session_entry(entry.source.agent, session)
    records = [*_decode_session(log_entry, value, session)]
    match value["kind"]:
        case "message":
            records += _decode_message(log_entry, value)
        case "usage":
            records += _decode_usage(log_entry, value)
        case _:
            records.append(_decode_end(log_entry, session))
    noise = "" if records else f"{value['kind']} without content"
    cwd = as_text(session.get("directory"))
    return DecodeResult(records=tuple(records), state=state, noise=noise, cwd=cwd)


def _decode_unknown(entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
    key = SessionKey(entry.source.agent, "unknown")
    text = entry.data.decode(errors="replace")
    record = Record(session=key, type="unknown", role="system", content=text)
    return DecodeResult(records=(record,), state=state)


def _make_session_entry(agent: str, session: dict[str, Any]) -> LogEntry:
    """Return the log entry from which records about the session itself are made."""
    id_ = session["id"]
    root = as_text(session.get("root")) or id_
    source = MAIN if root == id_ else f"subagent:{id_}"
    return LogEntry(
        key=SessionKey(agent, root, source),
        native_id="session",
        scope=id_,
        created_at=parse_time(session.get("started")),
        model=as_text(session.get("model")),
    )


def _decode_session(
    log_entry: LogEntry, value: dict[str, Any], session: dict[str, Any]
) -> Iterator[Record]:
    """Decode the folder, the title and the parent of a session.

    Answers and results only repeat the facts that came with the prompt before them.
    """
    is_prompt = value.get("role") == "user"
    if is_prompt:
        folder = as_text(session.get("directory"))
        yield log_entry.make_event("opened", block=_OPENED_BLOCK, cwd=folder)
    if value["kind"] == "message" and not is_prompt:
        return
    title = as_text(session.get("title"))
    if log_entry.key.source != MAIN:
        yield _link_subagent(log_entry, session)
    elif title:
        event = log_entry.make_event(
            "title", title, block=_TITLE_BLOCK, title_kind="ai"
        )
        # Each title has its own id, so that a repeated title is stored once.
        yield replace(event, native_id=f"title:{title}")


def _link_subagent(log_entry: LogEntry, session: dict[str, Any]) -> Record:
    """Return the link of a subagent to its parent, and to its call if that is certain.

    The call is certain if exactly one call has the subagent's task as its goal.
    """
    task, parent = as_text(session.get("task")), as_text(session.get("parent"))
    calls = [
        as_text(call.get("id"))
        for call in map(as_dict, as_list(session.get("calls")))
        if task in _list_goals(as_dict(call.get("function")))
    ]
    return log_entry.make_event(
        "subagent_linked",
        block=_LINK_BLOCK,
        tool_call_id=calls[0] if len(calls) == 1 else "",
        parent_agent="" if parent == log_entry.key.session_id else parent,
    )


def _list_goals(function: dict[str, Any]) -> list[str]:
    """Return the goals of the subagents that a call starts: one, or one per task."""
    if function.get("name") != _DELEGATE:
        return []
    arguments = _parse_json_text(as_text(function.get("arguments")))
    tasks = [as_dict(task) for task in as_list(arguments.get("tasks"))]
    goals = (as_text(each.get("goal")) for each in (arguments, *tasks))
    return [goal for goal in goals if goal]


def _parse_json_text(text: str) -> dict[str, Any]:
    """Return the object in a text, or an empty one."""
    try:
        return parse_object(text.encode(errors="replace"))
    except DecodeError:
        return {}


def _decode_message(log_entry: LogEntry, value: dict[str, Any]) -> Iterator[Record]:
    message = LogEntry(
        key=log_entry.key,
        native_id=f"message {as_count(value.get('row'))}",
        scope=log_entry.scope,
        created_at=parse_time(value.get("at")),
        model=log_entry.model,
    )
    content = _read_content(as_text(value.get("content")))
    match value.get("role"):
        case "user" if content.startswith(_COMPACTION_PREFIX):
            yield message.make_event("compacted", block=1, note="compact_boundary")
            yield message.make_event("context", content, note="summary")
        case "user" if content:
            yield message.make_prompt(content)
        case "user":
            return
        case "assistant":
            yield from _decode_answer(message, value, content)
        case "tool":
            yield _decode_result(message, value, content)
        case "system":
            yield message.make_event("context", content, note="system")
        case role:
            raw = {"role": role, "content": content}
            yield message.make_unknown(raw, role=as_text(role))


def _read_content(content: str) -> str:
    """Return the text of a message, which may be a list of parts."""
    if not content.startswith(_JSON_PREFIX):
        return content
    wrapped = '{"parts":' + content.removeprefix(_JSON_PREFIX) + "}"
    parts = as_list(_parse_json_text(wrapped).get("parts"))
    texts = [_part_text(as_dict(part)) for part in parts]
    return "\n\n".join(filter(None, texts)) or content.removeprefix(_JSON_PREFIX)


def _part_text(part: dict[str, Any]) -> str:
    if part.get("type") == "text":
        return as_text(part.get("text"))
    url = as_text(as_dict(part.get("image_url")).get("url"))
    head, _, data = url.partition(";base64,")
    return format_attachment("image", head.removeprefix("data:"), data) if data else url


def _decode_answer(
    message: LogEntry, value: dict[str, Any], content: str
) -> Iterator[Record]:
    """Decode the thoughts, the text and the calls of an answer."""
    if thought := as_text(value.get("reasoning")).strip():
        yield message.make_thinking(thought)
    calls = [as_dict(call) for call in as_list(value.get("tool_calls"))]
    if damaged_calls := as_text(value.get("tool_calls")):
        yield message.make_unknown(damaged_calls, block=2, note="tool_calls")
    is_cut = value.get("finish_reason") == "length"
    reason = "" if calls else "max_tokens" if is_cut else "end_turn"
    if content.strip():
        yield message.make_answer(content, block=1, stop_reason=reason)
    for block, call in enumerate(calls, _FIRST_CALL_BLOCK):
        function = as_dict(call.get("function"))
        name = as_text(function.get("name"))
        arguments = function.get("arguments")
        yield message.make_call(name, as_text(call.get("id")), arguments, block=block)


def _decode_result(message: LogEntry, value: dict[str, Any], content: str) -> Record:
    """Decode a result: the output of a command, or else the tool's text or JSON."""
    result = _parse_json_text(content)
    text = content
    metadata: dict[str, Any] = {}
    if "exit_code" in result and isinstance(result.get("output"), str):
        error = as_text(result.get("error"))
        output = "\n".join(filter(None, (result["output"], error)))
        text, metadata = mark_exit_code(output, result["exit_code"])
    if result.get("error") or result.get("success") is False:
        metadata["is_error"] = True
    if report := _find_report(result):
        metadata["report"] = report
    name, call_id = as_text(value.get("tool_name")), as_text(value.get("tool_call_id"))
    return message.make_result(name, call_id, text, **metadata)


def _find_report(result: dict[str, Any]) -> str:
    """Return the reports of the subagents in a call's result, or "".

    Only results of subagents have a `task_index`.
    """
    results = [as_dict(each) for each in as_list(result.get("results"))]
    summaries = [as_text(r.get("summary")) for r in results if "task_index" in r]
    return "\n\n".join(filter(None, summaries))


def _decode_usage(log_entry: LogEntry, value: dict[str, Any]) -> Iterator[Record]:
    """Decode the tokens of a model: sums, which grow with every request."""
    usage = Usage(
        as_count(value.get("input")),
        as_count(value.get("output")),
        as_count(value.get("cache_read")),
        as_count(value.get("cache_write")),
    )
    names = [as_text(value.get(n)) for n in ("model", "provider", "mode", "task")]
    usage_id = "usage " + to_json(names)
    if usage:
        record = log_entry.make_usage(usage, f"{log_entry.scope} {usage_id}")
        yield replace(
            record,
            native_id=usage_id,
            model=names[0],
            created_at=parse_time(value.get("at")),
            metadata={"is_sum": True},
        )


def _decode_end(log_entry: LogEntry, session: dict[str, Any]) -> Record:
    """Decode the end of a session; a session that is resumed ends again."""
    event = log_entry.make_event("ended", note=as_text(session.get("end_reason")))
    ended_at = parse_time(session.get("ended"))
    return replace(event, native_id=f"ended {ended_at or ''}", created_at=ended_at)
