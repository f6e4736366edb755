"""The transcripts stage: write a transcript for each unit that finished and changed."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, structs

from leslied import sinks
from leslied.errors import SinkError, describe_error
from leslied.model.record import SessionKey
from leslied.model.session import Session
from leslied.model.times import to_us
from leslied.pipeline.failures import Failures
from leslied.pipeline.progress import ignore_progress
from leslied.pipeline.stage import FULL_BUDGET, Stage
from leslied.pipeline.stages.transcript_group import TranscriptGroup
from leslied.pipeline.stages.transcript_writer import (
    MAX_TRANSCRIPTS,
    SettleReport,
    TranscriptWriter,
)
from leslied.pipeline.stages.unit_entries import UnitEntries
from leslied.sessions.status import (
    SETTLE_AFTER,
    compute_settle_delay,
    compute_status,
    find_settle_time,
)
from leslied.sinks import leslie
from leslied.threads.relations import find_claiming_thread, read_relations

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, tzinfo

    from leslied.clock import Clock
    from leslied.model.session import SessionSummary
    from leslied.pipeline.progress import ProgressCallback
    from leslied.pipeline.stage import Budget, StageContext
    from leslied.store import Store, StoreReader, TranscriptLedger

Backfill = Literal["central", "project", "none"]
_SCOPE = "transcript"
"""Scope of the failures of sessions."""


class _DueUnits(Struct):
    """The units of a session that changed since their transcripts were written."""

    numbers: set[int]
    subagents_by_unit: dict[int, list[SessionSummary]] = {}


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class TranscriptStage(Stage):
    """The transcripts stage."""

    store: Store
    reader: StoreReader
    policy: sinks.OutputPolicy
    redactor: leslie.TextRedactor
    clock: Clock
    zone: tzinfo | None = None
    """Time zone of file names and headers; None means the machine's own."""
    include_thinking: bool = False
    backfill: Backfill = "central"
    is_final: bool = False
    """Whether every session counts as stopped."""
    failures: Failures = field(default_factory=Failures)
    on_progress: ProgressCallback = ignore_progress
    """Called after every session."""
    announced_ends: Mapping[SessionKey, datetime] = field(default_factory=dict)
    """When a hook last announced the end of a turn, by session."""
    _postponed: dict[SessionKey, None] = field(default_factory=dict)
    """Sessions that the last run did not get to, in order; they come first, so that
    busy sessions cannot keep others waiting."""
    name = "transcripts"
    activity = "Writing transcripts"

    @classmethod
    def make(
        cls, context: StageContext, announced_ends: Mapping[SessionKey, datetime]
    ) -> TranscriptStage:
        """Make the stage; `announced_ends` may change later."""
        output = context.settings.output
        folders = [
            sinks.find_agent_folder(root.path, context.home)
            for _, roots in context.agents
            for root in roots
            if not root.is_project
        ]
        folders += (context.paths.data_dir, context.paths.state_dir)
        policy = sinks.OutputPolicy(
            home=context.home,
            central=context.paths.central_dir,
            # A log may name a folder by its real path.
            reserved_folders=(*folders, *(folder.resolve() for folder in folders)),
            user=os.getuid(),
            is_central=output.location == "central",
            redact=context.redact,
        )
        return cls(
            store=context.store,
            reader=context.reader,
            policy=policy,
            redactor=context.redactor,
            clock=context.clock,
            zone=context.zone,
            include_thinking=output.thinking,
            backfill=output.backfill,
            is_final=context.is_final,
            failures=context.failures,
            on_progress=context.on_progress,
            announced_ends=announced_ends,
        )

    def run(self, budget: Budget = FULL_BUDGET) -> SettleReport:
        """Write the transcripts of units that finished and changed.

        Without the backlog, skip sessions that ended before the store was created.
        """
        report = SettleReport()
        with self.store.transcripts() as ledger:
            since_us = 0 if budget.includes_backlog else ledger.get_created_us()
            if self.backfill == "none":
                ledger.settle_old_sessions()
            # Sessions that failed stay due; they must not crowd out the others.
            failed_count = len(self.failures.list_names(_SCOPE))
            due = ledger.list_due(since_us, budget.max_sessions + failed_count)
        group = self._make_group(report, budget)
        for number, key in enumerate(self._put_postponed_first(due), 1):
            if number > 1 and budget.should_yield():
                self._postponed[key] = None
                report.has_more = True
                continue
            work = partial(self._plan_session, key, group, report, budget)
            self.failures.attempt(
                _SCOPE, key.session_id, work, report.errors, is_last=False
            )
            self.on_progress(number, len(due))
        group.write()
        return report

    def _put_postponed_first(self, due: list[tuple[str, str]]) -> list[SessionKey]:
        """Return the due sessions, first those that the last run did not get to."""
        keys = dict.fromkeys(SessionKey(*agent_and_id) for agent_and_id in due)
        postponed = [key for key in self._postponed if key in keys]
        self._postponed.clear()
        return list(dict.fromkeys([*postponed, *keys]))

    def _make_group(self, report: SettleReport, budget: Budget) -> TranscriptGroup:
        """Return an empty group that retries or records sessions it cannot write."""

        def handle_error(key: SessionKey, error: Exception) -> None:
            if isinstance(error, SinkError) and not _is_disk_full(error):
                self._settle_in_central_tree(key, report, budget, error)
            else:
                reason = describe_error(error)
                report.errors[key.session_id] = self.failures.record(
                    _SCOPE, key.session_id, reason
                )

        return TranscriptGroup(
            self.store,
            self.policy.central,
            handle_error,
            lambda key: self.failures.clear(_SCOPE, key.session_id),
        )

    def _settle_in_central_tree(
        self, key: SessionKey, report: SettleReport, budget: Budget, error: SinkError
    ) -> None:
        """Settle the session again, in the central tree if its thread has no files.

        If this fails, too, report `error`, the reason of the first failure.
        """
        main = self.reader.find_session(key)
        if main is not None:
            with self.store.transcripts() as ledger:
                if not ledger.was_ever_written(key):
                    folder = self.policy.choose_central(_get_output_cwd(main)).folder
                    ledger.move_unwritten_thread(key, os.fsencode(folder))

        def report_error(key: SessionKey, _: Exception) -> None:
            report.errors[key.session_id] = error.message

        group = structs.replace(self._make_group(report, budget), on_error=report_error)
        self._plan_session(key, group, report, budget)
        group.write()

    def _plan_session(
        self,
        key: SessionKey,
        group: TranscriptGroup,
        report: SettleReport,
        budget: Budget,
    ) -> None:
        """Add to the group finished due units, at least one, until the budget yields.

        If these are all due units, writing the group marks the session as settled.
        """
        main = self.reader.find_session(key)
        if main is None:
            return
        due = self._find_due_units(main, report)
        finished = [
            number
            for number in sorted(due.numbers)
            if self._can_settle(main, number, report)
        ]
        main = self._prepare_folder(main) if finished else main
        added_count = 0
        for number in finished:
            if added_count and budget.should_yield():
                report.has_more = True
                break
            added_count += 1
            report.units += 1
            if main.folder:
                children = due.subagents_by_unit.get(number, [])
                group.add(self._make_writer(main, number, children, report))
        if added_count == len(due.numbers):
            group.complete(key)

    def _find_due_units(self, main: SessionSummary, report: SettleReport) -> _DueUnits:
        """Return the units that changed, or of which a subagent did.

        A thread that belongs elsewhere is moved first, which makes all its units due.
        """
        # Do not write files that would be removed at once as surplus.
        last_surplus = main.units - MAX_TRANSCRIPTS
        with self.store.transcripts() as ledger:
            self._move_thread(main, ledger, report)
            due = _DueUnits(set(ledger.list_due_units(main.key, last_surplus)))
            outdated = ledger.list_outdated_subagents(main.key)
        # Most runs write nothing; they need not load the subagents.
        if outdated or any(self._can_settle(main, n, report) for n in due.numbers):
            subagents = self.reader.list_subagents(main.key)
            children = [child for child in subagents if not child.is_hidden]
            with self.store.transcripts() as ledger:
                units = _find_parent_units(main, children, ledger)
            for child in children:
                due.subagents_by_unit.setdefault(units[child.key], []).append(child)
            due.numbers |= {units[c.key] for c in children if c.key in outdated}
        due.numbers = {number for number in due.numbers if number > last_surplus}
        return due

    def _prepare_folder(self, main: SessionSummary) -> SessionSummary:
        """Return the session with its output folder, "" if no files are written."""
        # Reload: the thread may have moved.
        main = self.reader.find_session(main.key) or main
        with self.store.transcripts() as ledger:
            return self._choose_folder(main, ledger)

    def _make_writer(
        self,
        main: SessionSummary,
        number: int,
        children: list[SessionSummary],
        report: SettleReport,
    ) -> TranscriptWriter:
        """Return the writer of a unit and its subagents."""
        entries = UnitEntries(self.reader)
        session = Session(
            summary=main,
            units=entries.load_units(main, number, children),
            status=compute_status(main, self.clock.now()),
        )
        return TranscriptWriter(
            session=session,
            is_in_memory=not entries.has_omitted_texts,
            redactor=self.redactor,
            report=report,
            limits=leslie.TranscriptLimits(include_thinking=self.include_thinking),
            zone=self.zone,
        )

    def _can_settle(
        self, main: SessionSummary, number: int, report: SettleReport
    ) -> bool:
        """Return whether the unit can be settled now; else report when it can be."""
        if self.is_final:
            return True
        now = self.clock.now()
        settle_after = SETTLE_AFTER
        announced_at = self.announced_ends.get(main.key)
        if announced_at and main.has_turn_ended:
            entries = UnitEntries(self.reader).load(main.key, number)
            settle_after = compute_settle_delay(entries, announced_at)
        settle_at = find_settle_time(main, number, now, settle_after)
        if settle_at is not None and settle_at > now:
            report.due_times.add(settle_at)
        return settle_at is not None and settle_at <= now

    def _choose_folder(
        self, main: SessionSummary, ledger: TranscriptLedger
    ) -> SessionSummary:
        """Return the session with its output folder, "" if no files are written.

        The first call saves the folder and, if Leslie claimed the session in that
        folder's relations file, gives the thread the claimed id.
        """
        saved_folder = ledger.get_folder(main.key)
        if saved_folder:
            return structs.replace(main, folder=os.fsdecode(saved_folder))
        is_old = _ended_before_store(main, ledger)
        if is_old and self.backfill == "none":
            return structs.replace(main, folder="")
        if is_old and self.backfill == "central":
            location = self.policy.choose_central(_get_output_cwd(main))
        else:
            location = self.policy.choose(_get_output_cwd(main))
        ledger.set_folder(main.key, os.fsencode(location.folder))
        main = structs.replace(main, folder=str(location.folder))
        claimed_id = find_claiming_thread(
            read_relations(location.folder), main.key.session_id
        )
        if claimed_id and ledger.claim_thread_id(main.key, claimed_id):
            return structs.replace(main, thread_id=claimed_id)
        return main

    def _move_thread(
        self, main: SessionSummary, ledger: TranscriptLedger, report: SettleReport
    ) -> None:
        """Move a thread to its project, if leslied may write there, in two cases.

        The session began before the store was created, so that its files are in the
        central tree, and goes on now; or the folder with its files is gone, because a
        working tree was removed or a repository was moved.
        """
        folder = Path(main.folder)
        is_central = folder.is_relative_to(self.policy.central)
        if not main.folder or (os.path.lexists(folder) and not is_central):
            return
        began_before = _began_before_store(main, ledger)
        is_continued = began_before and not _ended_before_store(main, ledger)
        if is_central and not is_continued:
            return
        location = self.policy.choose(_get_output_cwd(main))
        if location.reason or location.folder == folder:
            return
        # A thread must not be split between two folders, so test the new one first.
        with suppress(SinkError):
            sinks.exclude_from_git(location.folder)
            ledger.change_folder(main.key, os.fsencode(location.folder))
            report.moved_threads[main.thread_id] = str(location.folder)


def _ended_before_store(main: SessionSummary, ledger: TranscriptLedger) -> bool:
    """Return whether the session ended before the store was created."""
    if main.ended_at is None or main.is_live:
        return False
    return to_us(main.ended_at) < ledger.get_created_us()


def _began_before_store(main: SessionSummary, ledger: TranscriptLedger) -> bool:
    """Return whether the session began before the store was created."""
    if main.started_at is None:
        return False
    return to_us(main.started_at) < ledger.get_created_us()


def _is_disk_full(error: SinkError) -> bool:
    """Return whether a file can be written as soon as there is space again."""
    cause = error.__cause__
    return isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT)


def _get_output_cwd(main: SessionSummary) -> str:
    """Return the working directory, or the project if the working tree is gone."""
    folder = main.worktree or main.cwd
    return main.cwd if os.path.lexists(folder) else main.project


def _find_parent_units(
    main: SessionSummary, children: list[SessionSummary], ledger: TranscriptLedger
) -> dict[SessionKey, int]:
    """Return the unit of the main session that each subagent belongs to."""
    from leslied.sessions.subagents import find_parents, get_main_unit  # noqa: PLC0415

    parents = find_parents(main.key, children, ledger.get_spawn_lookup(main))
    return {
        child.key: get_main_unit(child.key, main.key, parents) for child in children
    }
