"""Redaction of a whole session: its summary, units, records and metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import structs

if TYPE_CHECKING:
    from collections.abc import Callable

    from leslied.model.record import PlacedRecord
    from leslied.model.session import Session, SessionSummary, Unit

    Redact = Callable[[str], str]


def redact_session(session: Session, redact: Redact) -> Session:
    """Return a copy of the session without recognized secrets."""
    return structs.replace(
        session,
        summary=redact_summary(session.summary, redact),
        units=tuple(redact_unit(unit, redact) for unit in session.units),
    )


def redact_summary(summary: SessionSummary, redact: Redact) -> SessionSummary:
    """Return a copy of the summary without recognized secrets in its texts."""
    return structs.replace(
        summary,
        title=redact(summary.title),
        cwd=redact(summary.cwd),
        project=redact(summary.project),
        worktree=redact(summary.worktree),
        model=redact(summary.model),
        spawn_call_id=redact(summary.spawn_call_id),
        agent_type=redact(summary.agent_type),
        description=redact(summary.description),
    )


def redact_unit(unit: Unit, redact: Redact) -> Unit:
    """Return a copy of the unit and its subagents without recognized secrets."""
    return structs.replace(
        unit,
        summary=redact_summary(unit.summary, redact),
        prompt=redact(unit.prompt),
        entries=tuple(redact_entry(placed, redact) for placed in unit.entries),
        subagents=tuple(redact_unit(child, redact) for child in unit.subagents),
    )


def redact_entry(placed: PlacedRecord, redact: Redact) -> PlacedRecord:
    """Return a copy of the record without recognized secrets."""
    record = placed.record
    redacted = structs.replace(
        record,
        content=redact(record.content),
        tool_name=redact(record.tool_name),
        tool_call_id=redact(record.tool_call_id),
        model=redact(record.model),
        tool_input=redact(record.tool_input),
        spilled=redact(record.spilled),
        metadata=_redact_value(record.metadata, redact),
    )
    return structs.replace(placed, record=redacted, path=redact(placed.path))


def _redact_value(value: Any, redact: Redact) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(str(k)): _redact_value(v, redact) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_redact_value(item, redact) for item in value]
    return value
