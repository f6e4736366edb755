"""Which session a line belongs to, and what holds until it changes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from leslied.agents._parsing import parse_time, printable_name
from leslied.agents.codex.schema import object_field, text_field
from leslied.model.record import MAIN, Record, SessionKey

if TYPE_CHECKING:
    from datetime import datetime

    from leslied.agents.codex.schema import CodexLine
    from leslied.model.record import EventKind, RecordType, Role
    from leslied.model.source import SourceRef

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_ROLLOUT_NAME = re.compile(
    rf"rollout-\d{{4}}.*?-({_UUID})(?:_{_UUID})?\.jsonl?(?:\.zst)?"
)
_UUID7_PREFIX = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7")
"""An id that begins with its time, to the millisecond."""
_REPLAY_PAUSE_SECONDS = 1.0
"""Replayed lines are written in one go: what comes later than this is new."""
_ID = re.compile(r"[\w.:-]{1,100}", re.ASCII)
_MAX_FACT_BYTES = {"cwd": 1200}
"""In bytes; longer facts are no facts: what is remembered stays small."""


class LineContext(NamedTuple):
    """Where a line stands: its stream, its thread, its time, and its own id."""

    key: SessionKey
    thread: str
    time: datetime | None = None
    native_id: str = ""
    model: str = ""

    def make_record(
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

    def make_event(self, kind: EventKind, content: str = "", **more: Any) -> Record:
        """An event of this line, with what is known of it."""
        known = {name: value for name, value in more.items() if value not in (None, "")}
        block = known.pop("block", 0)
        metadata = {"kind": kind, **known}
        return self.make_record(
            "system_event", "system", content, block=block, metadata=metadata
        )

    def make_subagent_link(self, child: str, link_source: str, **known: Any) -> Record:
        """An event that ties a subagent of this session to the call that spawned it."""
        known = {name: value for name, value in known.items() if value}
        return Record(
            session=SessionKey(
                self.key.agent, self.key.session_id, f"subagent:{child}"
            ),
            type="system_event",
            role="system",
            native_id=f"{link_source}:{child}",
            scope=self.key.session_id,
            created_at=self.time,
            metadata={"kind": "subagent_linked", **known},
        )


def route_line(
    source: SourceRef, line: CodexLine, state: dict[str, Any]
) -> tuple[LineContext, dict[str, Any]]:
    """Where the line stands; the file's name and its first line decide."""
    if "thread" not in state:
        meta = line.payload if line.type == "session_meta" else {}
        state = {**state, **_parse_head(source, meta)}
    key = SessionKey(*state["key"])
    time = parse_time(line.timestamp)
    native = id_field(line.payload, "id") if line.type == "response_item" else ""
    model = state.get("facts", {}).get("model", "")
    return LineContext(key, state["thread"], time, native, model), state


def _parse_head(source: SourceRef, meta: dict[str, Any]) -> dict[str, Any]:
    """The thread's own id, the session it is part of, and what it starts from."""
    name = printable_name(source.path.name)
    found = _ROLLOUT_NAME.fullmatch(name)
    thread = found[1] if found else id_field(meta, "id") or name.partition(".")[0][:100]
    parent, root = _find_parent(meta), id_field(meta, "session_id")
    session = root if root and root != thread else parent
    stream = f"subagent:{thread}" if session else MAIN
    head: dict[str, Any] = {
        "thread": thread,
        "key": [source.agent, session or thread, stream],
    }
    if session or object_field(meta, "source").get("subagent"):
        head["is_task"] = True
    start = meta.get("subagent_history_start_ordinal")
    if type(start) is int and 0 < start < 2**53:
        head["replay"] = {"until": start}
    elif meta.get("forked_from_id") and not object_field(meta, "history_base"):
        head["replay"] = {}
    return head


def id_field(value: dict[str, Any], name: str) -> str:
    """The id of that name; empty where it is none that anybody could use."""
    found = text_field(value, name)
    return found if _ID.fullmatch(found) else ""


def _find_parent(meta: dict[str, Any]) -> str:
    """The thread that spawned this one; empty where nobody did."""
    subagent = object_field(object_field(meta, "source"), "subagent")
    spawn = object_field(subagent, "thread_spawn")
    parent = id_field(spawn, "parent_thread_id")
    if not parent and (subagent or text_field(meta, "thread_source") == "subagent"):
        parent = id_field(meta, "parent_thread_id")
    return parent


def detect_replay(
    line: CodexLine, state: dict[str, Any]
) -> tuple[bool, dict[str, Any]]:
    """Whether a fork repeats its parent's line here; and whether that goes on."""
    replay = state.get("replay")
    if replay is None:
        payload = text_field(line.payload, "id")
        is_parent = line.type == "session_meta" and payload not in ("", state["thread"])
        if not is_parent:
            return False, state
        replay = {}
    elif (
        line.type == "session_meta"
        and text_field(line.payload, "id") == state["thread"]
    ):
        return False, {**state, "replay": {**replay, **_replay_timestamp(line)}}
    if _is_first_own_line(line, replay, state["thread"]):
        return False, {n: v for n, v in state.items() if n != "replay"}
    return True, {**state, "replay": {**replay, **_replay_timestamp(line)}}


def _is_first_own_line(line: CodexLine, replay: dict[str, Any], thread: str) -> bool:
    """The first line of the fork itself: told by number, by turn, or by a pause."""
    if "until" in replay:
        return line.ordinal is not None and line.ordinal >= int(replay["until"])
    turn = text_field(line.payload, "turn_id")
    if _UUID7_PREFIX.match(turn) and _UUID7_PREFIX.match(thread):
        return turn[:13] >= thread[:13]
    before, now = parse_time(replay.get("at")), parse_time(line.timestamp)
    return bool(
        before and now and (now - before).total_seconds() > _REPLAY_PAUSE_SECONDS
    )


def _replay_timestamp(line: CodexLine) -> dict[str, str]:
    time = parse_time(line.timestamp)
    return {"at": time.isoformat()} if time else {}


def decode_session_meta(
    line: CodexLine, context: LineContext, state: dict[str, Any]
) -> tuple[tuple[Record, ...], dict[str, Any]]:
    """What a thread says of itself: its folder, its version, its parent."""
    meta = line.payload
    facts = {
        "cwd": text_field(meta, "cwd"),
        "version": text_field(meta, "cli_version"),
        "git_branch": text_field(object_field(meta, "git"), "branch"),
        "entrypoint": text_field(meta, "originator"),
        "forked_from": text_field(meta, "forked_from_id"),
    }
    changed, after = record_facts(facts, state)
    kind: EventKind = "context" if state.get("facts") else "opened"
    records = [context.make_event(kind, **changed)]
    if context.key.source != MAIN:
        records.append(_link_to_parent(meta, context))
    return tuple(records), after


def _link_to_parent(meta: dict[str, Any], context: LineContext) -> Record:
    parent = _find_parent(meta) or id_field(meta, "parent_thread_id")
    return context.make_subagent_link(
        context.thread,
        "meta",
        parent_agent=parent if parent != context.key.session_id else "",
        agent_type=text_field(meta, "agent_role") or text_field(meta, "agent_type"),
        description=text_field(meta, "agent_path")
        or text_field(meta, "agent_nickname"),
    )


def decode_turn_context(
    line: CodexLine, context: LineContext, state: dict[str, Any]
) -> tuple[tuple[Record, ...], dict[str, Any]]:
    """What a turn works with; told only where it is another than before."""
    payload = line.payload
    mode = text_field(object_field(payload, "collaboration_mode"), "mode")
    facts = {
        "cwd": text_field(payload, "cwd"),
        "model": text_field(payload, "model"),
        "effort": text_field(payload, "effort"),
        "approval_policy": text_field(payload, "approval_policy"),
        "sandbox": text_field(object_field(payload, "sandbox_policy"), "type"),
        "mode": mode,
    }
    changed, state = record_facts(facts, state)
    return ((context.make_event("context", **changed),) if changed else ()), state


def record_facts(
    facts: dict[str, str], state: dict[str, Any]
) -> tuple[dict[str, str], dict[str, Any]]:
    """The facts that are new, and the state that knows them."""
    known: dict[str, str] = {**state.get("facts", {}), "cwd": state.get("cwd", "")}
    changed = {
        name: value
        for name, value in facts.items()
        if value
        and value != known.get(name)
        and len(value.encode()) <= _MAX_FACT_BYTES.get(name, 120)
    }
    if not changed:
        return {}, state
    after = {**known, **changed}
    return changed, {**state, "cwd": after.pop("cwd"), "facts": after}
