"""Which session a line belongs to, and the facts that hold until they change."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from leslied.agents._parsing import parse_time, printable_name
from leslied.model.record import MAIN, Record, SessionKey

if TYPE_CHECKING:
    from leslied.agents.claude_code.schema import ClaudeLine
    from leslied.model.source import SourceRef

CONTEXT_BLOCK = 900
"""Block number of the record that tells a line's changed context."""
_MAX_CHAINS = 12
_MAX_FACT_LENGTHS = {"cwd": 800, "version": 60, "git_branch": 120}
"""Facts longer than this are no facts: what is remembered stays small."""


def route_line(
    source: SourceRef, line: ClaudeLine, state: dict[str, Any]
) -> tuple[SessionKey, dict[str, Any]]:
    """The session of a line: its file decides, the line's own id is only a hint."""
    known = state.get("key")
    # An old subagent's file is told by its first line that names a session.
    if not known or (known[1].startswith("agent-") and line.sessionId):
        known = list(_key_from_path(source, line))
        state = {**state, "key": known}
    key = _make_key(*known)
    if line.isSidechain and key.source == MAIN:
        return _route_inline_subagent(key, line, state)
    return key, state


_make_key = lru_cache(maxsize=64)(SessionKey)


def _key_from_path(source: SourceRef, line: ClaudeLine) -> SessionKey:
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
    """Old logs hold subagents inline: each root line starts one, parents tell which."""
    chains: dict[str, str] = state.get("chains", {})
    name = chains.get(line.parentUuid or "")
    if line.agentId:
        name = line.agentId
    elif name is None:
        latest = next(reversed(chains.values()), None)
        name = latest if line.parentUuid and latest else (line.uuid or "")[:8]
    if line.uuid:
        kept = {u: n for u, n in chains.items() if u != line.parentUuid}
        chains = dict([*kept.items(), (line.uuid, name)][-_MAX_CHAINS:])
        state = {**state, "chains": chains}
    return SessionKey(key.agent, key.session_id, f"subagent:{name}"), state


def detect_context_change(
    line: ClaudeLine, state: dict[str, Any]
) -> tuple[tuple[Record, ...], dict[str, Any]]:
    """A record of what changed around the conversation: folder, branch, version.

    It stands in the file's own session, also when a subagent inside it speaks.
    """
    known: dict[str, str] = state.get("context", {})
    facts = (
        ("version", line.version),
        ("git_branch", line.gitBranch),
        ("entrypoint", line.entrypoint),
        ("permission_mode", line.permissionMode),
    )
    changed = {n: v for n, v in facts if v is not None and known.get(n) != v}
    if line.cwd is not None and line.cwd != state.get("cwd"):
        changed["cwd"] = line.cwd
    if not changed or not line.uuid:
        return (), state
    changed = {
        n: v for n, v in changed.items() if len(v) <= _MAX_FACT_LENGTHS.get(n, 60)
    }
    record = Record(
        session=_make_key(*state["key"]),
        type="system_event",
        role="system",
        native_id=line.uuid,
        block=CONTEXT_BLOCK,
        created_at=parse_time(line.timestamp),
        metadata={"kind": "context" if known else "opened", **changed},
    )
    cwd = changed.pop("cwd", state.get("cwd", ""))
    return (record,), {**state, "context": {**known, **changed}, "cwd": cwd}
