"""Which session a line belongs to, and what holds until it changes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from leslied.agents._parsing import parse_time, printable
from leslied.agents.codex.wire import object_in, text_in
from leslied.model.record import MAIN, Record, SessionKey

if TYPE_CHECKING:
    from datetime import datetime

    from leslied.agents.codex.wire import Line
    from leslied.model.record import EventKind, RecordType, Role
    from leslied.model.source import SourceRef

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_NAMED = re.compile(rf"rollout-\d{{4}}.*?-({_UUID})(?:_{_UUID})?\.jsonl?(?:\.zst)?")
_BORN = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7")
"""An id that begins with its time, to the millisecond."""
_PAUSE = 1.0
"""Replayed lines are written in one go: what comes later than this is new."""
_ID = re.compile(r"[\w.:-]{1,100}", re.ASCII)
_LONGEST = {"cwd": 1200}
"""In bytes; longer facts are no facts: what is remembered stays small."""


class Here(NamedTuple):
    """Where a line stands: its stream, its thread, its time, and its own id."""

    key: SessionKey
    thread: str
    time: datetime | None = None
    native_id: str = ""
    model: str = ""

    def make(
        self, type_: RecordType, role: Role, content: str = "", **more: Any
    ) -> Record:
        """A record of this line."""
        return Record(
            session=self.key,
            type=type_,
            role=role,
            content=content,
            native_id=self.native_id,
            scope=self.thread if self.native_id else "",
            created_at=self.time,
            **more,
        )

    def tell(self, kind: EventKind, content: str = "", **more: Any) -> Record:
        """An event of this line, with what is known of it."""
        known = {name: value for name, value in more.items() if value not in (None, "")}
        block = known.pop("block", 0)
        metadata = {"kind": kind, **known}
        return self.make(
            "system_event", "system", content, block=block, metadata=metadata
        )

    def link(self, child: str, teller: str, **known: Any) -> Record:
        """An event that ties a subagent of this session to the call that spawned it."""
        known = {name: value for name, value in known.items() if value}
        return Record(
            session=SessionKey(
                self.key.agent, self.key.session_id, f"subagent:{child}"
            ),
            type="system_event",
            role="system",
            native_id=f"{teller}:{child}",
            scope=self.key.session_id,
            created_at=self.time,
            metadata={"kind": "subagent_linked", **known},
        )


def place(
    source: SourceRef, line: Line, state: dict[str, Any]
) -> tuple[Here, dict[str, Any]]:
    """Where the line stands; the file's name and its first line decide."""
    if "thread" not in state:
        meta = line.payload if line.type == "session_meta" else {}
        state = {**state, **_read_head(source, meta)}
    key = SessionKey(*state["key"])
    time = parse_time(line.timestamp)
    native = id_in(line.payload, "id") if line.type == "response_item" else ""
    model = state.get("facts", {}).get("model", "")
    return Here(key, state["thread"], time, native, model), state


def _read_head(source: SourceRef, meta: dict[str, Any]) -> dict[str, Any]:
    """The thread's own id, the session it is part of, and what it starts from."""
    name = printable(source.path.name)
    found = _NAMED.fullmatch(name)
    thread = found[1] if found else id_in(meta, "id") or name.partition(".")[0][:100]
    parent, root = _find_parent(meta), id_in(meta, "session_id")
    session = root if root and root != thread else parent
    stream = f"subagent:{thread}" if session else MAIN
    head: dict[str, Any] = {
        "thread": thread,
        "key": [source.agent, session or thread, stream],
    }
    if session or object_in(meta, "source").get("subagent"):
        head["is_task"] = True
    start = meta.get("subagent_history_start_ordinal")
    if type(start) is int and 0 < start < 2**53:
        head["replay"] = {"until": start}
    elif meta.get("forked_from_id") and not object_in(meta, "history_base"):
        head["replay"] = {}
    return head


def id_in(value: dict[str, Any], name: str) -> str:
    """The id of that name; empty where it is none that anybody could use."""
    found = text_in(value, name)
    return found if _ID.fullmatch(found) else ""


def _find_parent(meta: dict[str, Any]) -> str:
    """The thread that spawned this one; empty where nobody did."""
    subagent = object_in(object_in(meta, "source"), "subagent")
    spawn = object_in(subagent, "thread_spawn")
    parent = id_in(spawn, "parent_thread_id")
    if not parent and (subagent or text_in(meta, "thread_source") == "subagent"):
        parent = id_in(meta, "parent_thread_id")
    return parent


def notice_replay(line: Line, state: dict[str, Any]) -> tuple[bool, dict[str, Any]]:
    """Whether a fork repeats its parent's line here; and whether that goes on."""
    replay = state.get("replay")
    if replay is None:
        told = text_in(line.payload, "id")
        is_parent = line.type == "session_meta" and told not in ("", state["thread"])
        if not is_parent:
            return False, state
        replay = {}
    elif line.type == "session_meta" and text_in(line.payload, "id") == state["thread"]:
        return False, {**state, "replay": {**replay, **_stamp(line)}}
    if _is_own(line, replay, state["thread"]):
        return False, {n: v for n, v in state.items() if n != "replay"}
    return True, {**state, "replay": {**replay, **_stamp(line)}}


def _is_own(line: Line, replay: dict[str, Any], thread: str) -> bool:
    """The first line of the fork itself: told by number, by turn, or by a pause."""
    if "until" in replay:
        return line.ordinal is not None and line.ordinal >= int(replay["until"])
    turn = text_in(line.payload, "turn_id")
    if _BORN.match(turn) and _BORN.match(thread):
        return turn[:13] >= thread[:13]
    before, now = parse_time(replay.get("at")), parse_time(line.timestamp)
    return bool(before and now and (now - before).total_seconds() > _PAUSE)


def _stamp(line: Line) -> dict[str, str]:
    time = parse_time(line.timestamp)
    return {"at": time.isoformat()} if time else {}


def open_session(
    line: Line, here: Here, state: dict[str, Any]
) -> tuple[tuple[Record, ...], dict[str, Any]]:
    """What a thread says of itself: its folder, its version, its parent."""
    meta = line.payload
    facts = {
        "cwd": text_in(meta, "cwd"),
        "version": text_in(meta, "cli_version"),
        "git_branch": text_in(object_in(meta, "git"), "branch"),
        "entrypoint": text_in(meta, "originator"),
        "forked_from": text_in(meta, "forked_from_id"),
    }
    changed, after = note_facts(facts, state)
    kind: EventKind = "context" if state.get("facts") else "opened"
    records = [here.tell(kind, **changed)]
    if here.key.source != MAIN:
        records.append(_link_own(meta, here))
    return tuple(records), after


def _link_own(meta: dict[str, Any], here: Here) -> Record:
    parent = _find_parent(meta) or id_in(meta, "parent_thread_id")
    return here.link(
        here.thread,
        "meta",
        parent_agent=parent if parent != here.key.session_id else "",
        agent_type=text_in(meta, "agent_role") or text_in(meta, "agent_type"),
        description=text_in(meta, "agent_path") or text_in(meta, "agent_nickname"),
    )


def turn_to(
    line: Line, here: Here, state: dict[str, Any]
) -> tuple[tuple[Record, ...], dict[str, Any]]:
    """What a turn works with; told only where it is another than before."""
    told = line.payload
    mode = text_in(object_in(told, "collaboration_mode"), "mode")
    facts = {
        "cwd": text_in(told, "cwd"),
        "model": text_in(told, "model"),
        "effort": text_in(told, "effort"),
        "approval_policy": text_in(told, "approval_policy"),
        "sandbox": text_in(object_in(told, "sandbox_policy"), "type"),
        "mode": mode,
    }
    changed, state = note_facts(facts, state)
    return ((here.tell("context", **changed),) if changed else ()), state


def note_facts(
    facts: dict[str, str], state: dict[str, Any]
) -> tuple[dict[str, str], dict[str, Any]]:
    """The facts that are new, and the state that knows them."""
    known: dict[str, str] = {**state.get("facts", {}), "cwd": state.get("cwd", "")}
    changed = {
        name: value
        for name, value in facts.items()
        if value
        and value != known.get(name)
        and len(value.encode()) <= _LONGEST.get(name, 120)
    }
    if not changed:
        return {}, state
    after = {**known, **changed}
    return changed, {**state, "cwd": after.pop("cwd"), "facts": after}
