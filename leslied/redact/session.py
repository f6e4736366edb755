"""Redaction of a whole session: its summary, units, records and metadata."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from leslied.model.record import RECORD_IDS, RECORD_TEXTS, SessionKey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leslied.model.record import PlacedRecord
    from leslied.model.session import Session, SessionSummary, Unit

    Redact = Callable[[str], str]

_SUMMARY_TEXTS = (
    "title",
    "cwd",
    "project",
    "worktree",
    "folder",
    "model",
    "spawn_call_id",
    "parent_agent",
    "agent_type",
    "description",
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
    texts = {name: redact(getattr(summary, name)) for name in _SUMMARY_TEXTS}
    stand_in = summary.stand_in
    return structs.replace(
        summary,
        key=redact_key(summary.key, redact),
        stand_in=redact_key(stand_in, redact) if stand_in else None,
        **texts,
    )


def redact_key(key: SessionKey, redact: Redact) -> SessionKey:
    """Return a copy of the key without recognized secrets in its ids.

    The copy names the session in output; the store finds it only by the original.
    """
    return SessionKey(key.agent, redact(key.session_id), redact(key.source))


def iter_summary_texts(summary: SessionSummary) -> Iterator[tuple[str, str]]:
    """Yield the name and text of each field that may contain a secret."""
    yield "session_id", summary.key.session_id
    yield "source", summary.key.source
    yield from ((name, getattr(summary, name)) for name in _SUMMARY_TEXTS)


def redact_unit(unit: Unit, redact: Redact) -> Unit:
    """Return a copy of the unit and its subagents without recognized secrets."""
    return structs.replace(
        unit,
        summary=redact_summary(unit.summary, redact),
        prompt=redact(unit.prompt),
        transcript=redact(unit.transcript),
        entries=tuple(redact_entry(placed, redact) for placed in unit.entries),
        subagents=tuple(redact_unit(child, redact) for child in unit.subagents),
    )


def redact_entry(placed: PlacedRecord, redact: Redact) -> PlacedRecord:
    """Return a copy of the record without recognized secrets."""
    record = placed.record
    texts = {name: redact(getattr(record, name)) for name in RECORD_TEXTS}
    session = record.session
    # One search for all ids is faster, and almost never finds anything.
    ids = "\n".join((*session, *(getattr(record, name) for name in RECORD_IDS)))
    if redact(ids) != ids:
        session = redact_key(session, redact)
        texts |= {name: redact(getattr(record, name)) for name in RECORD_IDS}
    redacted = structs.replace(
        record,
        session=session,
        metadata=redact_value(record.metadata, redact),
        **texts,
    )
    return structs.replace(placed, record=redacted, path=redact(placed.path))


def iter_entry_texts(placed: PlacedRecord) -> Iterator[tuple[str, str]]:
    """Yield the name and text of each field that may contain a secret."""
    record = placed.record
    names = (*RECORD_TEXTS, *RECORD_IDS)
    yield from ((name, getattr(record, name)) for name in names)
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


def redact_value(value: Any, redact: Redact) -> Any:
    """Return a copy of a value without recognized secrets in any of its texts.

    The value is JSON, or a struct or named tuple of such values.
    """
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(str(k)): redact_value(v, redact) for k, v in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_make"):
        return value._make(redact_value(item, redact) for item in value)
    if isinstance(value, (list, tuple)):
        return type(value)(redact_value(item, redact) for item in value)
    if isinstance(value, Struct):
        fields = structs.asdict(value)
        texts = {name: redact_value(item, redact) for name, item in fields.items()}
        return structs.replace(value, **texts)
    return value
