"""Taking secrets out of everything a session holds, not only out of its words.

Tool arguments are JSON in text: a secret may be written with escapes there, or be a
key, so what they mean is redacted, and the text is made anew when anything was found.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from msgspec import structs

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')

if TYPE_CHECKING:
    from collections.abc import Callable

    from leslied.model.record import PlacedRecord
    from leslied.model.session import Session, SessionSummary, Unit

    Redact = Callable[[str], str]


def redact_session(session: Session, redact: Redact) -> Session:
    """The session as it may leave the store."""
    return structs.replace(
        session,
        summary=redact_summary(session.summary, redact),
        units=tuple(redact_unit(unit, redact) for unit in session.units),
    )


def redact_summary(summary: SessionSummary, redact: Redact) -> SessionSummary:
    """The same summary, without definite secrets in what people or agents wrote."""
    return structs.replace(
        summary,
        title=redact(summary.title),
        cwd=redact(summary.cwd),
        model=redact(summary.model),
        spawn_call_id=redact(summary.spawn_call_id),
        agent_type=redact(summary.agent_type),
        description=redact(summary.description),
    )


def redact_unit(unit: Unit, redact: Redact) -> Unit:
    """The unit as it may leave the store: every text in it without definite secrets."""
    return structs.replace(
        unit,
        summary=redact_summary(unit.summary, redact),
        prompt=redact(unit.prompt),
        entries=tuple(redact_entry(placed, redact) for placed in unit.entries),
        subagents=tuple(redact_unit(child, redact) for child in unit.subagents),
    )


def redact_entry(placed: PlacedRecord, redact: Redact) -> PlacedRecord:
    """The same record, without definite secrets."""
    record = placed.record
    clean = structs.replace(
        record,
        content=redact(record.content),
        tool_name=redact(record.tool_name),
        tool_call_id=redact(record.tool_call_id),
        model=redact(record.model),
        tool_input=redact_json(record.tool_input, redact),
        spilled=redact(record.spilled),
        metadata=_redact_value(record.metadata, redact),
    )
    return structs.replace(placed, record=clean, path=redact(placed.path))


def redact_json(text: str, redact: Redact) -> str:
    """The text as it is, unless one of the strings in it means a secret."""
    plain = redact(text)
    if "\\" not in plain:
        return plain
    # String by string: however deep it is nested, it costs its length and no more.
    return _STRING.sub(lambda match: _redact_string(match[0], redact), plain)


def _redact_string(literal: str, redact: Redact) -> str:
    if "\\" not in literal:
        return literal
    try:
        meant = json.loads(literal)
    except ValueError:
        return literal
    clean = redact(meant)
    return literal if clean == meant else json.dumps(clean, ensure_ascii=False)


def _redact_value(value: Any, redact: Redact) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(str(k)): _redact_value(v, redact) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_redact_value(each, redact) for each in value]
    return value
