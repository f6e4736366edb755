"""The second street: detect, assemble, render, write."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from leslied import sinks
from leslied.errors import SinkError
from leslied.model.output import Transcript
from leslied.model.record import SessionKey
from leslied.pipeline.failures import Failures
from leslied.pipeline.progress import ignore_progress
from leslied.redact.session import redact_unit
from leslied.sessions import RecordStream, assemble, compute_status
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
"""A thread keeps so many files; the store keeps everything."""
_SETTLE_AFTER = timedelta(seconds=2)
_GITIGNORE = (
    "/.gitignore\n/index.json\n/INDEX.md\n/thread_relations.json*\n/threads/*/.meta/\n"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Backfill = Literal["central", "project", "none"]


@dataclass(slots=True)
class SettleReport:
    """The work a settle did."""

    units: int = 0
    files_written: int = 0
    files_removed: int = 0
    exports_written: int = 0
    """Files of other outputs, written after it."""
    errors: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settle:
    """Units that are over, on their way into files."""

    store: Store
    reader: StoreReader
    policy: sinks.OutputPolicy
    redact: Callable[[str], str]
    clock: Clock
    zone: tzinfo | None = None
    """The zone of names and headers; None means the machine's own."""
    limits: leslie.TranscriptLimits = field(default_factory=leslie.TranscriptLimits)
    backfill: Backfill = "central"
    live_sessions: set[tuple[str, str]] = field(default_factory=set)
    """Agent and id of sessions that a process works on; kept up to date by `Stops`."""
    is_final: bool = False
    """Whether every session counts as stopped."""
    failures: Failures = field(default_factory=Failures)
    on_progress: ProgressCallback = ignore_progress
    """Told of every session."""

    def run(self, *, limit: int = 1_000_000, include_old: bool = True) -> SettleReport:
        """Every unit that is over and has changed has its file, whole, as it is now.

        Without `has_old`, sessions that ended before the store was made may wait.
        """
        report = SettleReport()
        with self.store.transcripts() as outbox:
            since = 0 if include_old else outbox.get_created_us()
            if self.backfill == "none":
                outbox.mark_old_settled()
            # Sessions that failed stay due; they must not crowd out the others.
            due = outbox.list_due(since, limit + len(self.failures.names("transcript")))
        for number, (agent, session_id) in enumerate(due, 1):
            work = partial(self._try, SessionKey(agent, session_id), report)
            self.failures.attempt("transcript", session_id, work, report.errors)
            self.on_progress(number, len(due))
        return report

    def _try(self, key: SessionKey, done: SettleReport) -> None:
        try:
            self._settle_session(key, done)
        except SinkError as error:
            self._settle_in_central_tree(key, done, error)

    def _settle_in_central_tree(
        self, key: SessionKey, report: SettleReport, error: SinkError
    ) -> None:
        """A thread that has no file yet goes to the central tree instead."""
        main = self.reader.find_session(key)
        if main is not None:
            with self.store.transcripts() as outbox:
                if not outbox.has_files(main.row):
                    folder = self.policy.choose_central(main.cwd).folder
                    outbox.move_thread(main.row, os.fsencode(folder))
        try:
            self._settle_session(key, report)
        except SinkError:
            report.errors[key.session_id] = error.message

    def _settle_session(self, key: SessionKey, report: SettleReport) -> None:
        main = self.reader.find_session(key)
        if main is None:
            return
        children = self.reader.list_subagents(key)
        with self.store.transcripts() as outbox:
            homes = _find_parent_units(main, children, outbox)
            # What would be taken away again at once is not written at all.
            oldest = main.units - MAX_TRANSCRIPTS
            due = set(outbox.list_due_units(main.row, oldest))
            due |= {homes[c.row] for c in children if _has_new_entries(c, outbox)}
            due = {number for number in due if number > oldest}
        is_waiting = False
        for number in sorted(due):
            if self._is_unit_finished(main, number):
                report.units += 1
                here = [child for child in children if homes[child.row] == number]
                self._write_unit(main, number, here, report)
            else:
                is_waiting = True
        if not is_waiting:
            with self.store.transcripts() as outbox:
                outbox.mark_settled(*key[:2])

    def _is_unit_finished(self, main: SessionSummary, number: int) -> bool:
        """The next prompt came, the session stopped, or a turn ended and is quiet."""
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
        base = self._choose_folder(main)
        if base is None:
            return
        # With the folder the thread may have got the id that Leslie knows it by.
        main = self.reader.find_session(main.key) or main
        stream = RecordStream(main, tuple(self.reader.list_records(main.row, number)))
        below = [
            RecordStream(c, tuple(self.reader.list_records(c.row))) for c in children
        ]
        page = _TranscriptWriter(self, main, base, report)
        for unit in assemble(stream, below):
            if unit.number:
                page.write(unit)
            else:
                page.write_subagents(unit)
        page.remove_surplus()

    def _choose_folder(self, main: SessionSummary) -> Path | None:
        """Where the thread's files stand: chosen once, kept for ever."""
        with self.store.transcripts() as outbox:
            known = outbox.get_folder(main.row)
            if known:
                return Path(os.fsdecode(known))
            place = self.policy.choose(main.cwd)
            is_old = main.ended_at is not None and (
                main.ended_at.timestamp() * 1e6 < outbox.get_created_us()
            )
            if is_old and self.backfill == "none":
                return None
            if is_old and self.backfill == "central":
                place = self.policy.choose_central(main.cwd)
            outbox.set_folder(main.row, os.fsencode(place.folder))
            claim = find_claiming_thread(
                read_relations(place.folder), main.key.session_id
            )
            if claim:
                outbox.claim_thread_id(main.row, claim)
        return place.folder


@dataclass(slots=True)
class _TranscriptWriter:
    """One unit and its subagents, becoming files of one thread."""

    settle: Settle
    main: SessionSummary
    base: Path
    report: SettleReport
    files: dict[str, str] = field(default_factory=dict)

    def write_subagents(self, unit: Unit) -> None:
        """Write the files of a unit's subagents.

        Unit 0, what precedes the first human prompt, has no file of its own; the
        subagents started there have theirs.
        """
        for child in unit.subagents:
            self.write(child, unit.chat_id)

    def write(self, unit: Unit, parent_chat_id: str = "") -> None:
        """Write the unit's file, and before it the files of its subagents."""
        self.write_subagents(unit)
        with self.settle.store.transcripts() as outbox:
            known = outbox.find_transcript(unit.summary.row, unit.number)
            if known is None:
                # The name is ours before the file is: a crash between leaves no orphan.
                known = self._reserve_name(unit, outbox)
        self.files[unit.summary.subagent_id] = known.file.rpartition("/")[2]
        data = self._render(unit, known.utc_offset, parent_chat_id)
        digest = hashlib.sha256(data).digest()[:16]
        if known.digest != digest:
            self._write_file(known.file, data)
        newest = max(placed.placement for placed in unit.entries)
        with self.settle.store.transcripts() as outbox:
            outbox.save(replace(known, newest=newest, digest=digest))

    def _reserve_name(self, unit: Unit, outbox: TranscriptLedger) -> Transcript:
        zone = self._find_zone(unit)
        transcript = Transcript(
            session=unit.summary.row,
            unit=unit.number,
            chat_id=unit.chat_id,
            folder=os.fsencode(self.base),
            file=self._choose_name(unit, zone, outbox),
            utc_offset=_utc_offset_minutes(zone, unit.started_at),
            started_us=int((unit.started_at or _EPOCH).timestamp() * 1e6),
            newest=0,
            digest=b"",
        )
        outbox.save(transcript)
        return transcript

    def _render(self, unit: Unit, utc_offset: int, parent_chat_id: str) -> bytes:
        setting = leslie.TranscriptOptions(
            thread_id=self.main.thread_id,
            zone=timezone(timedelta(minutes=utc_offset)),
            redact=self.settle.redact,
            limits=self.settle.limits,
            parent_chat_id=parent_chat_id,
            subagent_files=self.files,
        )
        # Names of tools and what arguments mean hold secrets, too, not only words.
        clean = redact_unit(unit, self.settle.redact)
        return leslie.serialize_document(leslie.shape_document(clean, setting)).encode()

    def remove_surplus(self) -> None:
        """No thread has more files than its limit; only our own are taken away."""
        with self.settle.store.transcripts() as outbox:
            for old in outbox.list_surplus(self.main.row, MAX_TRANSCRIPTS):
                sinks.remove_file(Path(os.fsdecode(old.folder)), old.file)
                outbox.mark_removed(old)
                self.report.files_removed += 1

    def _write_file(self, name: str, data: bytes) -> None:
        if self.base.is_relative_to(self.settle.policy.central):
            sinks.make_folder(self.base)
        if sinks.read_file(self.base, ".leslie/.gitignore") is None:
            sinks.write_file(self.base, ".leslie/.gitignore", _GITIGNORE.encode())
        sinks.write_file(self.base, name, data)
        self.report.files_written += 1

    def _choose_name(self, unit: Unit, zone: tzinfo, outbox: TranscriptLedger) -> str:
        """A name nobody has, in the store or on disk."""
        part = "subagents" if unit.summary.is_subagent else "transcripts"
        folder = f".leslie/threads/{self.main.thread_id}/.meta/{part}"
        started = (unit.started_at or _EPOCH).astimezone(zone)
        prompt = self.settle.redact(unit.prompt)
        number = 1
        while True:
            name = f"{folder}/{leslie.make_file_name(started, prompt, number)}"
            is_free = not outbox.is_taken(os.fsencode(self.base), name)
            if is_free and sinks.read_file(self.base, name) is None:
                return name
            number += 1

    def _find_zone(self, unit: Unit) -> tzinfo:
        """The zone in force when the unit began: saved with its name, for ever."""
        if self.settle.zone:
            return self.settle.zone
        local = (unit.started_at or _EPOCH).astimezone()
        return timezone(local.utcoffset() or timedelta())


def _find_parent_units(
    main: SessionSummary, children: list[SessionSummary], outbox: TranscriptLedger
) -> dict[int, int]:
    """The unit each subagent belongs to: its call's, its parent's, or by time."""
    rows = {child.row: child for child in children}
    homes: dict[int, int] = {}

    def find(child: SessionSummary, seen: tuple[int, ...] = ()) -> int:
        calls = outbox.find_call_units(child.spawn_call_id)
        if main.row in calls:
            return calls[main.row]
        for row in calls:
            if row in rows and row != child.row and row not in seen:
                return find(rows[row], (*seen, child.row))
        began = (child.started_at or _EPOCH).timestamp() * 1e6
        return outbox.find_unit_at(main.row, int(began))

    for child in children:
        homes[child.row] = find(child)
    return homes


def _has_new_entries(child: SessionSummary, outbox: TranscriptLedger) -> bool:
    known = outbox.find_transcript(child.row, 0)
    return known is None or known.newest < outbox.get_newest_placement(child.row)


def _utc_offset_minutes(zone: tzinfo, at: datetime | None) -> int:
    offset = (at or _EPOCH).astimezone(zone).utcoffset() or timedelta()
    return int(offset.total_seconds() // 60)
