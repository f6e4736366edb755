"""The stop detection stage: mark sessions as stopped when their process is gone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leslied import tail

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leslied.agents import AgentAdapter
    from leslied.model.session import ProcessRegistry
    from leslied.store import Store


_MAX_ENDED_SESSIONS = 200
"""Ended sessions that are remembered; the oldest are forgotten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopDetection:
    """The stop detection stage, for agents that register their processes."""

    store: Store
    registries: Sequence[tuple[AgentAdapter, Sequence[ProcessRegistry]]]
    live_sessions: set[tuple[str, str]] = field(default_factory=set)
    """Agent and id of every session with a live process."""
    ended_sessions: dict[tuple[str, str], None] = field(default_factory=dict)
    """Sessions whose process is gone, the latest last. They are marked as stopped at
    each run, because the last entries may be read only after the process is gone."""

    def run(self) -> int:
        """Mark sessions as stopped whose process ended or works on another session.

        Return how many were marked now.
        """
        stopped = 0
        for adapter, registries in self.registries:
            agent = adapter.name
            processes = tail.check_session_processes(
                registries, adapter.parse_live_process
            )
            registered = {(agent, session_id) for session_id in processes}
            live = {
                (agent, session_id)
                for session_id, is_live in processes.items()
                if is_live
            }
            live_before = {key for key in self.live_sessions if key[0] == agent}
            self._record_ended((registered | live_before) - live, live)
            self.live_sessions.difference_update(live_before)
            self.live_sessions.update(live)
            self.store.mark_live(agent, (session_id for _, session_id in live))
            ended = [
                session_id
                for key_agent, session_id in self.ended_sessions
                if key_agent == agent
            ]
            stopped += self.store.mark_stopped(agent, ended) if ended else 0
        return stopped

    def forget_live(self) -> None:
        """Mark every session as not live, because processes are no longer checked."""
        for adapter, _ in self.registries:
            self.store.mark_live(adapter.name, ())

    def mark_ended(self, agent: str, session_ids: Sequence[str]) -> int:
        """Mark as stopped the sessions that reported their own end; return how many."""
        stopped = self.store.mark_stopped(agent, session_ids)
        # An id that the store cannot accept must not be remembered, because it would
        # make every later run fail.
        self._record_ended({(agent, session_id) for session_id in session_ids}, set())
        return stopped

    def _record_ended(
        self, ended: set[tuple[str, str]], live: set[tuple[str, str]]
    ) -> None:
        """Remember the ended sessions; forget those that are live and the oldest."""
        for key in sorted(ended):
            self.ended_sessions.setdefault(key)
        for key in live:
            self.ended_sessions.pop(key, None)
        for key in list(self.ended_sessions)[:-_MAX_ENDED_SESSIONS]:
            del self.ended_sessions[key]
