"""Convert records, units and sessions to the plain values of their JSON form."""

from __future__ import annotations

import json
from datetime import UTC
from typing import TYPE_CHECKING, Any

from msgspec import structs

if TYPE_CHECKING:
    from datetime import datetime

    from leslied.model.record import PlacedRecord, Record, Usage
    from leslied.model.session import SessionSummary, Status, Unit


def record_to_dict(placed: PlacedRecord) -> dict[str, Any]:
    """Return a stored record as plain values, with every field present."""
    record = placed.record
    return {
        "entry_id": placed.entry_id,
        "agent": record.session.agent,
        "session_id": record.session.session_id,
        "source": record.session.source,
        "sequence": placed.sequence,
        "type": record.type,
        "role": record.role,
        "content": record.spilled or record.content,
        "created_at": encode_time(record.created_at),
        "observed_at": encode_time(placed.observed_at),
        "tool_name": record.tool_name or None,
        "tool_call_id": record.tool_call_id or None,
        "tool_input": decode_tool_input(record.tool_input),
        "model": record.model or None,
        "usage": usage_to_dict(record.usage) if record.usage else None,
        "message_id": record.message_id or None,
        "parent_id": record.parent_id or None,
        "metadata": metadata_to_dict(record),
        "decoder_version": placed.decoder_version,
        "raw": {
            "source": placed.path,
            "offset": placed.offset,
            "length": placed.length,
        },
    }


def metadata_to_dict(record: Record) -> dict[str, Any]:
    """Return a copy of the metadata, plus native id, UTC offset and spilled length."""
    metadata = dict(record.metadata)
    if record.native_id:
        metadata["native_id"] = record.native_id
    offset = record.created_at.utcoffset() if record.created_at else None
    if offset:
        metadata["utc_offset_minutes"] = int(offset.total_seconds() // 60)
    if record.spilled:
        metadata["spilled_characters"] = len(record.spilled)
    return metadata


def session_to_dict(
    session: SessionSummary, status: Status, project: str
) -> dict[str, Any]:
    """Return a session's summary as plain values, as in lists of sessions."""
    return {
        "id": session.key.session_id,
        "agent": session.key.agent,
        "project": project or None,
        "title": session.title or None,
        "status": status,
        "started_at": encode_time(session.started_at),
        "ended_at": encode_time(session.ended_at),
        "units": session.units,
        "tool_calls": session.tool_calls,
        "subagents": session.subagents,
        "model": session.model or None,
        "usage": usage_to_dict(session.usage),
        "cost_usd": session.cost.usd,
        "thread_id": session.thread_id or None,
        "transcripts_dir": session.transcripts_dir or None,
    }


def unit_to_dict(unit: Unit) -> dict[str, Any]:
    """Return a unit with its entries; nested subagents have the same form."""
    fields: dict[str, Any] = {
        "chat_id": unit.chat_id,
        "started_at": encode_time(unit.started_at),
        "ended_at": encode_time(unit.ended_at),
        "prompt": unit.prompt,
        "stop_reason": unit.stop_reason,
        "agent_mode": unit.agent_mode,
        "tool_calls": unit.tool_calls,
        "transcript": unit.transcript or None,
        "entries": [record_to_dict(placed) for placed in unit.entries],
        "subagents": [unit_to_dict(child) for child in unit.subagents],
    }
    if unit.summary.is_subagent:
        fields |= {
            "id": unit.summary.subagent_id,
            "agent_type": unit.summary.agent_type or None,
            "description": unit.summary.description or None,
            "spawn_call_id": unit.summary.spawn_call_id or None,
        }
    return fields


def usage_to_dict(usage: Usage) -> dict[str, int]:
    """Return token counts by kind; omit the one-hour cache count when it is zero."""
    counts: dict[str, int] = structs.asdict(usage)
    if not usage.cache_write_1h_tokens:
        del counts["cache_write_1h_tokens"]
    return counts


def encode_time(time: datetime | None) -> str | None:
    """Return ISO 8601 text in UTC with milliseconds, or microseconds if needed."""
    if time is None:
        return None
    utc = time.astimezone(UTC)
    precision = "milliseconds" if utc.microsecond % 1000 == 0 else "microseconds"
    return utc.isoformat(timespec=precision).replace("+00:00", "Z")


def decode_tool_input(text: str) -> Any:
    """Return the arguments of a call: parsed, or as text if not JSON, or None."""
    if not text:
        return None
    try:
        return json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return text
