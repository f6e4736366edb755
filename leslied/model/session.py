"""A session as the store sums it up."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leslied.model.record import MAIN, SessionKey, Usage

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
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
    spawn_call_id: str = ""
    parent_agent: str = ""
    agent_type: str = ""
    description: str = ""
    subagents: int = 0
    usage: Usage = field(default_factory=Usage)

    @property
    def is_subagent(self) -> bool:
        """Whether another session spawned it."""
        return self.key.source != MAIN

    @property
    def subagent_id(self) -> str:
        """The subagent's own id; empty for a main session."""
        return self.key.source.partition(":")[2]
