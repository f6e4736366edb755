"""devflow: `runs/<runId>/transcript.json`, gzipped from 100 KB, and its metadata.

devflow knows no subagents: each has a run of its own, whose id is its parent's with the
subagent's behind it, and whose `input` names the parent.
"""

from __future__ import annotations

import gzip
from datetime import UTC
from typing import TYPE_CHECKING, Any

from leslied.model.codec import encode_time
from leslied.model.output import Artifact
from leslied.sinks._contract import Sink
from leslied.sinks._names import make_safe_name, make_session_name
from leslied.sinks._text import dump_json, encode_text
from leslied.sinks._turns import (
    find_version,
    iter_units,
    make_unit_turns,
    parse_input,
    sum_unit_usage,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leslied.model.record import Usage
    from leslied.model.session import Session, Unit
    from leslied.sinks._turns import ToolInvocation, Turn

COMPRESS_FROM_BYTES = 100 * 1024
_STATUS = {"cancelled": "canceled", "error": "failed"}
_MODEL_EVENTS = ("context", "compacted")
"""Events whose words the agent was given; the others are bookkeeping."""


def render(session: Session) -> tuple[Artifact, ...]:
    """A run for the session and one for each subagent."""
    began = session.summary.started_at
    date = f"{began.astimezone(UTC):%Y-%m-%d}" if began else "0001-01-01"
    run_id = f"{date}-{session.summary.key.agent}-{make_session_name(session.summary)}"
    files = [*_render_run(session, session.units, run_id, "")]
    below = [child for unit in session.units for child in unit.subagents]
    for child in iter_units(below):
        own = f"{run_id}-{make_safe_name(child.summary.subagent_id)}"
        files += _render_run(session, [child], own, run_id)
    return tuple(files)


def _render_run(
    session: Session, units: Sequence[Unit], run_id: str, parent: str
) -> Iterator[Artifact]:
    turns = [turn for chapter in make_unit_turns(units) for turn in chapter.turns]
    told = [each for turn in turns if (each := _turn_to_dict(turn))]
    for number, turn in enumerate(told, 1):
        turn["id"] = number
    metadata = _metadata_to_dict(session, units, turns, parent)
    data = encode_text(
        dump_json({"runId": run_id, "metadata": metadata, "turns": told}, 2)
    )
    folder = f"runs/{run_id}"
    plain, packed = f"{folder}/transcript.json", f"{folder}/transcript.json.gz"
    if len(data) >= COMPRESS_FROM_BYTES:
        yield Artifact(
            path=packed, body=gzip.compress(data, 9, mtime=0), replaces=(plain,)
        )
    else:
        yield Artifact(path=plain, body=data, replaces=(packed,))
    known = {"runId": run_id, **metadata, "turnCount": len(told)}
    yield Artifact(
        path=f"{folder}/metadata.json",
        body=encode_text(dump_json(known, 2)),
        is_derived=True,
    )


def _metadata_to_dict(
    session: Session, units: Sequence[Unit], turns: Sequence[Turn], parent: str
) -> dict[str, Any]:
    """Tokens are those of the turns; a cost that nobody told is 0, and `input` says so.

    devflow's cost is what its caller added, so 0 is its word for nothing added.
    """
    summary = units[0].summary if parent and units else session.summary
    usage = sum_unit_usage(units)
    cost = None if parent else session.cost_usd
    status = _find_status(session, units)
    times = [t for u in units for t in (u.started_at, u.ended_at) if t]
    errors = [turn.text for turn in turns if turn.speaker == "error"]
    told = {
        "flowId": summary.key.agent,
        "nodeId": summary.key.source if parent else None,
        "input": _input_to_dict(session, units, parent, is_priced=cost is not None),
        "startedAt": encode_time(min(times, default=None)) or "0001-01-01T00:00:00Z",
        "endedAt": None
        if status == "running"
        else encode_time(max(times, default=None)),
        "status": status,
        "totalTokensIn": _count_input_tokens(usage),
        "totalTokensOut": usage.output_tokens,
        "totalCost": cost or 0,
        "error": errors[-1] if errors and status == "failed" else None,
    }
    return {name: value for name, value in told.items() if value is not None}


def _input_to_dict(
    session: Session, units: Sequence[Unit], parent: str, *, is_priced: bool
) -> dict[str, Any]:
    told = {
        "prompt": next((unit.prompt for unit in units if unit.prompt), ""),
        "agent": session.summary.key.agent,
        "agentVersion": find_version(units),
        "model": session.summary.model,
        "sessionId": session.summary.key.session_id,
        "project": session.summary.cwd,
        "parentRunId": parent,
        "costIsKnown": is_priced,
    }
    return {k: v for k, v in told.items() if v or isinstance(v, bool)}


def _find_status(session: Session, units: Sequence[Unit]) -> str:
    if session.status == "active":
        return "running"
    return _STATUS.get(units[-1].stop_reason if units else "", "completed")


def _turn_to_dict(turn: Turn) -> dict[str, Any] | None:
    """The turn in devflow's words; events that say nothing are no turns."""
    role = _find_role(turn)
    if not role:
        return None
    usage = turn.usage
    told: dict[str, Any] = {
        "id": 0,
        "role": role,
        "content": turn.text,
        "tokensIn": _count_input_tokens(usage) if usage else 0,
        "tokensOut": usage.output_tokens if usage else 0,
        "timestamp": encode_time(turn.time),
        "toolCalls": [_call_to_dict(call) for call in turn.calls],
        "thinking": turn.thinking,
    }
    needed = ("id", "role", "content", "timestamp")
    return {k: v for k, v in told.items() if v or k in needed}


def _find_role(turn: Turn) -> str:
    match turn.speaker:
        case "user" | "assistant":
            return turn.speaker
        case "tool":
            return "tool_result"
        case "error":
            return "system"
        case "event" if turn.event_kind in _MODEL_EVENTS and turn.text.strip():
            return "system"
        case _:
            return ""


def _call_to_dict(call: ToolInvocation) -> dict[str, Any]:
    told = {
        "id": call.call_id,
        "name": call.name,
        "input": parse_input(call.placed.record),
        "error" if call.is_error else "output": call.output,
    }
    return {k: v for k, v in told.items() if v or k in ("name", "input")}


def _count_input_tokens(usage: Usage) -> int:
    return usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens


SINK = Sink(
    name="devflow", about="a devflow run for it and each subagent", render=render
)
