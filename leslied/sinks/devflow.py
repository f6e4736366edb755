"""devflow: `runs/<runId>/transcript.json`, gzipped from 100 KiB, and its metadata.

devflow has no subagents. Each subagent becomes a separate run: its id is the parent's
run id followed by the subagent's id, and its `input` names the parent.
"""

from __future__ import annotations

import gzip
from datetime import UTC
from typing import TYPE_CHECKING, Any

from leslied.model.codec import encode_time
from leslied.model.output import Artifact
from leslied.rendering.messages import (
    find_export_origin,
    find_version,
    iter_units,
    make_unit_messages,
    parse_input,
    sum_unit_usage,
)
from leslied.sinks._contract import Sink
from leslied.sinks._names import make_safe_name, make_session_name
from leslied.sinks._text import dump_json, encode_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leslied.model.record import Usage
    from leslied.model.session import Session, Unit
    from leslied.rendering.messages import SpeakerMessage, ToolInvocation

COMPRESS_FROM_BYTES = 100 * 1024
"""Size from which devflow stores a transcript compressed."""
_STATUSES = {"cancelled": "canceled", "error": "failed"}
"""devflow's status for a stop reason; for all others, `completed`."""
_MODEL_EVENTS = ("context", "compacted")
"""Kinds of events whose text the model saw; the others are bookkeeping."""


def render(session: Session) -> tuple[Artifact, ...]:
    """Render a run for the session and one for each subagent."""
    start = session.summary.started_at
    date = f"{start.astimezone(UTC):%Y-%m-%d}" if start else "0001-01-01"
    run_id = f"{date}-{session.summary.key.agent}-{make_session_name(session.summary)}"
    files = [*_render_run(session, session.units, run_id, "")]
    subagents = [child for unit in session.units for child in unit.subagents]
    for child in iter_units(subagents):
        child_id = f"{run_id}-{make_safe_name(child.summary.subagent_id)}"
        files += _render_run(session, [child], child_id, run_id)
    return tuple(files)


def _render_run(
    session: Session, units: Sequence[Unit], run_id: str, parent_run_id: str
) -> Iterator[Artifact]:
    groups = make_unit_messages(units)
    messages = [message for group in groups for message in group.messages]
    turn_dicts = [
        fields
        for group in groups
        for message in group.messages
        if (fields := _turn_to_dict(message, group.unit))
    ]
    for number, fields in enumerate(turn_dicts, 1):
        fields["id"] = number
    metadata = _metadata_to_dict(session, units, messages, parent_run_id)
    data = encode_text(
        dump_json({"runId": run_id, "metadata": metadata, "turns": turn_dicts}, 2)
    )
    folder = f"runs/{run_id}"
    plain_path, gzip_path = f"{folder}/transcript.json", f"{folder}/transcript.json.gz"
    if len(data) >= COMPRESS_FROM_BYTES:
        yield Artifact(
            path=gzip_path, body=gzip.compress(data, 9, mtime=0), replaces=(plain_path,)
        )
    else:
        yield Artifact(path=plain_path, body=data, replaces=(gzip_path,))
    document = {"runId": run_id, **metadata, "turnCount": len(turn_dicts)}
    yield Artifact(
        path=f"{folder}/metadata.json",
        body=encode_text(dump_json(document, 2)),
        is_derived=True,
    )


def _metadata_to_dict(
    session: Session,
    units: Sequence[Unit],
    messages: Sequence[SpeakerMessage],
    parent_run_id: str,
) -> dict[str, Any]:
    """Return the run's metadata, without values that are not known.

    `startedAt` is never left out: the year 1 stands for an unknown time.
    `totalCost` is 0 if the cost is not known, as in a devflow run to which no cost was
    added; `costIsKnown` in `input` distinguishes the two cases.
    """
    summary = units[0].summary if parent_run_id and units else session.summary
    usage = sum_unit_usage(units)
    cost = None if parent_run_id else session.cost_usd
    status = _find_status(session, units)
    times = [
        time for unit in units for time in (unit.started_at, unit.ended_at) if time
    ]
    errors = [message.text for message in messages if message.speaker == "error"]
    metadata = {
        "flowId": summary.key.agent,
        "nodeId": summary.key.source if parent_run_id else None,
        "input": _input_to_dict(
            session, units, parent_run_id, is_cost_known=cost is not None
        ),
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
    return {name: value for name, value in metadata.items() if value is not None}


def _input_to_dict(
    session: Session, units: Sequence[Unit], parent_run_id: str, *, is_cost_known: bool
) -> dict[str, Any]:
    summary = units[0].summary if parent_run_id and units else session.summary
    fields = {
        "prompt": next((unit.prompt for unit in units if unit.prompt), ""),
        "agent": session.summary.key.agent,
        "agentVersion": find_version(units),
        "model": session.summary.model,
        "sessionId": session.summary.key.session_id,
        "project": session.summary.cwd,
        "parentRunId": parent_run_id,
        "parentAgent": summary.parent_agent if parent_run_id else "",
        "toolCallId": summary.spawn_call_id if parent_run_id else "",
        "costIsKnown": is_cost_known,
    }
    return {k: v for k, v in fields.items() if v or isinstance(v, bool)}


def _find_status(session: Session, units: Sequence[Unit]) -> str:
    """Return devflow's status of a run; unless it is running, the last unit decides."""
    if session.status == "active":
        return "running"
    return _STATUSES.get(units[-1].stop_reason if units else "", "completed")


def _turn_to_dict(message: SpeakerMessage, unit: Unit) -> dict[str, Any] | None:
    """Return the message as a devflow turn, or None if devflow has no role for it."""
    role = _find_role(message)
    if not role:
        return None
    usage = message.usage
    fields: dict[str, Any] = {
        # `_render_run` numbers the turns.
        "id": 0,
        "role": role,
        "content": message.text,
        "tokensIn": _count_input_tokens(usage) if usage else 0,
        "tokensOut": usage.output_tokens if usage else 0,
        "timestamp": encode_time(message.time),
        "toolCalls": [_call_to_dict(call) for call in message.calls],
        "thinking": message.thinking,
        "origin": find_export_origin(message.placed, unit),
    }
    required = ("id", "role", "content", "timestamp")
    return {k: v for k, v in fields.items() if v or k in required}


def _find_role(message: SpeakerMessage) -> str:
    """Return devflow's role of the message's speaker, or "" if there is none."""
    match message.speaker:
        case "user" | "assistant":
            return message.speaker
        case "tool":
            return "tool_result"
        case "error":
            return "system"
        case "event" if message.event_kind in _MODEL_EVENTS and message.text.strip():
            return "system"
        case _:
            return ""


def _call_to_dict(call: ToolInvocation) -> dict[str, Any]:
    fields = {
        "id": call.call_id,
        "name": call.name,
        "input": parse_input(call.placed.record),
        "error" if call.is_error else "output": call.output,
    }
    required = ("name", "input", "output" if call.result else "")
    return {k: v for k, v in fields.items() if v or k in required}


def _count_input_tokens(usage: Usage) -> int:
    """Return all tokens of the input, including those from and to the cache."""
    return usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens


SINK = Sink(
    name="devflow", about="devflow runs: the session and each subagent", render=render
)
