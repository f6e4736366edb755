"""Decode one line of a Copilot CLI log into records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.agents._parsing import (
    parse_object,
    parse_time,
    printable_name,
    reject_entry,
)
from leslied.agents.copilot_cli import events, messages
from leslied.agents.copilot_cli.schema import CopilotLine, as_text
from leslied.model.record import MAIN, DecodeResult, Record, SessionKey

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from leslied.agents.copilot_cli.schema import RecordsAndState, State
    from leslied.model.record import EventKind
    from leslied.model.source import RawEntry, SourceRef

NOISE = frozenset(
    {
        "assistant.fusion_phase_completed",
        "assistant.fusion_phase_failed",
        "assistant.turn_end",
        "assistant.turn_start",
        "assistant.usage",
        "external_tool.requested",
        "hook.end",
        "hook.start",
        "human_response.recorded",
        "mcp.oauth_recovery_completed",
        "session.auto_mode_resolved",
        "session.autopilot_objective_changed",
        "session.binary_asset",
        "session.canvas.recorded",
        "session.canvas.removed",
        "session.compaction_start",
        "session.completion_receipt",
        "session.fusion_change_checkpoint",
        "session.fusion_commit_started",
        "session.fusion_completed",
        "session.fusion_handoff",
        "session.fusion_resolved",
        "session.idle",
        "session.mode_notice_delivered",
        "session.permission_recovery",
        "session.plan_changed",
        "session.remote_steerable_changed",
        "session.request_body_compression_disabled",
        "session.schedule_cancelled",
        "session.schedule_rearmed",
        "session.session_limits_changed",
        "session.usage_checkpoint",
        "session.usage_info",
        "session.workspace_file_changed",
        "skill.context_delivered_ref",
        "skill.invoked_ref",
        "subagent.configured",
        "system.message",
        "tool.execution_partial_result",
        "tool.execution_progress",
        "tool_search.activated",
    }
)
"""Types of lines that repeat other lines or serve only the client."""
_SIMPLE_EVENTS: Mapping[str, tuple[EventKind, str]] = {
    "session.context_cleared": ("notice", "initialMessage"),
    "session.fusion_route_failed": ("notice", "errorMessage"),
    "session.handoff": ("notice", "summary"),
    "session.model_deselected": ("notice", "reason"),
    "session.permissions_changed": ("context", "mode"),
    "session.schedule_created": ("notice", "prompt"),
    "session.snapshot_rewind": ("rewound", "upToEventId"),
    "session.task_complete": ("notice", "summary"),
    "session.truncation": ("compacted", ""),
    "session.warning": ("notice", "message"),
    "skill.context_delivered": ("context", "content"),
    "skill.invoked": ("context", "content"),
    "subagent.deselected": ("context", ""),
    "subagent.selected": ("context", "agentName"),
}
"""Kind and text field of the event, for types of lines that become one event."""
_SUBAGENT_TYPES = ("subagent.started", "subagent.completed", "subagent.failed")
_DECODERS: Mapping[str, Callable[[CopilotLine, State], RecordsAndState]] = {
    "abort": events.decode_abort,
    "assistant.message": messages.decode_assistant,
    "assistant.reasoning": messages.decode_reasoning,
    "session.compaction_complete": events.decode_compaction,
    "session.context_changed": events.decode_session_context,
    "session.error": events.decode_error,
    "session.info": events.decode_info,
    "session.mode_changed": events.decode_mode,
    "session.model_change": events.decode_model,
    "session.resume": events.decode_session_context,
    "session.shutdown": events.decode_shutdown,
    "session.start": events.decode_session_context,
    "session.title_changed": events.decode_title,
    "session.usage_record": events.decode_usage,
    "system.notification": events.decode_notification,
    **dict.fromkeys(_SUBAGENT_TYPES, events.decode_subagent),
    "tool.execution_complete": messages.decode_tool_result,
    "tool.execution_start": messages.decode_tool_start,
    "tool.user_requested": messages.decode_user_command,
    "user.message": messages.decode_user,
}


def decode_line(entry: RawEntry, state: State) -> DecodeResult:
    """Decode one line of a session's log."""
    value = parse_object(entry.data)
    kind = as_text(value.get("type"))
    if entry.is_fragment and not (kind and value.get("id") and value.get("timestamp")):
        reject_entry("a fragment that is not an entry")
    if kind in NOISE or kind.startswith("permission."):
        return DecodeResult(state=state, noise=kind)
    line = _parse_line(entry.source, kind, value)
    has_data = isinstance(value.get("data"), dict)
    if has_data and kind in _DECODERS:
        records, state = _DECODERS[kind](line, state)
    elif has_data and kind in _SIMPLE_EVENTS:
        records = (_decode_simple_event(line),)
    else:
        raw = entry.data.decode(errors="replace")
        metadata = {"line_type": kind}
        records = (
            line.make_record("unknown", "system", content=raw, metadata=metadata),
        )
    noise = "" if records else kind
    return DecodeResult(
        records=records, state=state, noise=noise, cwd=as_text(state.get("cwd"))
    )


def _parse_line(source: SourceRef, kind: str, value: dict[str, Any]) -> CopilotLine:
    """Return the line with its session, which the path names, and its subagent."""
    data = value.get("data")
    data = data if isinstance(data, dict) else {}
    parts = tuple(map(printable_name, source.parts))
    session_id = parts[0] if len(parts) > 1 else parts[0].removesuffix(".jsonl")
    # Older lines name the call that spawned the subagent, not the subagent.
    agent_id = as_text(value.get("agentId")) or as_text(data.get("parentToolCallId"))
    if not agent_id and kind in _SUBAGENT_TYPES:
        agent_id = as_text(data.get("toolCallId"))
    stream = f"subagent:{agent_id}" if agent_id else MAIN
    return CopilotLine(
        kind=kind,
        data=data,
        key=SessionKey(source.agent, session_id, stream),
        native_id=as_text(value.get("id")),
        created_at=parse_time(value.get("timestamp")),
        parent_id=as_text(value.get("parentId")),
    )


def _decode_simple_event(line: CopilotLine) -> Record:
    event_kind, text_name = _SIMPLE_EVENTS[line.kind]
    return line.make_event(
        event_kind,
        line.text_field(text_name),
        note=line.kind.removeprefix("session."),
        skill=line.text_field("name"),
    )
