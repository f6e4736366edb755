"""Describe sessions and units, as the store summarizes and loads them."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from msgspec import Struct, field

from leslied.layout import transcripts_folder
from leslied.model.record import MAIN, SessionKey, Usage
from leslied.model.stats import Cost
from leslied.model.times import EPOCH

if TYPE_CHECKING:
    from datetime import datetime, tzinfo
    from pathlib import Path

    from leslied.model.record import PlacedRecord

Status = Literal["active", "idle", "stopped"]
WaitingFor = Literal["permission", "question", "prompt"]
"""What an agent waits for: permission to use a tool, an answer, or the next prompt."""
StopReason = Literal["end_turn", "max_tokens", "cancelled", "error", "idle", "unknown"]
AgentMode = Literal["agent", "plan", "review", "duet"]


class SessionSummary(Struct, frozen=True, kw_only=True):
    """Summary of one session or subagent, without its entries."""

    key: SessionKey
    stand_in: SessionKey | None = None
    """The subagent whose entries are shown because the session's log is missing."""
    thread_id: str
    title: str
    cwd: str
    project: str = ""
    """The Git repository of the working directory, or the working directory itself."""
    worktree: str = ""
    """The Git top level that contains the working directory; empty without Git."""
    is_project_known: bool = False
    """Whether the project of the working directory was looked up."""
    model: str
    started_at: datetime | None
    ended_at: datetime | None
    units: int
    """Number of units, including rewound ones."""
    rewound: tuple[range, ...] = ()
    """Numbers of the units that the user took back."""
    tool_calls: int
    has_turn_ended: bool
    is_stopped: bool
    is_live: bool = False
    """True if a process had the session open at the last stop detection."""
    waiting_for: WaitingFor | None = None
    """What the agent needs from the user before it can continue."""
    subagent_active_at: datetime | None = None
    """Time of the newest entry of the working subagents; None if none is working."""
    seen_at: datetime | None = None
    """When the newest entry was read."""
    spawn_call_id: str = ""
    """For a subagent: the id of the tool call that spawned it."""
    parent_agent: str = ""
    """For a nested subagent: the id of the subagent that spawned it."""
    agent_type: str = ""
    description: str = ""
    subagents: int = 0
    """Number of subagents that are not hidden."""
    is_hidden: bool = False
    """True if nobody said anything in it, and lists leave it out."""
    usage: Usage = field(default_factory=Usage)
    cost: Cost = field(default_factory=Cost)
    """Cost of the tokens; empty unless the caller requested it."""
    folder: str = ""
    """Directory that contains the thread's `.leslie`; empty before the first write."""

    @property
    def transcripts_dir(self) -> str:
        """Directory of the thread's transcripts; empty before the first is written."""
        if not self.folder:
            return ""
        return f"{self.folder}/{transcripts_folder(self.thread_id)}"

    @property
    def current_units(self) -> int:
        """Number of units that the user did not take back."""
        return self.units - sum(map(len, self.rewound))

    def is_rewound(self, unit: int) -> bool:
        """Return whether the user took back the unit with this number."""
        return any(unit in numbers for numbers in self.rewound)

    @property
    def recency(self) -> tuple[float, SessionKey]:
        """Sort key, larger for sessions that were active later."""
        at = self.ended_at or self.started_at
        return (at.timestamp() if at else 0.0, self.key)

    @property
    def stream(self) -> SessionKey:
        """The stream that has the session's entries: its own, or the stand-in."""
        return self.stand_in or self.key

    @property
    def is_subagent(self) -> bool:
        """True if another session spawned this one."""
        return self.key.source != MAIN

    @property
    def subagent_id(self) -> str:
        """The subagent's own id; empty for a main session."""
        return self.key.subagent_id


class Activity(NamedTuple):
    """State of a session, as its process or a hook reports it."""

    state: WaitingFor | Literal["busy", "idle"]
    since_us: int
    """Since when, in microseconds since 1970; 0 if that is unknown."""


class ProcessRegistry(Struct, frozen=True):
    """Files below `path` that match `glob`; each names a live process of an agent."""

    path: Path
    glob: str


class LiveProcess(Struct, frozen=True):
    """A process that claims to work on a session."""

    session_id: str
    pid: int | None
    """None if the process locks its registry file instead of writing its pid there."""
    start_ticks: int | None = None
    """Start of the process in clock ticks since boot, because pids are reused."""
    activity: Activity | None = None
    """The activity that the process reports; None if it reports none."""


class Unit(Struct, frozen=True, kw_only=True):
    """The entries from one prompt to the next; for a subagent, all of its entries."""

    number: int
    chat_id: str
    summary: SessionSummary
    """Summary of the unit's session or subagent."""
    entries: tuple[PlacedRecord, ...]
    prompt: str
    stop_reason: StopReason
    agent_mode: AgentMode
    is_rewound: bool = False
    """True if the user took the unit back, or the unit that spawned this subagent."""
    subagents: tuple[Unit, ...] = ()
    transcript: str = ""
    """The path of the unit's transcript file; empty if it has none."""
    between_turns: frozenset[int] = frozenset()
    """`read_order` of its entries that were written while the agent waited."""

    @property
    def own_entries(self) -> tuple[PlacedRecord, ...]:
        """The entries of the unit's turns, without those written between turns."""
        return tuple(
            placed
            for placed in self.entries
            if placed.read_order not in self.between_turns
        )

    @property
    def started_at(self) -> datetime | None:
        """The time of its first own entry that has one."""
        return next(iter(_list_times(self.own_entries)), None)

    @property
    def dated_at(self) -> datetime:
        """Its start; if the log has no times, the start of its session, or 1970."""
        return self.started_at or self.summary.started_at or EPOCH

    @property
    def ended_at(self) -> datetime | None:
        """The latest time of its own entries; lines are not written in time order."""
        return max(_list_times(self.own_entries), default=None)

    @property
    def tool_calls(self) -> int:
        """Number of tool calls in this unit, without those of its subagents."""
        return sum(placed.record.type == "tool_use" for placed in self.entries)


class Session(Struct, frozen=True, kw_only=True):
    """A session with all or some of its units, as sinks render it."""

    summary: SessionSummary
    units: tuple[Unit, ...]
    status: Status
    cost_usd: float | None = None
    """None if the cost is unknown."""
    zone: tzinfo = UTC
    """The time zone of times shown to people."""


def find_waiting_for(session: SummarizedSession) -> WaitingFor | None:
    """Return what a session waits for; a stopped one waits for nothing."""
    return None if session.status == "stopped" else session.summary.waiting_for


class SummarizedSession(Protocol):
    """A session with its status."""

    @property
    def summary(self) -> SessionSummary:
        """The session's summary."""

    @property
    def status(self) -> Status:
        """The session's status."""


def _list_times(entries: tuple[PlacedRecord, ...]) -> list[datetime]:
    times = (placed.record.created_at for placed in entries)
    return [time for time in times if time]
