"""Entries, units and rows as scripts see them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from leslied.model.field_tables import RECORD_FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from leslied.model.record import PlacedRecord, RecordType, Role, Usage
    from leslied.model.session import AgentMode, StopReason
    from leslied.model.session import Unit as StoredUnit


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One message, thought, tool call, tool result or event in a log."""

    role: Role
    """`system`, `user`, `assistant` or `tool`."""
    content: str
    created_at: datetime | None
    """Time of the entry; None if the log does not contain it."""
    tool_name: str | None
    """Name of the tool, for calls and results."""
    tool_call_id: str | None
    tool_input: dict[str, Any] | None
    """Arguments of the call; a value that is not an object is under `input`."""
    metadata: dict[str, Any]
    entry_id: str
    source: str
    """`main`, or `subagent:` and the subagent's id."""
    sequence: int
    """Position in its source: 1, 2, … without gaps."""
    type: RecordType
    session_id: str
    agent: str
    model: str | None
    usage: Usage | None
    """Tokens of the API message; several entries can belong to the same message."""
    message_id: str | None
    unit: int
    """Number of the unit in its session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitView:
    """The entries from one prompt to the next; a subagent has one unit."""

    number: int
    """0 for the entries before the first prompt."""
    chat_id: str
    prompt: str
    started_at: datetime | None
    ended_at: datetime | None
    stop_reason: StopReason
    agent_mode: AgentMode
    rewound: bool
    """Whether the user took the unit back."""
    tool_calls: int
    transcript: str | None
    """Path of the transcript, if it exists."""
    entries: tuple[Entry, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Rows:
    """Result of a query; it can be iterated once and yields each row as a dict."""

    columns: tuple[str, ...]
    _rows: Iterator[tuple[Any, ...]] = field(repr=False)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for row in self._rows:
            yield dict(zip(self.columns, row, strict=True))


_ENTRY_FIELDS = [
    record_field
    for record_field in RECORD_FIELDS
    if record_field.name in Entry.__dataclass_fields__
]


def make_entry(placed: PlacedRecord) -> Entry:
    """Convert a stored record to an entry."""
    values = {each.name: each.get(placed) for each in _ENTRY_FIELDS}
    tool_input = values["tool_input"]
    if tool_input is not None and not isinstance(tool_input, dict):
        values["tool_input"] = {"input": tool_input}
    return Entry(**values, unit=placed.unit)


def make_unit_view(unit: StoredUnit) -> UnitView:
    """Convert an assembled unit to its view."""
    return UnitView(
        number=unit.number,
        chat_id=unit.chat_id,
        prompt=unit.prompt,
        started_at=unit.started_at,
        ended_at=unit.ended_at,
        stop_reason=unit.stop_reason,
        agent_mode=unit.agent_mode,
        rewound=unit.is_rewound,
        tool_calls=unit.tool_calls,
        transcript=unit.transcript or None,
        entries=tuple(make_entry(placed) for placed in unit.entries),
    )
