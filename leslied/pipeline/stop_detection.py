"""Noticing that a session is over because its process is."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class StopDetection:
    """Follows the processes of every agent that names them."""

    store: Store
    registries: Sequence[tuple[AgentAdapter, Sequence[ProcessRegistry]]]
    live_sessions: set[tuple[str, str]] = field(default_factory=set)
    """Agent and id of every session that a process works on now."""
    ended_sessions: dict[tuple[str, str], None] = field(default_factory=dict)
    """Those whose process is gone, latest last: what it wrote on its way out may be
    read after that and does not open them again."""

    def run(self) -> int:
        """Sessions whose process is gone, or works on another, are stopped."""
        stopped = 0
        for adapter, registries in self.registries:
            found = tail.find_processes(registries, adapter.parse_live_process)
            named = {(adapter.name, each): there for each, there in found.items()}
            now = {key for key, is_there in named.items() if is_there}
            before = {key for key in self.live_sessions if key[0] == adapter.name}
            self._record_ended((set(named) | before) - now, now)
            self.live_sessions.difference_update(before)
            self.live_sessions.update(now)
            self.store.mark_live(adapter.name, (each for _, each in now))
            gone = [
                each for agent, each in self.ended_sessions if agent == adapter.name
            ]
            stopped += self.store.mark_stopped(adapter.name, gone) if gone else 0
        return stopped

    def forget_live(self) -> None:
        """Mark no session as live: nobody watches the processes from now on."""
        for adapter, _ in self.registries:
            self.store.mark_live(adapter.name, ())

    def mark_ended(self, agent: str, session_ids: Sequence[str]) -> int:
        """These sessions said themselves that they are over."""
        stopped = self.store.mark_stopped(agent, session_ids)
        # Only then: an id that the store does not take would fail every check.
        self._record_ended({(agent, each) for each in session_ids}, set())
        return stopped

    def _record_ended(
        self, ended: set[tuple[str, str]], running: set[tuple[str, str]]
    ) -> None:
        for key in sorted(ended):
            self.ended_sessions.setdefault(key)
        for key in running:
            self.ended_sessions.pop(key, None)
        for key in list(self.ended_sessions)[:-_MAX_ENDED_SESSIONS]:
            del self.ended_sessions[key]
