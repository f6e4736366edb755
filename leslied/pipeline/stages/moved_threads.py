"""The moved threads stage: delete the files of threads that moved to their project.

Only the central tree is cleared: a thread leaves a project only when the project is
gone from its path, and its files with it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from leslied import sinks
from leslied.errors import SinkError
from leslied.layout import assets_file
from leslied.pipeline.failures import Failures
from leslied.pipeline.stage import FULL_BUDGET, Report, Stage, Timing
from leslied.threads.operations import remove_thread
from leslied.threads.relations_file import LockBusyError, RelationsFile

if TYPE_CHECKING:
    from leslied.clock import Clock
    from leslied.model.session import SessionSummary
    from leslied.pipeline.stage import Budget, StageContext
    from leslied.store import OldFolder, Store, StoreReader


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class MovedThreads(Stage):
    """The moved threads stage."""

    store: Store
    reader: StoreReader
    central: Path
    """The central tree."""
    clock: Clock
    failures: Failures = field(default_factory=Failures)
    name = "moved threads"
    timing = Timing.ON_CHANGE

    @classmethod
    def make(cls, context: StageContext) -> MovedThreads:
        """Make the stage."""
        return cls(
            store=context.store,
            reader=context.reader,
            central=context.paths.central_dir,
            clock=context.clock,
            failures=context.failures,
        )

    def run(self, budget: Budget = FULL_BUDGET) -> Report:  # noqa: ARG002
        """Delete leslied's files about threads from folders that the threads left."""
        report = Report()
        with self.store.relations() as ledger:
            old_folders = ledger.list_old_folders()
        for old in old_folders:
            work = partial(self._clear, old, report)
            self.failures.attempt("thread", old.thread_id, work, report.errors)
        return report

    def _clear(self, old: OldFolder, report: Report) -> None:
        """Delete a thread's files in one folder that it left.

        Leave that to the next run if the lock of the relations file is held.
        """
        base = Path(os.fsdecode(old.folder))
        session = self.reader.find_session(old.key)
        # A thread returns if its project cannot be written to after all.
        has_left = session is not None and Path(session.folder) != base
        if session and has_left and base.is_relative_to(self.central):
            self._keep_file_histories(base, old, session)
            try:
                self._remove_relations(base, old.thread_id)
            except LockBusyError:
                report.has_more = True
                return
            except SinkError:
                pass  # Delete the files even if the relations cannot be written.
            sinks.remove_central_thread(base, old.thread_id)
        with self.store.relations() as ledger:
            ledger.mark_cleared(old)

    def _remove_relations(self, base: Path, thread_id: str) -> None:
        RelationsFile(
            base=base,
            clock=self.clock,
            read=sinks.read_file,
            write=sinks.write_file,
            retry_delays=(),
        ).update(lambda data, _: remove_thread(data, thread_id))

    def _keep_file_histories(
        self, base: Path, old: OldFolder, session: SessionSummary
    ) -> None:
        """Copy the index of a thread's assets, which has the histories of its files."""
        new_base, name = Path(session.folder), assets_file(old.thread_id)
        data = sinks.read_file(base, name) or b""
        is_usable = 0 < len(data) <= sinks.MAX_READ_BYTES
        if is_usable and not sinks.has_entry(new_base, name):
            with suppress(SinkError):
                sinks.write_file(new_base, name, data)
