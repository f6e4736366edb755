"""Decode gptme's messages: one JSON object per line, without ids.

`docs/formats/gptme.md` documents them.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leslied.agents._entry import (
    LogEntry,
    as_count,
    as_dict,
    as_folder,
    as_list,
    as_text,
    get_side_file,
)
from leslied.agents._parsing import (
    parse_local_time,
    parse_object,
    printable_name,
    reject_entry,
)
from leslied.agents.gptme.content import iter_parts, parse_result
from leslied.model.record import DecodeResult, SessionKey, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.agents.gptme.content import Part
    from leslied.model.record import Origin, Record
    from leslied.model.source import RawEntry

    State = dict[str, Any]
    """`cwd`; `last`: the id of the message before; `calls`: tool and id of each call
    without a result."""

_OPENED_BLOCK, _END_BLOCK, _USAGE_BLOCK = 900, 901, 902
"""Block numbers of records that are not a part of a message's text."""
_ROLES = frozenset({"system", "user", "assistant"})
_TIME = re.compile(r"[0-9T:.+-]{1,40}")
_MAX_OPEN_CALLS = 5
"""Maximum number of an answer's calls that wait for results.

Usually, only the first call is run.
"""
_TOKEN_NAMES = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_creation_tokens",
)
_WORKSPACE = re.compile(r'^workspace = ".*"$', re.MULTILINE)
_DEFAULT_ROOTS = (
    Path(".local/share/gptme/logs"),
    Path("Library/Application Support/gptme/logs"),
)
_WORKING_DIRECTORY = re.compile(r"^\*\*Working Directory:\*\* (/.*)$", re.MULTILINE)
_AUTO_REPLY = re.compile(r"<system>(.*)</system>", re.DOTALL)
"""A message that the client wrote in the user's name, to make the agent go on."""
_COMMAND = re.compile(r"/[^/\s]+(\s.*)?", re.DOTALL)
_SUBAGENT_PREFIX = "subagent-"
_INTERRUPT = "Interrupted by user"
_COMPLETE = "complete"
"""The tool with which the agent ends its work."""


def decode_line(entry: RawEntry, state: State) -> DecodeResult:
    """Decode one line of `NAME/conversation.jsonl`."""
    value = parse_object(entry.data)
    time, role = as_text(value.get("timestamp")), as_text(value.get("role"))
    if entry.is_fragment and not (time and role):
        reject_entry("a fragment that is not a message")
    session_id = _get_session_id(entry)
    last_id = as_text(state.get("last"))
    message = LogEntry(
        key=SessionKey(entry.source.agent, session_id),
        native_id=_make_id(entry, time, role, last_id),
        scope=session_id,
        created_at=parse_local_time(time),
        parent_id=last_id,
        model=_parse_model(value),
    )
    cwd = _find_folder(value, state, entry.source.root)
    records = list(_decode_message(message, role, value, state)) or [
        message.make_unknown(entry.data, role=role)
    ]
    if not last_id:
        records.insert(0, message.make_event("opened", block=_OPENED_BLOCK, cwd=cwd))
    new_state = _update_state(message, role, records, state) | (
        {"cwd": cwd} if cwd else {}
    )
    return DecodeResult(records=tuple(records), state=new_state, cwd=cwd)


def decode_settings(entry: RawEntry) -> DecodeResult:
    """Decode `NAME/config.toml`, which the client rewrites when it names the session.

    Everything but the title and the folder is in the conversation.
    """
    chat = as_dict(_parse_toml(entry.data.decode(errors="replace")).get("chat"))
    cwd = _check_folder(chat.get("workspace"), entry.source.root)
    title = as_text(chat.get("name"))
    session_id = _get_session_id(entry)
    state = {"cwd": cwd} if cwd else {}
    if not title or title == session_id:
        return DecodeResult(state=state, noise="settings", cwd=cwd)
    log_entry = LogEntry(
        key=SessionKey(entry.source.agent, session_id),
        native_id=f"title:{title}",
        scope=session_id,
    )
    event = log_entry.make_event("title", title, title_kind="ai")
    return DecodeResult(records=(event,), state=state, cwd=cwd)


def _parse_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        reject_entry("not TOML")


def _get_session_id(entry: RawEntry) -> str:
    """Return the session id, which is the name of the conversation's directory."""
    return printable_name(entry.source.path.parent.name)


def _make_id(entry: RawEntry, time: str, role: str, last_id: str) -> str:
    """Return an id that stays the same when the client rewrites the file.

    Times have microseconds. Consecutive messages with the same time are numbered.
    """
    if role in _ROLES and _TIME.fullmatch(time):
        id_ = f"{time}-{role}"
    else:
        id_ = hashlib.sha256(entry.data).hexdigest()[:32]
    base, _, number = last_id.partition("#")
    return f"{id_}#{int(number or 1) + 1}" if base == id_ else id_


def _find_folder(value: dict[str, Any], state: State, root: Path) -> str:
    """Return the directory that the state, settings or system prompt names, or ""."""
    if cwd := as_text(state.get("cwd")):
        return cwd
    line = _WORKSPACE.search(get_side_file(state))
    if line and (cwd := _check_folder(_parse_workspace(line[0]), root)):
        return cwd
    is_system = value.get("role") == "system"
    match = _WORKING_DIRECTORY.search(as_text(value.get("content")))
    return _check_folder(match[1], root) if is_system and match else ""


def _parse_workspace(line: str) -> object:
    try:
        return tomllib.loads(line).get("workspace")
    except ValueError:
        return None


def _check_folder(value: object, root: Path) -> str:
    """Return an absolute path; "" for other values, such as `@log`.

    The client writes `~` for the home directory.
    """
    folder = as_folder(value)
    if folder == "~" or folder.startswith("~/"):
        folder = _find_home(root) + folder[1:]
    return folder if folder.startswith("/") else ""


def _find_home(root: Path) -> str:
    """Return the home directory above the default root; "~" for other roots."""
    for suffix in _DEFAULT_ROOTS:
        if root.parts[-len(suffix.parts) :] == suffix.parts:
            return str(root.parents[len(suffix.parts) - 1])
    return "~"


def _parse_model(value: dict[str, Any]) -> str:
    """Return the model without the provider before it."""
    model = as_text(as_dict(value.get("metadata")).get("model"))
    return model.partition("/")[2] or model


def _update_state(
    message: LogEntry, role: str, records: list[Record], state: State
) -> State:
    """Return the state: the message's id, and the open calls.

    Only calls to which the client gave no id are stored: results name all others.
    """
    calls = as_list(state.get("calls"))
    if role == "assistant":
        calls = [
            [record.tool_name, record.tool_call_id]
            for record in records
            if record.type == "tool_use" and _is_made_id(message, record.tool_call_id)
        ][:_MAX_OPEN_CALLS]
    elif role == "user":
        calls = []
    elif any(record.type == "tool_result" for record in records):
        calls = calls[1:]
    return {"last": message.native_id} | ({"calls": calls} if calls else {})


def _is_made_id(message: LogEntry, call_id: str) -> bool:
    """Return whether `_decode_call` made the id, because the call has none."""
    return call_id.startswith(f"{message.native_id}:")


def _decode_message(
    message: LogEntry, role: str, value: dict[str, Any], state: State
) -> Iterator[Record]:
    content = value.get("content")
    if not isinstance(content, str):
        yield message.make_unknown(content, role=role)
        return
    match role:
        case "user":
            yield _decode_user(message, content, value)
        case "assistant":
            yield from _decode_answer(message, content)
            yield from _decode_usage(message, value)
        case "system":
            yield from _decode_system(message, content, value, state)


def _decode_user(message: LogEntry, text: str, value: dict[str, Any]) -> Record:
    if reply := _AUTO_REPLY.fullmatch(text.strip()):
        return message.make_event("context", reply[1], note="auto_reply")
    origin: Origin = "prompt"
    if message.key.session_id.startswith(_SUBAGENT_PREFIX):
        origin = "task"
    elif _COMMAND.fullmatch(text):
        origin = "command"
    files = "\n".join(filter(None, map(as_text, as_list(value.get("files")))))
    metadata = {"origin": origin} | ({"attached": files} if files else {})
    return message.make_record("user_message", "user", content=text, metadata=metadata)


def _decode_answer(message: LogEntry, text: str) -> Iterator[Record]:
    """Decode the parts of an answer; an answer without a call ends the turn."""
    parts = list(iter_parts(text))
    ends_turn = not any(part.tool for part in parts)
    for block, part in enumerate(parts):
        if part.tool:
            yield _decode_call(message, part, block)
        elif part.is_thought:
            yield message.make_thinking(part.text, block=block)
        else:
            stop_reason = "end_turn" if ends_turn else ""
            yield message.make_answer(part.text, block=block, stop_reason=stop_reason)
    if ends_turn and not any(part.text and not part.is_thought for part in parts):
        yield message.make_event("turn_ended", block=_END_BLOCK)


def _decode_call(message: LogEntry, part: Part, block: int) -> Record:
    call_id = part.call_id or f"{message.native_id}:{block}"
    return message.make_call(part.tool, call_id, part.arguments, block=block)


def _decode_usage(message: LogEntry, value: dict[str, Any]) -> Iterator[Record]:
    """Decode the tokens of an answer; old versions have them beside the model."""
    metadata = as_dict(value.get("metadata"))
    counts = as_dict(metadata.get("usage")) or metadata
    usage = Usage(*(as_count(counts.get(name)) for name in _TOKEN_NAMES))
    if usage:
        message_id = f"{message.scope}:{message.native_id}"
        yield message.make_usage(usage, message_id, block=_USAGE_BLOCK)


def _decode_system(
    message: LogEntry, text: str, value: dict[str, Any], state: State
) -> Iterator[Record]:
    """Decode a tool result, or a message of the client to the model."""
    name, call_id = _find_call(text, value, state)
    is_interrupt = text.strip() == _INTERRUPT
    if call_id:
        result, facts = parse_result(text)
        yield message.make_result(name, call_id, result, **facts)
    elif not is_interrupt:
        note = "system_prompt" if value.get("pinned") is True else "system"
        yield message.make_event("context", text, note=note)
    if is_interrupt:
        yield message.make_event("turn_ended", block=_END_BLOCK, note="interrupt")
    elif name == _COMPLETE:
        yield message.make_event("turn_ended", block=_END_BLOCK)


def _find_call(text: str, value: dict[str, Any], state: State) -> tuple[str, str]:
    """Return tool and id of the call that a message answers; empty if there is none.

    Without an id, a message answers the first open call, unless it is a notice of the
    client, which is hidden or an XML element.
    """
    tool = as_text(as_dict(value.get("metadata")).get("tool"))
    if call_id := as_text(value.get("call_id")):
        return tool, call_id
    calls = as_list(state.get("calls"))
    if not calls or value.get("hide") is True or text.lstrip().startswith("<"):
        return "", ""
    match calls[0]:
        case [str(name), str(id_)]:
            return name, id_
    return "", ""
