"""From one line of a Gemini log, or one whole document, to records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from leslied.agents._parsing import (
    parse_object,
    parse_time,
    printable,
    refuse,
    to_json,
)
from leslied.agents.gemini_cli.messages import (
    Frame,
    decode_message,
    decode_summary,
    is_acknowledgement,
)
from leslied.agents.gemini_cli.parts import mapping, objects, parts_of, text_of, words
from leslied.agents.gemini_cli.speech import find_folder
from leslied.model.record import MAIN, Decoded, Record, SessionKey

if TYPE_CHECKING:
    from leslied.model.source import RawEntry, SourceRef

_LONGEST = {"cwd": 800}
_LONGEST_ID = 100
"""Facts longer than this are no facts: what is remembered stays small."""
_AGAIN = "told again"
_QUIET = frozenset(
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
"""Facts of a session that repeat what its messages say, or serve the client alone."""
_TAKEN_BACK = "No answer came, and Gemini CLI took the prompt back without saying why."
_NAMELESS = 1000
"""Block number of a checkpoint's first message, where messages have no ids."""


def decode_line(entry: RawEntry, state: dict[str, Any]) -> Decoded:
    """What one line of a session's or subagent's log means."""
    line = _parse(entry.data)
    if entry.is_fragment and not _is_entry(line):
        refuse("a fragment that is no entry of its own")
    try:
        opened, state = _open(entry.source, line, state)
        records, state, noise = _decode_kind(entry, line, state)
    except RecursionError:
        refuse("nested too deeply")
    return _give([*opened, *records], state, noise)


def decode_document(entry: RawEntry, state: dict[str, Any]) -> Decoded:
    """A whole session as older versions wrote it: header and messages in one."""
    whole = _parse(entry.data)
    if not words(whole.get("sessionId")):
        refuse("a document that names no session")
    try:
        records, state = _open(entry.source, whole, state)
        records += _tell_facts(whole, _frame(entry.source, state))
        for message in objects(whole.get("messages")):
            found, state = _take(entry.source, message, state)
            records += found
    except RecursionError:
        refuse("nested too deeply")
    return _give(records, state, "")


def _parse(data: bytes) -> dict[str, Any]:
    """The line as plain Python: a checkpoint may be larger than what is mended."""
    try:
        return msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return parse_object(data)


def _is_entry(line: dict[str, Any]) -> bool:
    """Whether an object found in a damaged line is an entry, not a part of one."""
    is_message = all(words(line.get(n)) for n in ("id", "type", "timestamp"))
    return is_message or "$set" in line or "$rewindTo" in line or _is_header(line)


def _is_header(line: dict[str, Any]) -> bool:
    return bool(words(line.get("sessionId")) and words(line.get("projectHash")))


def _give(records: list[Record], state: dict[str, Any], noise: str) -> Decoded:
    """Each record once: a checkpoint tells a result under two messages."""
    kept: dict[Any, Record] = {}
    for record in records:
        name = (record.session, record.scope, record.native_id, record.block)
        kept.setdefault(name if record.native_id else len(kept), record)
    cwd = state.get("cwd", "")
    return Decoded(records=tuple(kept.values()), state=state, noise=noise, cwd=cwd)


def _frame(source: SourceRef, state: dict[str, Any]) -> Frame:
    """The file decides who speaks; a subagent's lies in its session's folder."""
    *folders, name = map(printable, source.parts)
    stem = name.rpartition(".")[0]
    if folders[2:]:
        key = SessionKey(source.agent, folders[-1], f"subagent:{stem}")
        return Frame(key, stem, state.get("task", ""))
    session_id = state.get("session") or stem
    is_open = bool(state.get("prompt")) and not state.get("is_done")
    return Frame(SessionKey(source.agent, session_id), session_id, is_open=is_open)


def _remember(state: dict[str, Any], **facts: Any) -> dict[str, Any]:
    """The state with these facts; one that is too long is not remembered."""
    short = {
        name: fact
        for name, fact in facts.items()
        if not isinstance(fact, str) or len(fact) <= _LONGEST.get(name, _LONGEST_ID)
    }
    return {**state, **short}


def _open(
    source: SourceRef, line: dict[str, Any], state: dict[str, Any]
) -> tuple[list[Record], dict[str, Any]]:
    """The session and its folder, as a header and the file beside the log tell them.

    It has no time: every resume writes a header of its own, often in another file.
    """
    marker = words(state.get("beside")).strip()
    is_first = "beside" in state or _is_header(line)
    state = {name: fact for name, fact in state.items() if name != "beside"}
    if not is_first:
        return [], state
    session_id = words(line.get("sessionId")) if _is_header(line) else ""
    if session_id and "session" not in state:
        state = _remember(state, session=session_id)
    folder = marker or state.get("cwd", "") or _first_folder(line)
    state = _remember(state, cwd=folder) if folder else state
    known = {"cwd": state["cwd"]} if state.get("cwd") else {}
    frame = _frame(source, state)
    return [_event(frame, "opened", native_id="opened", **known)], state


def _first_folder(line: dict[str, Any]) -> str:
    folders = line.get("directories")
    return words(folders[0]) if isinstance(folders, list) and folders else ""


def _event(
    frame: Frame, kind: str, content: str = "", native_id: str = "", **more: Any
) -> Record:
    return Record(
        session=frame.key,
        type="system_event",
        role="system",
        content=content,
        native_id=native_id,
        scope=frame.scope,
        metadata={"kind": kind, **more},
    )


def _decode_kind(
    entry: RawEntry, line: dict[str, Any], state: dict[str, Any]
) -> tuple[list[Record], dict[str, Any], str]:
    """Records, what to remember, and the kind of noise it was instead."""
    frame = _frame(entry.source, state)
    if words(line.get("$rewindTo")):
        event = _event(frame, "rewound", to=line["$rewindTo"])
        return [event], _remember(state, is_done=True), ""
    if "type" in line or words(line.get("id")):
        return _decode_single(entry, line, state)
    if isinstance(line.get("$set"), dict):
        return _decode_patch(entry, line["$set"], state)
    if _is_header(line):
        return _tell_facts(line, frame), state, ""
    return [_keep_unknown(entry, frame)], state, ""


def _decode_single(
    entry: RawEntry, line: dict[str, Any], state: dict[str, Any]
) -> tuple[list[Record], dict[str, Any], str]:
    """A message with a line of its own: perhaps for the second time, grown."""
    is_known = bool(line.get("id")) and line.get("id") == state.get("last")
    records, state = _take(entry.source, line, state)
    raw = entry.data.decode(errors="replace")
    if [(r.type, r.block) for r in records] == [("unknown", 0)]:
        records = [replace(records[0], content=raw)]
    state = _remember(state, last=words(line.get("id")))
    if not records:
        return [], state, "empty message"
    is_again = is_known or all(record.is_repeat for record in records)
    return records, state, _AGAIN if is_again else ""


def _take(
    source: SourceRef, message: dict[str, Any], state: dict[str, Any]
) -> tuple[list[Record], dict[str, Any]]:
    """The message's records, and what it means for the turn it stands in."""
    frame, name = _frame(source, state), words(message.get("id"))
    if not frame.task:
        frame = frame._replace(task=name)
    records = decode_message(message, frame)
    for record in records:
        origin = record.metadata.get("origin")
        if origin == "task":
            state = _remember(state, task=name)
        if origin in ("prompt", "command", "task"):
            state = _remember(state, prompt=name, is_done=False)
        elif record.type == "tool_use":
            state = _remember(state, is_done=False)
        elif _ends_turn(record):
            state = _remember(state, is_done=True)
    return records, state


def _ends_turn(record: Record) -> bool:
    return (
        record.metadata.get("stop_reason") == "end_turn"
        or record.metadata.get("kind") == "turn_ended"
        or record.type == "error"
    )


def _decode_patch(
    entry: RawEntry, patch: dict[str, Any], state: dict[str, Any]
) -> tuple[list[Record], dict[str, Any], str]:
    """Facts that changed; a list of messages stands for all that was said so far."""
    records = _tell_facts(patch, _frame(entry.source, state))
    folders = patch.get("directories")
    if isinstance(folders, list) and any(map(words, folders)):
        text = "\n".join(filter(None, map(words, folders)))
        event = _event(_frame(entry.source, state), "context", text)
        metadata = {**event.metadata, "note": "directories"}
        records.append(replace(event, metadata=metadata))
    if isinstance(patch.get("messages"), list):
        told, state = _decode_checkpoint(entry.source, patch, state)
        return [*records, *told], state, _AGAIN
    if records:
        return records, state, ""
    if _QUIET.intersection(patch):
        return [], state, "$set"
    return [_keep_unknown(entry, _frame(entry.source, state))], state, ""


def _decode_checkpoint(
    source: SourceRef, patch: dict[str, Any], state: dict[str, Any]
) -> tuple[list[Record], dict[str, Any]]:
    """What was not told before: most of it was, and the rest may be cut.

    After a compaction's summary come copies of earlier messages, under new ids; all
    that is new among them has a line of its own.
    """
    frame = _frame(source, state)._replace(is_repeat=True)
    messages: list[Any] = patch["messages"]
    end = next((n for n, m in enumerate(messages) if _thanks(m)), len(messages))
    records: list[Record] = []
    for number, message in enumerate(messages[:end]):
        if not isinstance(message, dict) or not words(message.get("id")):
            nameless = _unknown(frame, to_json(message))
            records.append(replace(nameless, block=_NAMELESS + number))
        elif number == end - 1 and end < len(messages):
            records.append(decode_summary(message, frame))
        else:
            records += decode_message(message, frame)
    found, state = _find_folder(frame, messages, state)
    if end == len(messages) and _is_taken_back(messages, state):
        records.append(_take_back(frame, patch, state["prompt"]))
        state = _remember(state, is_done=True)
    return [*found, *records], state


def _take_back(frame: Frame, patch: dict[str, Any], prompt: str) -> Record:
    """The turn failed or was cancelled: the log says no more than that it is gone."""
    return replace(
        _unknown(frame, _TAKEN_BACK),
        type="error",
        role="assistant",
        native_id=f"back:{prompt}",
        created_at=parse_time(patch.get("lastUpdated")),
    )


def _thanks(message: Any) -> bool:
    return is_acknowledgement(mapping(message))


def _is_taken_back(messages: list[Any], state: dict[str, Any]) -> bool:
    """Whether the prompt that waits for its answer is no longer among the messages."""
    prompt = state.get("prompt")
    if not prompt or state.get("is_done"):
        return False
    return all(message.get("id") != prompt for message in objects(messages))


def _find_folder(
    frame: Frame, messages: list[Any], state: dict[str, Any]
) -> tuple[list[Record], dict[str, Any]]:
    """The session's folder from the context, where the file beside the log is gone."""
    if state.get("cwd"):
        return [], state
    for message in objects(messages):
        folder = find_folder(text_of(parts_of(message.get("content"))))
        if folder:
            event = _event(frame, "context", native_id="folder", cwd=folder)
            return [event], _remember(state, cwd=folder)
    return [], state


def _tell_facts(facts: dict[str, Any], frame: Frame) -> list[Record]:
    """The title, made later, often by another session; of a subagent, its result."""
    summary = words(facts.get("summary"))
    if not summary:
        return []
    if frame.key.source != MAIN:
        return [_event(frame, "turn_ended", summary, "ended", note="result")]
    known = {"title_kind": "ai", "is_side": True}
    return [_event(frame, "title", summary, f"title:{summary[:_LONGEST_ID]}", **known)]


def _keep_unknown(entry: RawEntry, frame: Frame) -> Record:
    return _unknown(frame, entry.data.decode(errors="replace"))


def _unknown(frame: Frame, text: str) -> Record:
    return Record(
        session=frame.key,
        type="unknown",
        role="system",
        content=text,
        scope=frame.scope,
        is_repeat=frame.is_repeat,
    )
