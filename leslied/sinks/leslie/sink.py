"""The same transcripts that stand in projects, as an output to take away."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from leslied.model.output import Artifact
from leslied.sinks._contract import Sink
from leslied.sinks._names import name_part
from leslied.sinks.leslie.names import name_file
from leslied.sinks.leslie.shape import Setting, shape
from leslied.sinks.leslie.text import serialize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.session import Session, Unit

_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


def render(session: Session) -> tuple[Artifact, ...]:
    """One file for each unit and each subagent, under the thread's own folder."""
    return tuple(_Thread(session).render())


class _Thread:
    """Names given so far: no two units share one."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._taken: set[str] = set()
        self._files: dict[str, str] = {}

    def render(self) -> Iterator[Artifact]:
        for unit in self._session.units:
            if unit.number or unit.summary.is_subagent:
                yield from self._render(unit, "")

    def _render(self, unit: Unit, parent_chat_id: str) -> Iterator[Artifact]:
        below = [
            artifact
            for child in unit.subagents
            for artifact in self._render(child, unit.chat_id)
        ]
        path = self._name(unit)
        self._files[unit.summary.subagent_id] = path.rpartition("/")[2]
        setting = Setting(
            thread_id=self._session.summary.thread_id,
            zone=self._session.zone,
            redact=lambda text: text,
            parent_chat_id=parent_chat_id,
            files=self._files,
        )
        text = serialize(shape(unit, setting))
        yield Artifact(path=path, body=text.encode())
        yield from below

    def _name(self, unit: Unit) -> str:
        """The name it has in the project, else the one it would get there."""
        part = "subagents" if unit.summary.is_subagent else "transcripts"
        thread = name_part(self._session.summary.thread_id or "unknown")
        known = unit.transcript.rpartition("/")[2]
        started = (unit.started_at or _LONG_AGO).astimezone(self._session.zone)
        number = 1
        while True:
            name = known or name_file(started, unit.prompt, number)
            path = f".leslie/threads/{thread}/.meta/{part}/{name}"
            if path not in self._taken:
                self._taken.add(path)
                return path
            known, number = "", number + 1


SINK = Sink(name="leslie", about="Leslie text transcripts, one per unit", render=render)
