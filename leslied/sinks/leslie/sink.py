"""The transcripts that leslied writes to projects, as an export format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.layout import transcripts_folder
from leslied.model.output import Artifact
from leslied.model.times import EPOCH
from leslied.sinks._contract import Sink
from leslied.sinks._names import make_safe_name
from leslied.sinks.leslie.names import make_file_name
from leslied.sinks.leslie.shape import TranscriptOptions, shape_document
from leslied.sinks.leslie.text import serialize_document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.session import Session, Unit


def render(session: Session) -> tuple[Artifact, ...]:
    """Render one file for each unit and subagent, in the thread's folder."""
    return tuple(_ThreadRenderer(session).render())


class _ThreadRenderer:
    """Renderer of a session's transcripts, each with a path that no other has."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._used_paths: set[str] = set()
        self._subagent_files: dict[str, str] = {}

    def render(self) -> Iterator[Artifact]:
        for unit in self._session.units:
            if unit.number or unit.summary.is_subagent:
                yield from self._render_unit(unit, "")

    def _render_unit(self, unit: Unit, parent_chat_id: str) -> Iterator[Artifact]:
        subagent_artifacts = [
            artifact
            for child in unit.subagents
            for artifact in self._render_unit(child, unit.chat_id)
        ]
        path = self._choose_path(unit)
        self._subagent_files[unit.summary.subagent_id] = path.rpartition("/")[2]
        options = TranscriptOptions(
            thread_id=self._session.summary.thread_id,
            zone=self._session.zone,
            redact=lambda text: text,
            parent_chat_id=parent_chat_id,
            subagent_files=self._subagent_files,
        )
        text = serialize_document(shape_document(unit, options))
        yield Artifact(path=path, body=text.encode())
        yield from subagent_artifacts

    def _choose_path(self, unit: Unit) -> str:
        """Return the path of the unit's transcript in its project.

        A unit without a transcript gets a new path.
        """
        thread = make_safe_name(self._session.summary.thread_id or "unknown")
        folder = transcripts_folder(thread, is_subagent=unit.summary.is_subagent)
        existing_name = unit.transcript.rpartition("/")[2]
        started_at = (unit.started_at or EPOCH).astimezone(self._session.zone)
        number = 1
        while True:
            name = existing_name or make_file_name(started_at, unit.prompt, number)
            path = f"{folder}/{name}"
            if path not in self._used_paths:
                self._used_paths.add(path)
                return path
            existing_name, number = "", number + 1


SINK = Sink(name="leslie", about="Leslie text transcripts, one per unit", render=render)
