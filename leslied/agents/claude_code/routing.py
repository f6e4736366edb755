"""Find the session of a line, and detect changes of directory, branch and version."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from leslied.agents._parsing import parse_time, printable_name
from leslied.model.record import MAIN, Record, SessionKey

if TYPE_CHECKING:
    from leslied.agents.claude_code.schema import ClaudeLine
    from leslied.model.source import SourceRef

CONTEXT_BLOCK = 900
"""Block number of the record with a line's changed context."""
_MAX_CHAINS = 12
"""Number of inline subagents in the decode state, which must stay small."""
_MAX_SKIPPED = 4
_MAX_UUID_LENGTH = 40
"""Number and length of ids of skipped lines in the decode state."""
_MAX_FACT_LENGTHS = {"cwd": 800, "version": 60, "git_branch": 120}
_DEFAULT_MAX_FACT_LENGTH = 60
"""Longer values are ignored, to keep the decode state small."""


def route_line(
    source: SourceRef, line: ClaudeLine, state: dict[str, Any]
) -> tuple[SessionKey, dict[str, Any]]:
    """Return the session of a line and the new state.

    The path decides. The line's session id is used only for subagents' files of old
    versions, whose path does not name the session.
    """
    key_fields = state.get("key")
    # A subagent's file of an old version has a provisional key until a line has a
    # session id.
    if not key_fields or (key_fields[1].startswith("agent-") and line.sessionId):
        key_fields = list(_key_from_path(source, line))
        state = {**state, "key": key_fields}
    key = _make_key(*key_fields)
    if line.isSidechain and key.source == MAIN:
        return _route_inline_subagent(key, line, state)
    return key, state


_make_key = lru_cache(maxsize=64)(SessionKey)


def _key_from_path(source: SourceRef, line: ClaudeLine) -> SessionKey:
    """Return the session of a file from its path.

    A subagent's file of an old version is not in its session's folder; for such a file,
    the line decides.
    """
    parts = tuple(map(printable_name, source.parts))
    stem = parts[-1].removesuffix(".jsonl")
    if "subagents" in parts[2:]:
        agent_id = stem.removeprefix("agent-")
        return SessionKey(source.agent, parts[1], f"subagent:{agent_id}")
    if stem.startswith("agent-"):
        parent = line.sessionId or line.session_id or stem
        return SessionKey(
            source.agent, parent, f"subagent:{stem.removeprefix('agent-')}"
        )
    return SessionKey(source.agent, stem)


def _route_inline_subagent(
    key: SessionKey, line: ClaudeLine, state: dict[str, Any]
) -> tuple[SessionKey, dict[str, Any]]:
    """Return the key of the subagent of a line in an old log, and the new state.

    The line names its subagent, or its parent line identifies it. A line with an
    unknown parent belongs to the latest subagent; one without a parent starts another.
    """
    # The id of each subagent, by the uuid of its last line.
    chains: dict[str, str] = state.get("chains", {})
    subagent_id = chains.get(line.parentUuid or "")
    if line.agentId:
        subagent_id = line.agentId
    elif subagent_id is None:
        latest_id = next(reversed(chains.values()), None)
        new_id = (line.uuid or "")[:8]
        subagent_id = latest_id if line.parentUuid and latest_id else new_id
    if line.uuid:
        other_chains = [item for item in chains.items() if item[0] != line.parentUuid]
        chains = dict([*other_chains, (line.uuid, subagent_id)][-_MAX_CHAINS:])
        state = {**state, "chains": chains}
    return SessionKey(key.agent, key.session_id, f"subagent:{subagent_id}"), state


def mark_skipped(line: ClaudeLine, state: dict[str, Any]) -> dict[str, Any]:
    """Return the state after a line without a record.

    Later lines may name this line as their parent; `find_parent` then returns this
    line's own parent.
    """
    if not (line.uuid and line.parentUuid):
        return state
    if max(len(line.uuid), len(line.parentUuid)) > _MAX_UUID_LENGTH:
        return state
    skipped = {**state.get("skipped", {}), line.uuid: find_parent(line, state)}
    return {**state, "skipped": dict(list(skipped.items())[-_MAX_SKIPPED:])}


def find_parent(line: ClaudeLine, state: dict[str, Any]) -> str:
    """Return the id of the line's closest ancestor that has a record, or ""."""
    parent = line.parentUuid or ""
    return str(state.get("skipped", {}).get(parent, parent))


def detect_context_change(
    line: ClaudeLine, state: dict[str, Any]
) -> tuple[tuple[Record, ...], dict[str, Any]]:
    """Return a record of the facts that changed, if any, and the new state.

    Facts are the directory, the branch, the version, the entrypoint and the mode. The
    record belongs to the session of the file, even if the line is a subagent's.
    """
    previous: dict[str, str] = state.get("context", {})
    facts = (
        ("version", line.version),
        ("git_branch", line.gitBranch),
        ("entrypoint", line.entrypoint),
        ("permission_mode", line.permissionMode),
    )
    changed = {
        name: value
        for name, value in facts
        if value is not None and previous.get(name) != value
    }
    if line.cwd is not None and line.cwd != state.get("cwd"):
        changed["cwd"] = line.cwd
    if not changed or not line.uuid:
        return (), state
    changed = {
        name: value
        for name, value in changed.items()
        if len(value) <= _MAX_FACT_LENGTHS.get(name, _DEFAULT_MAX_FACT_LENGTH)
    }
    record = Record(
        session=_make_key(*state["key"]),
        type="system_event",
        role="system",
        native_id=line.uuid,
        block=CONTEXT_BLOCK,
        created_at=parse_time(line.timestamp),
        metadata={"kind": "context" if previous else "opened", **changed},
    )
    cwd = changed.pop("cwd", state.get("cwd", ""))
    return (record,), {**state, "context": {**previous, **changed}, "cwd": cwd}
