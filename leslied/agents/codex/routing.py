"""Find the session of a line, detect replayed lines, and decode thread settings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

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
    rf"rollout-\d{{4}}.*?-({_UUID})(_{_UUID})?\.jsonl?(?:\.zst)?"
)
_UUID7_PREFIX = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7")
"""Start of an id whose first characters are its time in milliseconds."""
_UUID7_TIME_LENGTH = 13
"""Number of characters of that time: twelve digits and a hyphen."""
_REPLAY_PAUSE_SECONDS = 1.0
"""Replayed lines are written at once: a line after a longer pause is new."""
_ID = re.compile(r"[\w.:-]{1,100}", re.ASCII)
_MAX_FACT_BYTES = {"cwd": 1200}
_DEFAULT_MAX_FACT_BYTES = 120
"""Longer values are ignored, to keep the decode state small."""


class LineContext(NamedTuple):
    """Session, thread, time, id and model of a line."""

    key: SessionKey
    thread: str
    time: datetime | None = None
    native_id: str = ""
    model: str = ""
    ordinal: int | None = None
    """Number of the line in its conversation; after a rewind, numbers are reused."""

    def make_record(
        self, type_: RecordType, role: Role, content: str = "", **fields: Any
    ) -> Record:
        """Return a record of this line."""
        return Record(
            session=self.key,
            type=type_,
            role=role,
            content=content,
            native_id=self.native_id,
            scope=self.thread if self.native_id else "",
            created_at=self.time,
            **fields,
        )

    def make_event(self, kind: EventKind, content: str = "", **facts: Any) -> Record:
        """Return an event of this line with all facts that are not empty."""
        present_facts = {
            name: value for name, value in facts.items() if value not in (None, "")
        }
        metadata = {"kind": kind, **present_facts}
        return self.make_record("system_event", "system", content, metadata=metadata)

    def make_subagent_link(self, child: str, link_source: str, **facts: Any) -> Record:
        """Return an event that links a subagent to the call that spawned it.

        `child` is the subagent's id. `link_source` says which kind of line has the
        link; each kind has its own event.
        """
        facts = {name: value for name, value in facts.items() if value}
        return Record(
            session=SessionKey(
                self.key.agent, self.key.session_id, f"subagent:{child}"
            ),
            type="system_event",
            role="system",
            native_id=f"{link_source}:{child}",
            scope=self.key.session_id,
            created_at=self.time,
            metadata={"kind": "subagent_linked", **facts},
        )


def route_line(
    source: SourceRef, line: CodexLine, state: dict[str, Any]
) -> tuple[LineContext, dict[str, Any]]:
    """Return the line's context and the new state.

    The name and the first line of the file decide the session.
    """
    if "thread" not in state:
        meta = line.payload if line.type == "session_meta" else {}
        state = {**state, **_make_initial_state(source, meta)}
    key = SessionKey(*state["key"])
    time = parse_time(line.timestamp)
    native_id = id_field(line.payload, "id") if line.type == "response_item" else ""
    model = state.get("facts", {}).get("model", "")
    context = LineContext(key, state["thread"], time, native_id, model, line.ordinal)
    return context, state


def _make_initial_state(source: SourceRef, meta: dict[str, Any]) -> dict[str, Any]:
    """Return the thread, its session key, and where its own lines start.

    `meta` is the payload of the file's header, or empty if the header is missing.
    """
    name = printable_name(source.path.name)
    match = _ROLLOUT_NAME.fullmatch(name)
    thread = match[1] if match else id_field(meta, "id") or name.partition(".")[0][:100]
    # The main session of a subagent; empty if the thread is a main session itself.
    main_session = id_field(meta, "session_id")
    if main_session in ("", thread):
        main_session = _find_parent(meta)
    stream = f"subagent:{thread}" if main_session else MAIN
    state: dict[str, Any] = {
        "thread": thread,
        "key": [source.agent, main_session or thread, stream],
    }
    if match and match[2] and object_field(meta, "history_base"):
        # After a rewind, the client continues the thread in a new file.
        state["is_rewind"] = True
    if main_session or object_field(meta, "source").get("subagent"):
        # Another agent wrote the thread's user messages.
        state["is_task"] = True
    start = meta.get("subagent_history_start_ordinal")
    if type(start) is int and 0 < start < 2**53:
        state["replay"] = {"until": start}
    elif meta.get("forked_from_id") and not object_field(meta, "history_base"):
        # Copied lines come first; the header does not say where they end.
        state["replay"] = {}
    return state


def id_field(value: dict[str, Any], name: str) -> str:
    """Return the id in this field, or "" if it is missing or malformed."""
    return as_id(value.get(name))


def as_id(value: object) -> str:
    """Return the value if it is a well-formed id, or ""."""
    return value if isinstance(value, str) and _ID.fullmatch(value) else ""


def _find_parent(meta: dict[str, Any]) -> str:
    """Return the id of the thread that spawned this one, or ""."""
    subagent = object_field(object_field(meta, "source"), "subagent")
    spawn = object_field(subagent, "thread_spawn")
    parent = id_field(spawn, "parent_thread_id")
    if not parent and (subagent or text_field(meta, "thread_source") == "subagent"):
        parent = id_field(meta, "parent_thread_id")
    return parent


def detect_replay(
    line: CodexLine, state: dict[str, Any]
) -> tuple[bool, dict[str, Any]]:
    """Return whether the line repeats one of the parent thread, and the new state."""
    replay, thread = state.get("replay"), state["thread"]
    is_header = line.type == "session_meta"
    header_thread = text_field(line.payload, "id") if is_header else None
    if replay is None:
        if header_thread in (None, "", thread):
            return False, state
        # After the header of another thread, that thread's lines are replayed.
        replay = {}
    elif header_thread == thread:
        return False, {**state, "replay": {**replay, **_replay_time(line)}}
    if _is_first_own_line(line, replay, thread):
        return False, {key: value for key, value in state.items() if key != "replay"}
    return True, {**state, "replay": {**replay, **_replay_time(line)}}


def _is_first_own_line(line: CodexLine, replay: dict[str, Any], thread_id: str) -> bool:
    """Return whether the lines copied from another thread end before this line.

    The line's ordinal decides, or else the time in its turn id, or else the pause
    between the previous line and this one.
    """
    if "until" in replay:
        return line.ordinal is not None and line.ordinal >= int(replay["until"])
    turn_id = text_field(line.payload, "turn_id")
    if _UUID7_PREFIX.match(turn_id) and _UUID7_PREFIX.match(thread_id):
        return turn_id[:_UUID7_TIME_LENGTH] >= thread_id[:_UUID7_TIME_LENGTH]
    previous, time = parse_time(replay.get("at")), parse_time(line.timestamp)
    return bool(
        previous and time and (time - previous).total_seconds() > _REPLAY_PAUSE_SECONDS
    )


def _replay_time(line: CodexLine) -> dict[str, str]:
    """Return the line's time as a part of the replay state; empty if it has none."""
    time = parse_time(line.timestamp)
    return {"at": time.isoformat()} if time else {}


def decode_session_meta(
    line: CodexLine, context: LineContext, state: dict[str, Any]
) -> tuple[tuple[Record, ...], dict[str, Any]]:
    """Decode the thread's header: directory, version and parent."""
    meta = line.payload
    facts = {
        "cwd": text_field(meta, "cwd"),
        "version": text_field(meta, "cli_version"),
        "git_branch": text_field(object_field(meta, "git"), "branch"),
        "entrypoint": text_field(meta, "originator"),
        "forked_from": text_field(meta, "forked_from_id"),
    }
    changed, new_state = record_facts(facts, state)
    kind: EventKind = "context" if state.get("facts") else "opened"
    records = [context.make_event(kind, **changed)]
    if state.get("is_rewind"):
        base = object_field(meta, "history_base")
        event = context.make_event("rewound", ordinal=base.get("end_ordinal_exclusive"))
        records.append(replace(event, block=1))
    if context.key.source != MAIN:
        records.append(_link_to_parent(meta, context))
    return tuple(records), new_state


def _link_to_parent(meta: dict[str, Any], context: LineContext) -> Record:
    """Return a subagent's link to its parent, from the subagent's own header."""
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
    """Decode a turn's settings; return no record if nothing changed."""
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
    """Return the facts that changed, except overlong ones, and the new state."""
    previous: dict[str, str] = {**state.get("facts", {}), "cwd": state.get("cwd", "")}
    changed = {
        name: value
        for name, value in facts.items()
        if value
        and value != previous.get(name)
        and len(value.encode()) <= _MAX_FACT_BYTES.get(name, _DEFAULT_MAX_FACT_BYTES)
    }
    if not changed:
        return {}, state
    current = {**previous, **changed}
    return changed, {**state, "cwd": current.pop("cwd"), "facts": current}
