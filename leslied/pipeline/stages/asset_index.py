"""The asset index stage: list the assets of each thread and of each project.

`thread_assets` does the work for one thread; this module decides which threads are due
and writes the two index files of a project.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from leslied import sinks
from leslied.errors import SinkError
from leslied.layout import INDEX_FILE, INDEX_PAGE
from leslied.model.codec import encode_time
from leslied.pipeline.failures import Failures
from leslied.pipeline.progress import ignore_progress
from leslied.pipeline.stage import FULL_BUDGET, Report, Stage
from leslied.redact.session import redact_summary
from leslied.sessions.status import compute_status
from leslied.store.ledgers.assets import IndexedThread
from leslied.threads.assets import (
    compute_thread_stamp,
    has_thread_folder,
    read_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import tzinfo

    from leslied.clock import Clock
    from leslied.model.record import SessionKey
    from leslied.model.session import SessionSummary, Status
    from leslied.pipeline.progress import ProgressCallback
    from leslied.pipeline.stage import Budget, StageContext
    from leslied.pipeline.stages.thread_assets import ThreadAssets
    from leslied.store import Store, StoreReader
    from leslied.store.ledgers.assets import WatchedThread

_MAX_PLAN_BYTES = 1_000_000


class AssetIndexReport(Report, kw_only=True):
    """Counts and errors of one run."""

    threads: int = 0
    files_written: int = 0

    event = "assets.write"

    @property
    def counts(self) -> Mapping[str, int]:
        """Return the numbers to log."""
        if not self.files_written:
            return {}
        return {"threads": self.threads, "files": self.files_written}


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class AssetIndex(Stage):
    """The asset index stage, for threads that settled or whose assets changed."""

    store: Store
    reader: StoreReader
    redact: Callable[[str], str]
    clock: Clock
    zone: tzinfo | None = None
    """Time zone of the times in `INDEX.md`; None means the machine's own."""
    agent_titles: Mapping[str, str] = field(default_factory=dict)
    """Display name of each agent."""
    is_plan_file: Callable[[str], bool]
    """Tells whether an agent keeps a plan at a path."""
    plan_folders: Sequence[Path] = ()
    """Folders where agents store plans."""
    failures: Failures = field(default_factory=Failures)
    on_progress: ProgressCallback = ignore_progress
    """Called twice for a thread: when its changes are saved and when it is indexed."""
    _roots: dict[tuple[str, str], list[Path]] = field(default_factory=dict)
    """Results of `_find_roots` in this run: many threads work in the same folder."""

    name = "asset index"
    can_wait = True
    activity = "Indexing threads"

    @classmethod
    def make(cls, context: StageContext) -> AssetIndex:
        """Make the stage."""
        return cls(
            store=context.store,
            reader=context.reader,
            redact=context.redact,
            clock=context.clock,
            zone=context.zone,
            agent_titles={adapter.name: adapter.title for adapter, _ in context.agents},
            is_plan_file=lambda path: any(
                adapter.is_plan_file(path) for adapter, _ in context.agents
            ),
            plan_folders=[
                root.path.parent / "plans"
                for _, roots in context.agents
                for root in roots
                if not root.is_project
            ],
            failures=context.failures,
            on_progress=context.on_progress,
        )

    def run(self, budget: Budget = FULL_BUDGET) -> AssetIndexReport:
        """Index the threads that are due, and their projects.

        A full scan first finds threads whose assets or status changed.
        """
        self._roots.clear()
        if budget.is_scan:
            self._mark_changed_threads(budget)
        return self._index_due_threads(budget)

    def _mark_changed_threads(self, budget: Budget) -> None:
        """Mark as due the threads whose assets or status changed.

        The newest threads are checked at each scan, the others in turn.
        """
        with self.store.assets() as ledger:
            watched = ledger.list_watched(
                budget.max_checked_threads, budget.max_checked_old_threads
            )
            unfinished = ledger.list_unfinished()
        for folder in {thread.folder for thread in watched}:
            _restore_git_rules(Path(folder))
        due = [thread.session for thread in watched if self._has_changed(thread)]
        for key, status in unfinished:
            session = self.reader.find_session(key)
            if session and self._compute_status(session) != status:
                due.append(key)
        if due:
            with self.store.assets() as ledger:
                ledger.mark_due(due, is_due=True)

    def _index_due_threads(self, budget: Budget) -> AssetIndexReport:
        """Index some of the due threads, and their projects."""
        report, limit = AssetIndexReport(), budget.max_indexed_threads
        with self.store.assets() as ledger:
            # Threads that failed stay due; they must not crowd out the others.
            failed_count = len(self.failures.list_names("asset index"))
            due = ledger.list_due(limit + failed_count)
        if not due:
            return report
        due = self._record_changes(due, report, budget)
        # Threads without files have the folder "" and need no index.
        keys_by_folder: dict[str, list[SessionKey]] = {"": []}
        for number, key in enumerate(due, 1):
            session = self.reader.find_session(key)
            folder = session.folder if session else ""
            if (
                session
                and folder
                and not self._attempt(self._index_thread, session, report)
            ):
                continue
            keys_by_folder.setdefault(folder, []).append(key)
            self.on_progress(len(due) + number, 2 * len(due))
        # Threads stay due until now, so that a crash cannot skip a project's index.
        finished = [
            key
            for folder, keys in keys_by_folder.items()
            if not folder or self._write_project_index(folder, keys, report)
            for key in keys
        ]
        with self.store.assets() as ledger:
            ledger.mark_due(finished, is_due=False)
        return report

    def _attempt(
        self,
        work: Callable[[SessionSummary, AssetIndexReport], None],
        session: SessionSummary,
        report: AssetIndexReport,
    ) -> bool:
        """Call `work(session, report)` unless paused; return whether it succeeded."""
        name, bound_work = session.key.session_id, partial(work, session, report)
        return self.failures.attempt("asset index", name, bound_work, report.errors)

    def _record_changes(
        self, due: list[SessionKey], report: AssetIndexReport, budget: Budget
    ) -> list[SessionKey]:
        """Save the file changes of the due sessions; return the threads to index.

        These are the due threads whose changes could be saved, and other threads whose
        assets were changed by one of the due sessions. When the budget yields, the
        other due sessions wait for the next run.
        """
        changed: set[SessionKey] = set()
        saved: list[SessionKey] = []

        def save(session: SessionSummary, _: AssetIndexReport) -> None:
            changed.update(self._make_thread_assets(session).record_changes())

        for number, key in enumerate(due, 1):
            if saved and budget.should_yield():
                report.has_more = True
                break
            session = self.reader.find_session(key)
            if session and session.folder:
                if not self._attempt(save, session, report):
                    continue
                self.on_progress(number, 2 * len(due))
            saved.append(key)
        return [*saved, *sorted(changed.difference(due))]

    def _index_thread(self, session: SessionSummary, report: AssetIndexReport) -> None:
        """Write a thread's index, and save its summary for the project's index."""
        report.threads += 1
        if not has_thread_folder(Path(session.folder), session.thread_id):
            # Somebody deleted the folder: do not create it again.
            self._save(IndexedThread(session=session.key, status="stopped"))
            return
        with self.store.assets() as ledger:
            previous = ledger.load_thread(session.key)
        try:
            assets = self._make_thread_assets(session).run(previous.fingerprints_json)
        except SinkError as error:
            report.errors[session.key.session_id] = error.message
            # Without a stamp, the next scan finds the thread changed.
            self._save(msgspec.structs.replace(previous, stamp=b""))
            return
        report.files_written += assets.files_written
        status = self._compute_status(session)
        shown = redact_summary(session, self.redact)
        summary = _summarize_thread(shown, status, assets.index)
        thread = IndexedThread(
            session=session.key,
            status=status,
            stamp=assets.stamp,
            fingerprints_json=assets.fingerprints_json,
            summary_json=msgspec.json.encode(summary).decode(),
        )
        self._save(thread)

    def _make_thread_assets(self, session: SessionSummary) -> ThreadAssets:
        from leslied.pipeline.stages.thread_assets import ThreadAssets  # noqa: PLC0415

        return ThreadAssets(
            store=self.store,
            reader=self.reader,
            session=session,
            roots=self._find_roots(session.folder, session.cwd),
            redact=self.redact,
            is_plan_file=self.is_plan_file,
            read_plan=self._read_plan,
        )

    def _has_changed(self, watched: WatchedThread) -> bool:
        """Return whether assets changed since they were indexed.

        A thread without a folder has not changed.
        """
        if not has_thread_folder(Path(watched.folder), watched.thread_id):
            return False
        roots = self._find_roots(watched.folder, watched.cwd)
        return compute_thread_stamp(roots, watched.thread_id) != watched.stamp

    def _find_roots(self, folder: str, cwd: str) -> list[Path]:
        """Return the thread's output folder and, if different, the project's folder."""
        roots = self._roots.get((folder, cwd))
        if roots is None:
            base, project = Path(folder), sinks.find_project(cwd)
            roots = [base] if project in (None, base) else [base, project]
            self._roots[folder, cwd] = roots
        return roots

    def _save(self, thread: IndexedThread) -> None:
        with self.store.assets() as ledger:
            ledger.save_thread(thread)

    def _write_project_index(
        self, folder: str, keys: list[SessionKey], report: AssetIndexReport
    ) -> bool:
        """Write a project's two index files; return False after an unexpected error.

        If they cannot be written, the next scan marks the threads `keys` as due again.
        """

        def work() -> None:
            try:
                self._write_index(folder, report)
            except SinkError as error:
                report.errors[folder] = error.message
                self._delete_stamps(keys)

        return self.failures.attempt("asset index", folder, work, report.errors)

    def _delete_stamps(self, keys: list[SessionKey]) -> None:
        """Delete the threads' stamps, so that the next scan finds the threads due."""
        with self.store.assets() as ledger:
            for key in keys:
                thread = ledger.load_thread(key)
                ledger.save_thread(msgspec.structs.replace(thread, stamp=b""))

    def _write_index(self, folder: str, report: AssetIndexReport) -> None:
        from leslied.sinks._thread_index import (  # noqa: PLC0415
            MAX_THREADS,
            IndexPageOptions,
            render_index,
            render_page,
        )

        folder_bytes = os.fsencode(folder)
        with self.store.assets() as ledger:
            summaries = ledger.list_summaries(folder_bytes, MAX_THREADS)
            total = ledger.count_summaries(folder_bytes)
        threads = [msgspec.json.decode(summary) for summary in summaries]
        if not threads:
            return
        options = IndexPageOptions(
            total=total, zone=self.zone, titles=self.agent_titles
        )
        with sinks.open_base_folder(Path(folder)) as output:
            for file, data in (
                (INDEX_FILE, render_index(threads, total)),
                (INDEX_PAGE, render_page(threads, options)),
            ):
                if sinks.read_file(output, file) != data:
                    sinks.write_file(output, file, data)
                    report.files_written += 1

    def _compute_status(self, session: SessionSummary) -> Status:
        return compute_status(session, self.clock.now())

    def _read_plan(self, path: str) -> str | None:
        """Return the text of a plan, or None if it is not in a plan folder."""
        folder, _, name = path.rpartition("/")
        if Path(folder) not in self.plan_folders:
            return None
        return read_text(Path(folder), name, _MAX_PLAN_BYTES)


def _restore_git_rules(base: Path) -> None:
    """Write the rules for Git again if a checkout deleted or replaced them."""
    if (base / INDEX_FILE).is_file():
        with suppress(SinkError):
            sinks.exclude_from_git(base)


def _summarize_thread(
    session: SessionSummary, status: Status, index: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a thread's entry in the project's index; the arguments are redacted."""
    return {
        "id": session.thread_id,
        "title": session.title or None,
        "agent": session.key.agent,
        "session_id": session.key.session_id,
        "status": status,
        "started_at": encode_time(session.started_at),
        "ended_at": encode_time(session.ended_at),
        "prompts": session.current_units,
        "tool_calls": session.tool_calls,
        "assets": [_summarize_asset(asset) for asset in index["assets"]],
        "progress": index["progress"],
    }


def _summarize_asset(asset: Mapping[str, Any]) -> dict[str, Any]:
    """Return an asset's entry in the project's index; files are only counted."""
    names = ("type", "path", "form", "collected", "title", "updated_at")
    summary = {name: asset[name] for name in names if name in asset}
    if asset["form"] == "folder":
        files = asset["files"]
        summary["files"] = len(files) + asset.get("left_out", 0)
        summary["updated_at"] = max(
            (file["updated_at"] for file in files), default=None
        )
        if rewound := sum(file.get("rewound", False) for file in files):
            summary["rewound"] = rewound
    return summary
