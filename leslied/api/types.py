"""The types that scripts receive: frozen views of the types in `leslied.model`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from leslied.model.codec import decode_tool_input, metadata_to_dict

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from leslied.api._backend import Backend
    from leslied.api.entries import Entries
    from leslied.model.record import PlacedRecord, RecordType, Role, Usage
    from leslied.model.session import AgentMode, SessionSummary, Status, StopReason
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
    tool_calls: int
    transcript: str | None
    """Path of the transcript, if it exists."""
    entries: tuple[Entry, ...] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    """One session of an agent, or one of its subagents."""

    id: str
    """Id of the session, or of the subagent."""
    parent: str | None
    """Id of the session that a subagent belongs to; None for a session."""
    agent: str
    project: str | None
    title: str | None
    description: str | None
    """Task of a subagent."""
    status: Status
    started_at: datetime | None
    ended_at: datetime | None
    model: str | None
    unit_count: int
    tool_calls: int
    usage: Usage
    """Tokens, including those of subagents; a message that forks share counts once."""
    cost_usd: float | None
    """Cost at list prices of the messages with a known price; None without any."""
    thread_id: str | None
    transcripts_dir: str | None
    _summary: SessionSummary = field(repr=False, compare=False)
    _backend: Backend = field(repr=False, compare=False)

    @property
    def units(self) -> Iterator[UnitView]:
        """The units in order, loaded one at a time."""
        return self._backend.load_units(self._summary)

    @property
    def entries(self) -> Entries:
        """The entries; those of a session include the entries of its subagents."""
        return self._backend.list_entries(self._summary)

    @property
    def subagents(self) -> list[SessionView]:
        """The subagents of the session, at any depth."""
        return self._backend.list_subagents(self._summary)


@dataclass(frozen=True, slots=True)
class Rows:
    """Result of a query; it can be iterated once and yields each row as a dict."""

    columns: tuple[str, ...]
    _rows: Iterator[tuple[Any, ...]] = field(repr=False)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for row in self._rows:
            yield dict(zip(self.columns, row, strict=True))


def make_entry(placed: PlacedRecord) -> Entry:
    """Convert a stored record to an entry."""
    record = placed.record
    tool_input = decode_tool_input(record.tool_input)
    if tool_input is not None and not isinstance(tool_input, dict):
        tool_input = {"input": tool_input}
    return Entry(
        role=record.role,
        content=record.spilled or record.content,
        created_at=record.created_at,
        tool_name=record.tool_name or None,
        tool_call_id=record.tool_call_id or None,
        tool_input=tool_input,
        metadata=metadata_to_dict(record),
        entry_id=placed.entry_id,
        source=record.session.source,
        sequence=placed.sequence,
        type=record.type,
        session_id=record.session.session_id,
        agent=record.session.agent,
        model=record.model or None,
        usage=record.usage,
        message_id=record.message_id or None,
        unit=placed.unit,
    )


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
        tool_calls=unit.tool_calls,
        transcript=unit.transcript or None,
        entries=tuple(make_entry(placed) for placed in unit.entries),
    )


def make_session_view(
    summary: SessionSummary, status: Status, backend: Backend
) -> SessionView:
    """Convert the summary of a session or subagent to its view."""
    key = summary.key
    return SessionView(
        id=summary.subagent_id or key.session_id,
        parent=key.session_id if summary.is_subagent else None,
        agent=key.agent,
        project=summary.cwd or None,
        title=summary.title or None,
        description=summary.description or None,
        status=status,
        started_at=summary.started_at,
        ended_at=summary.ended_at,
        model=summary.model or None,
        unit_count=summary.units,
        tool_calls=summary.tool_calls,
        usage=summary.usage,
        cost_usd=summary.cost.usd,
        thread_id=summary.thread_id or None,
        transcripts_dir=summary.transcripts_dir or None,
        _summary=summary,
        _backend=backend,
    )
