"""Transcripts, as leslied writes them to projects and as an export format."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leslied.layout import transcripts_folder
from leslied.model.output import Artifact
from leslied.rendering.transcript_text import serialize_document
from leslied.sinks._contract import Sink
from leslied.sinks._names import make_safe_name
from leslied.sinks.leslie.drafts import TranscriptLimits, TranscriptOptions
from leslied.sinks.leslie.names import make_file_name
from leslied.sinks.leslie.shape import shape_document
from leslied.sinks.leslie.truncate import NoRedaction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import tzinfo

    from leslied.model.session import Session, Unit
    from leslied.sinks.leslie.truncate import TextRedactor


def render(
    session: Session,
    limits: TranscriptLimits | None = None,
    get_zone: Callable[[Unit], tzinfo] | None = None,
    redactor: TextRedactor | None = None,
) -> tuple[Artifact, ...]:
    """Render one file for each unit, followed by those of its subagents.

    A unit that has a transcript keeps its file name. `get_zone` returns the time zone
    of a unit; without it, that of the session is used. Without a `redactor`, the
    session must be redacted.
    """
    renderer = _ThreadRenderer(
        session,
        limits or TranscriptLimits(),
        get_zone or (lambda _: session.zone),
        redactor or NoRedaction(),
    )
    return tuple(renderer.render())


@dataclass(slots=True)
class _ThreadRenderer:
    """Renderer of a session's transcripts, each with a path that no other has."""

    _session: Session
    _limits: TranscriptLimits
    _get_zone: Callable[[Unit], tzinfo]
    _redactor: TextRedactor
    _used_paths: set[str] = field(default_factory=set)
    _subagent_files: dict[str, str] = field(default_factory=dict)

    def render(self) -> Iterator[Artifact]:
        """Yield the files of all units.

        If the session's log is missing, a subagent stands in for the session. All of
        its entries are in unit 0, which then has a file.
        """
        for unit in self._session.units:
            if unit.number or unit.summary.is_subagent or unit.summary.stand_in:
                yield from self._render_unit(unit, "")
            else:
                # Entries before the first prompt have no file; their subagents have.
                for child in unit.subagents:
                    yield from self._render_unit(child, unit.chat_id)

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
            zone=self._get_zone(unit),
            limits=self._limits,
            redactor=self._redactor,
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
        existing_name = self._redactor.redact(unit.transcript).rpartition("/")[2]
        started_at = unit.dated_at.astimezone(self._get_zone(unit))
        number = 1
        while True:
            name = existing_name or make_file_name(started_at, unit.prompt, number)
            path = f"{folder}/{name}"
            if path not in self._used_paths:
                self._used_paths.add(path)
                return path
            existing_name, number = "", number + 1


SINK = Sink(name="leslie", about="Leslie text transcripts, one per unit", render=render)
