"""The stop detection stage: mark sessions as stopped when their process is gone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leslied import tail
from leslied.model.source import Root, WatchDepth
from leslied.model.times import to_us
from leslied.pipeline.stage import FULL_BUDGET, Report, Stage
from leslied.sessions.status import SETTLE_AFTER, compute_stop_cutoff_us

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leslied.agents import AgentAdapter
    from leslied.clock import Clock
    from leslied.model.session import Activity, LiveProcess, ProcessRegistry
    from leslied.pipeline.stage import Budget, StageContext
    from leslied.store import Store

_MAX_ENDED_SESSIONS = 200
"""Ended sessions that are remembered; the oldest are forgotten."""


class StopReport(Report, kw_only=True):
    """Counts of one run."""

    stopped: int = 0
    """Sessions and subagents that were marked as stopped."""

    event = "session.stop"

    @property
    def counts(self) -> Mapping[str, int]:
        """Return the numbers to log."""
        return {"sessions": self.stopped}

    @property
    def has_changes(self) -> bool:
        """Return whether later stages may have new work."""
        return self.stopped > 0


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class StopDetection(Stage):
    """The stop detection stage, for agents that register their processes.

    It stores which sessions are live, are stopped, or wait for the user. Other modules
    get the status of a session from `sessions.compute_status`.
    """

    store: Store
    clock: Clock
    registries: Sequence[tuple[AgentAdapter, Sequence[ProcessRegistry]]]
    is_final: bool = False
    """Whether every session counts as stopped."""
    live_sessions: set[tuple[str, str]] = field(default_factory=set)
    """Agent and id of every session that had a live process at the last run, even if
    the store does not have the session yet."""
    ended_sessions: dict[tuple[str, str], None] = field(default_factory=dict)
    """Sessions whose process is gone, the latest last. They are marked as stopped at
    each run, because the last entries may be read only after the process is gone."""

    name = "stop detection"

    @classmethod
    def make(cls, context: StageContext) -> StopDetection:
        """Make the stage."""
        return cls(
            store=context.store,
            clock=context.clock,
            registries=context.registries,
            is_final=context.is_final,
        )

    @property
    def is_polling(self) -> bool:
        """Return whether a process is live, whose end must be noticed."""
        return bool(self.live_sessions)

    @property
    def watched_roots(self) -> Sequence[Root]:
        """Return the registries that say what processes do, to see changes at once."""
        return [
            Root(path=registry.path, patterns=(), watch=WatchDepth.FLAT)
            for adapter, registries in self.registries
            if adapter.reports_activity
            for registry in registries
        ]

    def run(self, budget: Budget = FULL_BUDGET) -> StopReport:
        """Record which sessions are live, waiting or stopped.

        A session has stopped if its process ended or works on another session.
        """
        live_processes = self._find_live_processes()
        self.store.mark_live(live_processes)
        stopped = sum(
            self._mark_stopped(adapter, registries, is_scan=budget.is_scan)
            for adapter, registries in self.registries
        )
        self.store.mark_waiting(self._collect_activities(live_processes))
        if self.is_final:
            stopped += self.store.mark_all_stopped()
        return StopReport(stopped=stopped)

    def _find_live_processes(self) -> dict[tuple[str, str], LiveProcess]:
        """Return live processes by agent and session id; remember ended sessions."""
        registered: set[tuple[str, str]] = set()
        live: dict[tuple[str, str], LiveProcess] = {}
        for adapter, registries in self.registries:
            parse = adapter.parse_live_process
            for process, is_live in tail.iter_processes(registries, parse):
                key = (adapter.name, process.session_id)
                registered.add(key)
                if is_live:
                    live[key] = process
        self._record_ended((registered | self.live_sessions) - live.keys(), set(live))
        self.live_sessions = set(live)
        return live

    def _mark_stopped(
        self,
        adapter: AgentAdapter,
        registries: Sequence[ProcessRegistry],
        *,
        is_scan: bool,
    ) -> int:
        """Mark an agent's ended sessions as stopped; return how many are new."""
        ended = [
            session_id
            for agent, session_id in self.ended_sessions
            if agent == adapter.name
        ]
        ended += self._list_unregistered(adapter, registries, is_scan=is_scan)
        return self.store.mark_stopped(adapter.name, ended) if ended else 0

    def _collect_activities(
        self, processes: Mapping[tuple[str, str], LiveProcess]
    ) -> dict[tuple[str, str], Activity]:
        """Return the activities that processes report."""
        now_us = to_us(self.clock.now())
        return {
            key: activity
            if activity.state in ("busy", "idle")
            # The process still waits now, although entries, such as results of other
            # calls, may be newer than the time at which it began to wait.
            else activity._replace(since_us=now_us)
            for key, process in processes.items()
            if (activity := process.activity)
        }

    def _list_unregistered(
        self,
        adapter: AgentAdapter,
        registries: Sequence[ProcessRegistry],
        *,
        is_scan: bool,
    ) -> list[str]:
        """List sessions whose process started and ended between two runs.

        Settled sessions are listed only at a scan, because finding them takes longer.
        """
        entrypoints = adapter.registered_entrypoints
        if not entrypoints or not tail.are_registries_readable(registries):
            return []
        now = self.clock.now()
        return self.store.list_unregistered(
            adapter.name,
            entrypoints,
            compute_stop_cutoff_us(now),
            to_us(now - SETTLE_AFTER),
            with_settled=is_scan,
        )

    def adopt(self, previous: StopDetection) -> None:
        """Copy the live and the ended sessions of the stage that this one replaces."""
        self.live_sessions.update(previous.live_sessions)
        self.ended_sessions.update(previous.ended_sessions)

    def close(self) -> None:
        """Mark every session as not live, because processes are no longer checked."""
        self.store.mark_live(())

    def mark_ended(self, agent: str, session_ids: Sequence[str]) -> int:
        """Mark as stopped the sessions that reported their own end; return how many."""
        stopped = self.store.mark_stopped(agent, session_ids)
        # An id that the store cannot accept must not be remembered, because it would
        # make every later run fail.
        self._record_ended({(agent, session_id) for session_id in session_ids}, set())
        return stopped

    def mark_waiting(self, agent: str, activities: Mapping[str, Activity]) -> None:
        """Record what sessions wait for, as hooks reported it."""
        self.store.mark_waiting(
            {(agent, session): each for session, each in activities.items()}
        )

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
