"""A session as the store sums it up."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

from leslied.model.record import MAIN, SessionKey, Usage
from leslied.model.stats import Cost

if TYPE_CHECKING:
    from datetime import datetime, tzinfo
    from pathlib import Path

    from leslied.model.record import PlacedRecord

Status = Literal["active", "idle", "stopped"]
StopReason = Literal["end_turn", "max_tokens", "cancelled", "error", "idle", "unknown"]
AgentMode = Literal["agent", "plan", "review", "duet"]


class SessionSummary(Struct, frozen=True, kw_only=True):
    """What lists show of one session, or of one subagent."""

    row: int
    """The store's own number of this stream."""
    key: SessionKey
    thread_id: str
    title: str
    cwd: str
    model: str
    started_at: datetime | None
    ended_at: datetime | None
    units: int
    tool_calls: int
    has_turn_ended: bool
    is_stopped: bool
    is_live: bool = False
    """Whether a process worked on it when stop detection last looked."""
    seen_at: datetime | None = None
    """When the newest entry was read."""
    spawn_call_id: str = ""
    parent_agent: str = ""
    agent_type: str = ""
    description: str = ""
    subagents: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: Cost = field(default_factory=Cost)
    """What the tokens cost, where anybody asked."""
    folder: str = ""
    """The folder that holds the thread's `.leslie`, once anything was written."""

    @property
    def transcripts_dir(self) -> str:
        """Where the thread's transcripts stand; empty before the first is written."""
        if not self.folder:
            return ""
        return f"{self.folder}/.leslie/threads/{self.thread_id}/.meta/transcripts"

    @property
    def recency(self) -> tuple[float, SessionKey]:
        """Larger for sessions that were active later."""
        at = self.ended_at or self.started_at
        return (at.timestamp() if at else 0.0, self.key)

    @property
    def is_subagent(self) -> bool:
        """Whether another session spawned it."""
        return self.key.source != MAIN

    @property
    def subagent_id(self) -> str:
        """The subagent's own id; empty for a main session."""
        return self.key.subagent_id


class ProcessRegistry(Struct, frozen=True):
    """Files that name an agent's live processes; `*` as in a shell."""

    path: Path
    glob: str


class LiveProcess(Struct, frozen=True):
    """A process that says it works on a session."""

    session_id: str
    pid: int | None
    """None where the process holds a lock on the file instead of telling its number."""
    start_ticks: int | None = None
    """When the process began, in clock ticks since boot: a pid alone is used again."""


class Unit(Struct, frozen=True, kw_only=True):
    """From one prompt to just before the next; for a subagent, all it did."""

    number: int
    chat_id: str
    summary: SessionSummary
    entries: tuple[PlacedRecord, ...]
    prompt: str
    stop_reason: StopReason
    agent_mode: AgentMode
    subagents: tuple[Unit, ...] = ()
    transcript: str = ""
    """The path of its file, if it has one."""

    @property
    def started_at(self) -> datetime | None:
        """The time of the first entry that has one."""
        return next(iter(self._times()), None)

    @property
    def ended_at(self) -> datetime | None:
        """The latest time among the entries: lines are not written in time order."""
        return max(self._times(), default=None)

    @property
    def tool_calls(self) -> int:
        """Calls in this unit itself, its subagents' own not among them."""
        return sum(placed.record.type == "tool_use" for placed in self.entries)

    def _times(self) -> list[datetime]:
        times = (placed.record.created_at for placed in self.entries)
        return [time for time in times if time]


class Session(Struct, frozen=True, kw_only=True):
    """A session with all it holds, or the part that was asked for: what outputs get."""

    summary: SessionSummary
    units: tuple[Unit, ...]
    status: Status
    cost_usd: float | None = None
    """None where nobody told what it cost."""
    zone: tzinfo = UTC
    """The zone of the times that people read."""
