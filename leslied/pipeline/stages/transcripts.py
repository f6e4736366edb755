"""The transcripts stage: write a transcript for each unit that finished and changed."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from leslied import sinks
from leslied.errors import SinkError
from leslied.layout import GITIGNORE_FILE, GITIGNORE_TEXT, transcripts_folder
from leslied.model.output import Transcript
from leslied.model.record import SessionKey
from leslied.model.times import EPOCH, to_us
from leslied.pipeline.failures import Failures
from leslied.pipeline.progress import ignore_progress
from leslied.redact.session import redact_unit
from leslied.sessions import RecordStream, assemble, compute_status
from leslied.sessions.subagents import find_parents, get_main_unit
from leslied.sinks import leslie
from leslied.threads.relations import find_claiming_thread, read_relations

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import tzinfo

    from leslied.clock import Clock
    from leslied.model.session import SessionSummary, Unit
    from leslied.pipeline.progress import ProgressCallback
    from leslied.store import Store, StoreReader, TranscriptLedger

MAX_TRANSCRIPTS = 50
"""Transcript files per thread. Older ones are removed; the store keeps everything."""
_SETTLE_AFTER = timedelta(seconds=2)
"""Time without new entries after which an ended turn counts as a finished unit."""
Backfill = Literal["central", "project", "none"]


@dataclass(slots=True)
class SettleReport:
    """Counts and errors of one run."""

    units: int = 0
    files_written: int = 0
    files_removed: int = 0
    exports_written: int = 0
    """Files that the exports stage wrote afterwards."""
    errors: dict[str, str] = field(default_factory=dict)
    """Reasons of failures, by session id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptStage:
    """The transcripts stage."""

    store: Store
    reader: StoreReader
    policy: sinks.OutputPolicy
    redact: Callable[[str], str]
    clock: Clock
    zone: tzinfo | None = None
    """Time zone of file names and headers; None means the machine's own."""
    limits: leslie.TranscriptLimits = field(default_factory=leslie.TranscriptLimits)
    backfill: Backfill = "central"
    live_sessions: set[tuple[str, str]] = field(default_factory=set)
    """Agent and id of sessions with a live process; updated by `StopDetection`."""
    is_final: bool = False
    """Whether every session counts as stopped."""
    failures: Failures = field(default_factory=Failures)
    on_progress: ProgressCallback = ignore_progress
    """Called after every session."""

    def run(self, *, limit: int = 1_000_000, include_old: bool = True) -> SettleReport:
        """Write the transcripts of units that finished and changed.

        Settle about `limit` sessions. Without `include_old`, skip sessions that ended
        before the store was created.
        """
        report = SettleReport()
        with self.store.transcripts() as ledger:
            since_us = 0 if include_old else ledger.get_created_us()
            if self.backfill == "none":
                ledger.mark_old_settled()
            # Sessions that failed stay due; they must not crowd out the others.
            failed_count = len(self.failures.list_names("transcript"))
            due = ledger.list_due(since_us, limit + failed_count)
        for number, (agent, session_id) in enumerate(due, 1):
            work = partial(self._try_settle, SessionKey(agent, session_id), report)
            self.failures.attempt("transcript", session_id, work, report.errors)
            self.on_progress(number, len(due))
        return report

    def _try_settle(self, key: SessionKey, report: SettleReport) -> None:
        """Settle a session; if a file cannot be written, try the central tree."""
        try:
            self._settle_session(key, report)
        except SinkError as error:
            self._settle_in_central_tree(key, report, error)

    def _settle_in_central_tree(
        self, key: SessionKey, report: SettleReport, error: SinkError
    ) -> None:
        """Settle the session again, in the central tree if its thread has no files.

        If this fails, too, report `error`, the reason of the first failure.
        """
        main = self.reader.find_session(key)
        if main is not None:
            with self.store.transcripts() as ledger:
                if not ledger.has_files(main.row):
                    folder = self.policy.choose_central(main.cwd).folder
                    ledger.move_unwritten_thread(main.row, os.fsencode(folder))
        try:
            self._settle_session(key, report)
        except SinkError:
            report.errors[key.session_id] = error.message

    def _settle_session(self, key: SessionKey, report: SettleReport) -> None:
        """Write the finished units that are due.

        If no other units are due, mark the session as settled.
        """
        main = self.reader.find_session(key)
        if main is None:
            return
        children = self.reader.list_subagents(key)
        with self.store.transcripts() as ledger:
            unit_by_child = _find_parent_units(main, children, ledger)
            # Do not write files that would be removed at once as surplus.
            last_surplus = main.units - MAX_TRANSCRIPTS
            due = set(ledger.list_due_units(main.row, last_surplus))
            due |= {
                unit_by_child[c.row] for c in children if _has_new_entries(c, ledger)
            }
            due = {number for number in due if number > last_surplus}
        has_unfinished_units = False
        for number in sorted(due):
            if self._is_unit_finished(main, number):
                report.units += 1
                unit_children = [c for c in children if unit_by_child[c.row] == number]
                self._write_unit(main, number, unit_children, report)
            else:
                has_unfinished_units = True
        if not has_unfinished_units:
            with self.store.transcripts() as ledger:
                ledger.mark_settled(*key[:2])

    def _is_unit_finished(self, main: SessionSummary, number: int) -> bool:
        """Return whether a unit is finished.

        A unit is finished when the next prompt came, when the session stopped, or
        `_SETTLE_AFTER` after its turn ended.
        """
        if number < main.units or self.is_final:
            return True
        now = self.clock.now()
        is_live = main.key[:2] in self.live_sessions
        if compute_status(main, now, is_live=is_live) == "stopped":
            return True
        is_quiet = main.seen_at is None or now - main.seen_at >= _SETTLE_AFTER
        return main.has_turn_ended and is_quiet

    def _write_unit(
        self,
        main: SessionSummary,
        number: int,
        children: list[SessionSummary],
        report: SettleReport,
    ) -> None:
        """Write the transcripts of a unit and its subagents; remove surplus ones."""
        base = self._choose_folder(main)
        if base is None:
            return
        # Reload: if Leslie claimed the thread, `_choose_folder` changed its id.
        main = self.reader.find_session(main.key) or main
        stream = RecordStream(main, tuple(self.reader.list_records(main.row, number)))
        child_streams = [
            RecordStream(c, tuple(self.reader.list_records(c.row))) for c in children
        ]
        writer = _TranscriptWriter(self, main, base, report)
        for unit in assemble(stream, child_streams):
            if unit.number:
                writer.write(unit)
            else:
                writer.write_subagents(unit)
        writer.remove_surplus()

    def _choose_folder(self, main: SessionSummary) -> Path | None:
        """Return the output folder of the thread, or None if no files are written.

        The first call saves the folder and, if Leslie claimed the session in that
        folder's relations file, gives the thread the claimed id.
        """
        with self.store.transcripts() as ledger:
            saved_folder = ledger.get_folder(main.row)
            if saved_folder:
                return Path(os.fsdecode(saved_folder))
            location = self.policy.choose(main.cwd)
            is_old = main.ended_at is not None and (
                to_us(main.ended_at) < ledger.get_created_us()
            )
            if is_old and self.backfill == "none":
                return None
            if is_old and self.backfill == "central":
                location = self.policy.choose_central(main.cwd)
            ledger.set_folder(main.row, os.fsencode(location.folder))
            claimed_id = find_claiming_thread(
                read_relations(location.folder), main.key.session_id
            )
            if claimed_id:
                ledger.claim_thread_id(main.row, claimed_id)
        return location.folder


@dataclass(slots=True)
class _TranscriptWriter:
    """Writer of the transcripts of one unit and its subagents."""

    stage: TranscriptStage
    main: SessionSummary
    base: Path
    """The output folder, which contains `.leslie`."""
    report: SettleReport
    subagent_files: dict[str, str] = field(default_factory=dict)
    """Name of the file of each subagent, by the subagent's id."""

    def write_subagents(self, unit: Unit) -> None:
        """Write the files of a unit's subagents.

        Unit 0, which precedes the first human prompt, has no file of its own, but the
        subagents that were started there have files.
        """
        for child in unit.subagents:
            self.write(child, unit.chat_id)

    def write(self, unit: Unit, parent_chat_id: str = "") -> None:
        """Write the unit's file, and before it the files of its subagents."""
        self.write_subagents(unit)
        with self.stage.store.transcripts() as ledger:
            transcript = ledger.find_transcript(unit.summary.row, unit.number)
            if transcript is None:
                # Reserve the name first, so that a crash leaves no unknown file.
                transcript = self._reserve_name(unit, ledger)
        self.subagent_files[unit.summary.subagent_id] = transcript.file.rpartition("/")[
            2
        ]
        data = self._render(unit, transcript.utc_offset, parent_chat_id)
        digest = hashlib.sha256(data).digest()[:16]
        if transcript.digest != digest:
            self._write_file(transcript.file, data)
        newest = max(placed.placement for placed in unit.entries)
        with self.stage.store.transcripts() as ledger:
            ledger.save(replace(transcript, newest=newest, digest=digest))

    def _reserve_name(self, unit: Unit, ledger: TranscriptLedger) -> Transcript:
        """Save a transcript that has a name but no content yet, and return it."""
        zone = self._find_zone(unit)
        transcript = Transcript(
            session=unit.summary.row,
            unit=unit.number,
            chat_id=unit.chat_id,
            folder=os.fsencode(self.base),
            file=self._choose_name(unit, zone, ledger),
            utc_offset=_get_utc_offset_minutes(zone, unit.started_at),
            started_us=to_us(unit.started_at or EPOCH),
            newest=0,
            digest=b"",
        )
        ledger.save(transcript)
        return transcript

    def _render(self, unit: Unit, utc_offset: int, parent_chat_id: str) -> bytes:
        options = leslie.TranscriptOptions(
            thread_id=self.main.thread_id,
            zone=timezone(timedelta(minutes=utc_offset)),
            redact=self.stage.redact,
            limits=self.stage.limits,
            parent_chat_id=parent_chat_id,
            subagent_files=self.subagent_files,
        )
        # Tool names and arguments may contain secrets, too, not only messages.
        redacted = redact_unit(unit, self.stage.redact)
        document = leslie.shape_document(redacted, options)
        return leslie.serialize_document(document).encode()

    def remove_surplus(self) -> None:
        """Remove the oldest transcripts beyond the limit; only files in the ledger."""
        with self.stage.store.transcripts() as ledger:
            for transcript in ledger.list_surplus(self.main.row, MAX_TRANSCRIPTS):
                folder = Path(os.fsdecode(transcript.folder))
                sinks.remove_file(folder, transcript.file)
                ledger.mark_removed(transcript)
                self.report.files_removed += 1

    def _write_file(self, name: str, data: bytes) -> None:
        """Write a file below the base; create the folder's `.gitignore` if missing."""
        if self.base.is_relative_to(self.stage.policy.central):
            sinks.make_folder(self.base)
        if sinks.read_file(self.base, GITIGNORE_FILE) is None:
            sinks.write_file(self.base, GITIGNORE_FILE, GITIGNORE_TEXT.encode())
        sinks.write_file(self.base, name, data)
        self.report.files_written += 1

    def _choose_name(self, unit: Unit, zone: tzinfo, ledger: TranscriptLedger) -> str:
        """Return a path below the base that is unused in the store and on disk."""
        folder = transcripts_folder(
            self.main.thread_id, is_subagent=unit.summary.is_subagent
        )
        started = (unit.started_at or EPOCH).astimezone(zone)
        prompt = self.stage.redact(unit.prompt)
        number = 1
        while True:
            name = f"{folder}/{leslie.make_file_name(started, prompt, number)}"
            is_taken = ledger.is_taken(os.fsencode(self.base), name)
            if not is_taken and sinks.read_file(self.base, name) is None:
                return name
            number += 1

    def _find_zone(self, unit: Unit) -> tzinfo:
        """Return the configured time zone, or the machine's when the unit began."""
        if self.stage.zone:
            return self.stage.zone
        local = (unit.started_at or EPOCH).astimezone()
        return timezone(local.utcoffset() or timedelta())


def _find_parent_units(
    main: SessionSummary, children: list[SessionSummary], ledger: TranscriptLedger
) -> dict[int, int]:
    """Return the unit of the main session that each subagent belongs to, by row id."""
    parents = find_parents(main.key, children, ledger.get_spawn_lookup(main))
    return {
        child.row: get_main_unit(child.key, main.key, parents) for child in children
    }


def _has_new_entries(child: SessionSummary, ledger: TranscriptLedger) -> bool:
    """Return whether the subagent has entries that its transcript does not include."""
    transcript = ledger.find_transcript(child.row, 0)
    if transcript is None:
        return True
    return transcript.newest < ledger.get_newest_placement(child.row)


def _get_utc_offset_minutes(zone: tzinfo, at: datetime | None) -> int:
    offset = (at or EPOCH).astimezone(zone).utcoffset() or timedelta()
    return int(offset.total_seconds() // 60)
