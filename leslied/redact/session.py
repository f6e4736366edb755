"""Redaction of a whole session: its summary, units, records and metadata."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from msgspec import structs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leslied.model.record import PlacedRecord
    from leslied.model.session import Session, SessionSummary, Unit

    Redact = Callable[[str], str]

_SUMMARY_TEXTS = (
    *("title", "cwd", "project", "worktree", "model", "spawn_call_id"),
    *("agent_type", "description"),
)
_RECORD_TEXTS = (
    *("content", "tool_name", "tool_call_id", "model", "tool_input", "spilled"),
)


def redact_session(session: Session, redact: Redact) -> Session:
    """Return a copy of the session without recognized secrets."""
    return structs.replace(
        session,
        summary=redact_summary(session.summary, redact),
        units=tuple(redact_unit(unit, redact) for unit in session.units),
    )


def redact_summary(summary: SessionSummary, redact: Redact) -> SessionSummary:
    """Return a copy of the summary without recognized secrets in its texts."""
    texts = {name: redact(text) for name, text in iter_summary_texts(summary)}
    return structs.replace(summary, **texts)


def iter_summary_texts(summary: SessionSummary) -> Iterator[tuple[str, str]]:
    """Yield the name and text of each field that may contain a secret."""
    return ((name, getattr(summary, name)) for name in _SUMMARY_TEXTS)


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
    texts = {name: redact(getattr(record, name)) for name in _RECORD_TEXTS}
    metadata = _redact_value(record.metadata, redact)
    redacted = structs.replace(record, **texts, metadata=metadata)
    return structs.replace(placed, record=redacted, path=redact(placed.path))


def iter_entry_texts(placed: PlacedRecord) -> Iterator[tuple[str, str]]:
    """Yield the name and text of each field that may contain a secret."""
    record = placed.record
    yield from ((name, getattr(record, name)) for name in _RECORD_TEXTS)
    yield from (("metadata", text) for text in _iter_texts(record.metadata))
    yield "path", placed.path


def _iter_texts(value: Any) -> Iterator[str]:
    """Yield every text in a JSON value, also the keys of objects."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from map(str, value)
        yield from chain.from_iterable(map(_iter_texts, value.values()))
    elif isinstance(value, (list, tuple)):
        yield from chain.from_iterable(map(_iter_texts, value))


def _redact_value(value: Any, redact: Redact) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(str(k)): _redact_value(v, redact) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_redact_value(item, redact) for item in value]
    return value
