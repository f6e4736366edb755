"""Write the transcript files of one unit and its subagents."""

from __future__ import annotations

import hashlib
import os
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field, structs

from leslied import sinks
from leslied.layout import split_thread_path, transcripts_folder
from leslied.model.output import Transcript
from leslied.model.times import EPOCH, to_us
from leslied.pipeline.stage import LogEvent, Report
from leslied.sinks import leslie

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from contextlib import ExitStack
    from datetime import tzinfo

    from leslied.folders import FileBatch, Folder
    from leslied.model.record import SessionKey
    from leslied.model.session import Session, Unit
    from leslied.store import TranscriptLedger

MAX_TRANSCRIPTS = 50
"""Transcript files per thread. Older ones are removed; the store keeps everything."""

_NAMING_CHARACTERS = 10_000
"""Start of a prompt from which a file name is made."""


class SettleReport(Report, kw_only=True):
    """Counts of one run, and reasons of failures by session id."""

    units: int = 0
    files_written: int = 0
    files_removed: int = 0
    moved_threads: dict[str, str] = field(default_factory=dict)
    """New folder of threads that moved, by thread id."""

    event = "transcripts.write"

    @property
    def counts(self) -> Mapping[str, int]:
        """Return the numbers to log."""
        if not self.files_written:
            return {}
        return {"units": self.units, "files": self.files_written}

    @property
    def has_changes(self) -> bool:
        """Return whether later stages may have new work."""
        return self.units > 0

    def list_events(self) -> Iterator[LogEvent]:
        """Yield everything that the daemon logs, with each thread that moved."""
        yield from Report.list_events(self)
        for thread_id, folder in self.moved_threads.items():
            fields = {"thread": thread_id, "folder": folder}
            yield LogEvent("thread.folder", fields, is_warning=False)


class OutputFolders(Struct):
    """The folders whose `.leslie` is written to, held open until `stack` is closed."""

    central: Path
    """The central tree; its folders are created."""
    stack: ExitStack
    _folders: dict[Path, Folder] = field(default_factory=dict)
    _threads: set[tuple[Path, str]] = field(default_factory=set)
    """Base and id of the threads whose files Git ignores."""

    def open(self, base: Path, file: str) -> Folder:
        """Return `base`, opened; make Git ignore the thread to which `file` belongs."""
        if base not in self._folders:
            if base.is_relative_to(self.central):
                sinks.make_folder(base)
            self._folders[base] = self.stack.enter_context(sinks.open_base_folder(base))
        folder, (thread, _) = self._folders[base], split_thread_path(file)
        if (base, thread) not in self._threads:
            sinks.exclude_from_git(folder, file)
            self._threads.add((base, thread))
        return folder


class TranscriptWriter(Struct, kw_only=True):
    """Writer of the transcripts of one unit and its subagents."""

    session: Session
    """The session with only this unit. It is redacted only when it is rendered, because
    the ledger finds it by its original ids and folder."""
    is_in_memory: bool = True
    """Whether all texts are loaded; a forked process has no store to load others."""
    redactor: leslie.TextRedactor
    report: SettleReport
    limits: leslie.TranscriptLimits
    zone: tzinfo | None
    """Time zone of new files; None means the machine's own."""
    reserved: dict[tuple[SessionKey, int], Transcript] = field(default_factory=dict)
    """The transcript of each unit, by session and number, before it is written."""
    updated: list[Transcript] = field(default_factory=list)
    """The transcript of each unit with its new digest, for `save`."""

    @property
    def _base(self) -> Path:
        """Return the output folder, which contains `.leslie`."""
        return Path(self.session.summary.folder)

    @property
    def session_key(self) -> SessionKey:
        """Return the key of the session."""
        return self.session.summary.key

    @property
    def has_new_names(self) -> bool:
        """Whether the names of some files were reserved for the first time."""
        return any(not transcript.newest for transcript in self.reserved.values())

    def count_characters(self) -> int:
        """Return the length of the texts of all entries."""
        return sum(
            len(placed.record.content) + len(placed.record.tool_input)
            for unit in _iter_units(self.session.units)
            for placed in unit.entries
        )

    def reserve_names(self, ledger: TranscriptLedger) -> None:
        """Find or choose the name of each file."""
        self.session = structs.replace(
            self.session,
            units=tuple(self._reserve_name(u, ledger) for u in self.session.units),
        )

    def _reserve_name(self, unit: Unit, ledger: TranscriptLedger) -> Unit:
        """Return the unit with the names of its file and those of its subagents.

        Unit 0, which precedes the first human prompt, has no file of its own.
        """
        subagents = tuple(self._reserve_name(c, ledger) for c in unit.subagents)
        if not (unit.number or unit.summary.is_subagent):
            return structs.replace(unit, subagents=subagents)
        transcript = ledger.find_transcript(unit.summary.key, unit.number)
        if transcript is None:
            transcript = self._make_transcript(unit, ledger)
            ledger.save(transcript)
        self.reserved[unit.summary.key, unit.number] = transcript
        return structs.replace(unit, transcript=transcript.file, subagents=subagents)

    def _make_transcript(self, unit: Unit, ledger: TranscriptLedger) -> Transcript:
        """Return a transcript that has a name but no content yet."""
        zone = self._find_zone(unit)
        return Transcript(
            session=unit.summary.key,
            unit=unit.number,
            chat_id=unit.chat_id,
            folder=os.fsencode(self._base),
            file=self._choose_name(unit, zone, ledger),
            utc_offset=_get_utc_offset_minutes(zone, unit.started_at),
            started_us=to_us(unit.started_at or EPOCH),
            newest=0,
            digest=b"",
        )

    def render(self) -> list[bytes]:
        """Return the contents of all files."""
        artifacts = leslie.render(
            self.session, self.limits, self._get_zone, self.redactor
        )
        return [artifact.body for artifact in artifacts]

    def write_files(
        self, contents: list[bytes], outputs: OutputFolders, batch: FileBatch
    ) -> None:
        """Add the files that changed to the batch, those of subagents first.

        Set `updated` for `save`.
        """
        units = [u for u in _iter_units(self.session.units) if u.transcript]
        self.updated = []
        for unit, content in reversed([*zip(units, contents, strict=True)]):
            transcript = self._get_reserved(unit)
            digest = hashlib.sha256(content).digest()[:16]
            if transcript.digest != digest:
                output = outputs.open(self._base, transcript.file)
                batch.add(output, transcript.file, content)
            newest = max(placed.read_order for placed in unit.entries)
            self.updated.append(
                structs.replace(transcript, newest=newest, digest=digest)
            )

    def save(self, ledger: TranscriptLedger) -> None:
        """Record which files were written."""
        for transcript in self.updated:
            previous = self.reserved[transcript.session, transcript.unit]
            self.report.files_written += previous.digest != transcript.digest
            ledger.save(transcript)

    def remove_surplus(self, ledger: TranscriptLedger) -> None:
        """Delete the oldest transcripts of a session that has more than the limit."""
        for transcript in ledger.list_surplus(self.session_key, MAX_TRANSCRIPTS):
            folder = Path(os.fsdecode(transcript.folder))
            sinks.remove_file(folder, transcript.file)
            ledger.mark_removed(transcript)
            self.report.files_removed += 1

    def _choose_name(self, unit: Unit, zone: tzinfo, ledger: TranscriptLedger) -> str:
        """Return a path below the base that is unused in the store and on disk."""
        folder = transcripts_folder(
            self.session.summary.thread_id, is_subagent=unit.summary.is_subagent
        )
        started = unit.dated_at.astimezone(zone)
        prompt = self.redactor.redact_prefix(unit.prompt, _NAMING_CHARACTERS)
        number = 1
        while True:
            name = f"{folder}/{leslie.make_file_name(started, prompt, number)}"
            is_taken = ledger.is_taken(os.fsencode(self._base), name)
            if not is_taken and not sinks.has_entry(self._base, name):
                return name
            number += 1

    def _find_zone(self, unit: Unit) -> tzinfo:
        """Return the configured zone, or the machine's offset when the unit began."""
        if self.zone:
            return self.zone
        local = unit.dated_at.astimezone()
        return timezone(local.utcoffset() or timedelta())

    def _get_zone(self, unit: Unit) -> tzinfo:
        """Return the time zone in which the unit's file was first written."""
        return timezone(timedelta(minutes=self._get_reserved(unit).utc_offset))

    def _get_reserved(self, unit: Unit) -> Transcript:
        return self.reserved[unit.summary.key, unit.number]


def _iter_units(units: Iterable[Unit]) -> Iterator[Unit]:
    """Yield each unit, followed by its subagents."""
    for unit in units:
        yield unit
        yield from _iter_units(unit.subagents)


def _get_utc_offset_minutes(zone: tzinfo, at: datetime | None) -> int:
    offset = (at or EPOCH).astimezone(zone).utcoffset() or timedelta()
    return int(offset.total_seconds() // 60)
