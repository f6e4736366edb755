"""What scripts get: thin, frozen views of the nouns in `leslied.model`."""

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
    """One thing that was said, thought, called or answered."""

    role: Role
    """`system`, `user`, `assistant` or `tool`."""
    content: str
    created_at: datetime | None
    """The log's own time; None where the log has none."""
    tool_name: str | None
    """The tool, of calls and of results."""
    tool_call_id: str | None
    tool_input: dict[str, Any] | None
    """The call's arguments; what is no JSON object stands under `input`."""
    metadata: dict[str, Any]
    entry_id: str
    source: str
    """`main`, or `subagent:` and its id."""
    sequence: int
    """1, 2, … in its source, without a gap."""
    type: RecordType
    session_id: str
    agent: str
    model: str | None
    usage: Usage | None
    """The tokens of its API message; several entries may tell of the same one."""
    message_id: str | None
    unit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitView:
    """From one prompt to just before the next; all that a subagent did is one."""

    number: int
    """0 for what stands before the first prompt."""
    chat_id: str
    prompt: str
    started_at: datetime | None
    ended_at: datetime | None
    stop_reason: StopReason
    agent_mode: AgentMode
    tool_calls: int
    transcript: str | None
    """The path of its file, if it has one."""
    entries: tuple[Entry, ...] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    """One conversation of one agent, or one of its subagents."""

    id: str
    """The session's id; a subagent's own id."""
    parent: str | None
    """The session that a subagent belongs to."""
    agent: str
    project: str | None
    title: str | None
    description: str | None
    """What a subagent was to do."""
    status: Status
    started_at: datetime | None
    ended_at: datetime | None
    model: str | None
    unit_count: int
    tool_calls: int
    usage: Usage
    """Tokens, its subagents' included; what forks share counts once."""
    cost_usd: float | None
    """At list prices, as far as they are known."""
    thread_id: str | None
    transcripts_dir: str | None
    _summary: SessionSummary = field(repr=False, compare=False)
    _backend: Backend = field(repr=False, compare=False)

    @property
    def units(self) -> Iterator[UnitView]:
        """Its units in order, each loaded as it is asked for."""
        return self._backend.load_units(self._summary)

    @property
    def entries(self) -> Entries:
        """Its entries and, for a main session, those of its subagents."""
        return self._backend.list_entries(self._summary)

    @property
    def subagents(self) -> list[SessionView]:
        """The subagents it spawned, and those that they did."""
        return self._backend.list_subagents(self._summary)


@dataclass(frozen=True, slots=True)
class Rows:
    """What a query found; iterating gives each row as a dict, once."""

    columns: tuple[str, ...]
    _rows: Iterator[tuple[Any, ...]] = field(repr=False)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for row in self._rows:
            yield dict(zip(self.columns, row, strict=True))


def make_entry(placed: PlacedRecord) -> Entry:
    """A stored record as scripts see it."""
    record = placed.record
    given = decode_tool_input(record.tool_input)
    if given is not None and not isinstance(given, dict):
        given = {"input": given}
    return Entry(
        role=record.role,
        content=record.spilled or record.content,
        created_at=record.created_at,
        tool_name=record.tool_name or None,
        tool_call_id=record.tool_call_id or None,
        tool_input=given,
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
    """A unit as scripts see it."""
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
    """A session or subagent as scripts see it."""
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
