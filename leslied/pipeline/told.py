"""What hooks told: a look at the log they name, now, and sessions that ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from leslied.hooks import given, inbox, spool
from leslied.hooks.thread import AGENT
from leslied.pipeline.batch import Ingested

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leslied.clock import Clock
    from leslied.pipeline.ingest import Ingest
    from leslied.pipeline.stops import Stops


@dataclass(slots=True)
class Heard:
    """What the spool held."""

    events: int = 0
    dropped: int = 0
    stopped: int = 0
    done: Ingested = field(default_factory=Ingested)
    unknown: set[Path] = field(default_factory=set)
    """Folders of logs that no agent's root holds."""


@dataclass(frozen=True, slots=True)
class Told:
    """Listens to the spool; without hooks there is none, and that costs one look."""

    data_dir: Path
    ingests: Sequence[Ingest]
    stops: Stops
    clock: Clock

    @property
    def folder(self) -> Path:
        """Where hooks leave word."""
        return self.data_dir / spool.FOLDER

    def listen(self) -> Heard:
        """Every log that hooks named was looked at; sessions that ended are stopped."""
        now_ns = int(self.clock.now().timestamp() * 1e9)
        told = spool.listen(str(self.data_dir), now_ns)
        heard = Heard(events=len(told.events), dropped=told.dropped)
        if not told.events:
            return heard
        self._look(told, heard)
        ended = [
            event["session_id"]
            for event in told.events
            if event["hook_event_name"] == "SessionEnd" and "session_id" in event
        ]
        if ended:
            heard.stopped = self.stops.end(AGENT, ended)
            given.forget_old(str(self.data_dir), now_ns)
            inbox.forget_old(str(self.data_dir), now_ns)
        told.forget()
        return heard

    def _look(self, told: spool.Told, heard: Heard) -> None:
        names = ("transcript_path", "agent_transcript_path")
        named = {event.get(name, "") for event in told.events for name in names}
        paths = [Path(path) for path in sorted(named) if _is_path(path)]
        roots = [root.path for ingest in self.ingests for root in ingest.roots]
        for path in paths:
            if not any(path.is_relative_to(root) for root in roots):
                heard.unknown.add(path.parent)
        for ingest in self.ingests:
            if ingest.adapter.name == AGENT:
                heard.done += ingest.look(paths)


def _is_path(text: str) -> bool:
    return text.startswith("/") and "\0" not in text
