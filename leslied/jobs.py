"""Work that users request: sync, rebuild, watch, and write files.

Each function makes stages and other objects with the app, and runs them.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from leslied.errors import AlreadyRunning
from leslied.fs import make_private_dir
from leslied.model.command_results import PauseState, ProjectLinkResult, SyncResult
from leslied.model.source import SourceProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from leslied.app import App
    from leslied.model.output import Artifact
    from leslied.model.source import Root
    from leslied.pipeline import Budget, FlowReport, Stage
    from leslied.pipeline.maintenance.rebuild import RebuildReport
    from leslied.pipeline.progress import StageProgress
    from leslied.store import Store
    from leslied.tail.watch import Watcher, WatchProblem


_MAX_REASON_CHARS = 500


class SyncReport(NamedTuple):
    """What a sync did, and what went wrong."""

    result: SyncResult
    warnings: list[str]
    """Warnings about the store."""
    problems: list[SourceProblem]
    """Sources that were not read."""
    errors: list[str]
    """Errors in sessions and stages."""
    is_failed: bool
    """Whether a stage failed."""


def sync(
    app: App,
    progress: StageProgress,
    *,
    stop_all: bool,
    changed_paths: list[Path] | None = None,
) -> SyncReport:
    """Run all stages once; with `stop_all`, treat all sessions as stopped.

    If `changed_paths` is not None, read only these files.

    Raise AlreadyRunning if somebody else writes to the store.
    """
    from leslied.pipeline import Budget, IngestReport  # noqa: PLC0415

    started_at = app.clock.monotonic()
    warnings: list[str] = []
    # Without `stop_all`, sessions that ended before the store was created get no
    # transcripts: there are many of them, and their transcripts are rarely needed.
    budget = Budget(includes_backlog=stop_all, changed_paths=changed_paths)
    with app.open_store(warnings.append, progress.update) as store:
        report = _run_flow(app, store, progress, budget, is_final=stop_all)
    ingest = report.sum_up(IngestReport)
    reasons = ingest.unreadable | ingest.waiting | ingest.failures
    return SyncReport(
        result=_make_sync_result(report, app.clock.monotonic() - started_at),
        warnings=warnings,
        problems=[SourceProblem(str(path), reason) for path, reason in reasons.items()],
        errors=report.format_errors(),
        is_failed=bool(report.failures),
    )


def _run_flow(
    app: App, store: Store, progress: StageProgress, budget: Budget, *, is_final: bool
) -> FlowReport:
    """Run all stages; run them again if new folders were learned meanwhile."""
    from leslied.pipeline import Ingest, IngestReport  # noqa: PLC0415

    def show_stage(stage: Stage) -> None:
        progress.start(stage.activity, in_bytes=isinstance(stage, Ingest))

    with app.open_reader() as reader:
        make_flow = partial(
            app.make_flow,
            store,
            reader,
            is_final=is_final,
            on_progress=progress.update,
        )
        flow = make_flow()
        report = flow.run(budget, show_stage)
        if any(each.needs_reload for each in report.reports):
            new_flow = make_flow()
            new_flow.adopt(flow)
            for each in report.reports:
                if isinstance(each, IngestReport):
                    each.sources = 0  # The second run counts all of them again.
            second_report = new_flow.run(budget, show_stage)
            report.reports += second_report.reports
            report.failures |= second_report.failures
    return report


def _make_sync_result(report: FlowReport, seconds: float) -> SyncResult:
    from leslied import pipeline  # noqa: PLC0415

    ingest = report.sum_up(pipeline.IngestReport)
    settled = report.sum_up(pipeline.SettleReport)
    assets = report.sum_up(pipeline.AssetIndexReport)
    hooks = report.sum_up(pipeline.HookEventsReport)
    stops = report.sum_up(pipeline.StopReport)
    return SyncResult(
        sources=ingest.sources,
        sources_changed=ingest.sources_read,
        sources_waiting=len(ingest.waiting),
        entries_decoded=ingest.entries,
        bytes_read=ingest.bytes_read,
        records_added=ingest.added.records,
        placements_added=ingest.added.placements,
        noise=ingest.noise,
        rejected=ingest.rejected,
        transactions=ingest.commits,
        units_settled=settled.units,
        transcripts_written=settled.files_written,
        transcripts_removed=settled.files_removed,
        exports_written=report.sum_up(pipeline.ExportsReport).files_written,
        sessions_stopped=hooks.stopped + stops.stopped,
        seconds=round(seconds, 3),
        missing_roots=tuple(map(str, ingest.missing_roots)),
        threads_indexed=assets.threads,
        index_files_written=assets.files_written,
    )


class OutputsReport(NamedTuple):
    """Result of `write_outputs`."""

    transcripts_written: int
    errors: list[str]


def write_outputs(app: App, progress: StageProgress) -> OutputsReport:
    """Write missing or changed transcripts, relations and thread indexes."""
    with app.open_writer() as store:
        return write_outputs_from(store, app, progress)


def write_outputs_from(
    store: Store, app: App, progress: StageProgress
) -> OutputsReport:
    """Do the same as `write_outputs` with a store that is open for writing."""
    from leslied.pipeline import (  # noqa: PLC0415
        AssetIndex,
        Budget,
        MovedThreads,
        ProjectStage,
        RelationsSync,
        SettleReport,
        TranscriptStage,
    )

    with app.open_reader() as reader:
        flow = app.make_flow(store, reader, on_progress=progress.update)
        flow = flow.select(
            ProjectStage, TranscriptStage, RelationsSync, MovedThreads, AssetIndex
        )
        report = flow.run(Budget(), lambda stage: progress.start(stage.activity))
    written = report.sum_up(SettleReport).files_written
    return OutputsReport(written, report.format_errors())


class RebuildAnswer(NamedTuple):
    """What a rebuild did, including the outputs that it wrote."""

    rebuilt: RebuildReport
    outputs: OutputsReport

    @property
    def warnings(self) -> list[str]:
        """Warnings of the rebuild, and errors while writing outputs."""
        return self.rebuilt.warnings + self.outputs.errors

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, without the warnings."""
        written = {"transcripts_written": self.outputs.transcripts_written}
        return self.rebuilt.to_dict() | written


def rebuild(app: App, progress: StageProgress, *, accept_loss: bool) -> RebuildAnswer:
    """Rebuild the store from the archive and the logs, then write missing outputs."""
    progress.start("Reading archive and logs", in_bytes=True)
    rebuilt = app.make_rebuild(progress.update).run(accept_loss=accept_loss)
    redact = app.load_redact()
    rebuilt.changed_sessions = [*map(redact, rebuilt.changed_sessions)]
    rebuilt.lost_sessions = [*map(redact, rebuilt.lost_sessions)]
    return RebuildAnswer(rebuilt, write_outputs(app, progress))


def run_initial_scan(app: App, on_progress: Callable[[], None]) -> None:
    """Read all logs once, unless leslied is paused.

    Of an unusually large log, only the beginning is read; the daemon reads the rest.
    """
    from leslied.pipeline import Budget, Ingest  # noqa: PLC0415
    from leslied.pipeline.ingest.batch import INITIAL_SLICE  # noqa: PLC0415

    if app.paths.pause_file.exists():
        return
    with app.open_writer() as store, app.open_reader() as reader:
        write_lock_info(app, store)
        flow = app.make_flow(store, reader, on_progress=lambda *_: on_progress())
        flow.stages = [
            replace(stage, slice=INITIAL_SLICE)
            for stage in flow.stages
            if isinstance(stage, Ingest)
        ]
        flow.run(Budget())


def link_project(app: App, old: str, new: str) -> ProjectLinkResult:
    """Link a project to another; raise UserError if that is not possible."""
    from leslied.projects import links as links_file  # noqa: PLC0415
    from leslied.queries import projects  # noqa: PLC0415

    with app.open_queries() as queries:
        old_path = projects.get_project_path(queries, old)
        new_path = projects.get_link_target(queries, new)
    links = links_file.load_links(app.paths.links_file)
    links_file.add_link(links, old_path, new_path)
    links_file.save_links(app.paths.links_file, links)
    is_applied = _update_projects(app)
    return ProjectLinkResult(old=old_path, new=new_path, applied=is_applied)


def unlink_project(app: App, old: str) -> ProjectLinkResult:
    """Remove the link of a project; raise UserError if it has none."""
    from leslied.projects import links as links_file  # noqa: PLC0415
    from leslied.queries.projects import get_project_path  # noqa: PLC0415

    with app.open_queries() as queries:
        path = get_project_path(queries, old)
        repositories = queries.reader.projects.list_repositories()
    links = links_file.load_links(app.paths.links_file)
    is_automatic = any(each.linked_to for each in repositories if each.path == path)
    links_file.remove_link(links, path, is_automatic=is_automatic)
    links_file.save_links(app.paths.links_file, links)
    return ProjectLinkResult(old=path, new=None, applied=_update_projects(app))


def _update_projects(app: App) -> bool:
    """Apply the links of projects; return False if the daemon will do it instead."""
    from leslied.pipeline import Budget, ProjectStage  # noqa: PLC0415

    try:
        with app.open_writer() as store, app.open_reader() as reader:
            app.make_flow(store, reader).select(ProjectStage).run(Budget())
    except AlreadyRunning:
        return False
    return True


def pause(app: App) -> PauseState:
    """Pause the daemon until `unpause`."""
    file = app.paths.pause_file
    make_private_dir(file.parent)
    file.touch(mode=0o600)
    return PauseState(paused=True)


def unpause(app: App) -> PauseState:
    """Let a paused daemon continue."""
    app.paths.pause_file.unlink(missing_ok=True)
    return PauseState(paused=False)


def write_lock_info(
    app: App,
    store: Store,
    since: datetime | None = None,
    problem: WatchProblem | None = None,
    scanned_at: datetime | None = None,
) -> None:
    """Write the daemon's state into the store's lock, for `leslied status`.

    `since` is when the daemon started, by default now. `problem` is why file events
    are missing, and `scanned_at` when the last complete scan started.
    """
    info: dict[str, Any] = {
        "pid": os.getpid(),
        "since": (since or app.clock.now()).isoformat(timespec="seconds"),
    }
    if scanned_at:
        info["scanned_at"] = scanned_at.isoformat(timespec="milliseconds")
    if problem:
        # Readers of the lock read a limited number of bytes, and a path may be long.
        reason = problem.reason[:_MAX_REASON_CHARS]
        info["watch_problem"] = {"reason": reason, "hint": problem.hint}
    store.write_lock_info(json.dumps(info))


def make_watcher(app: App, roots: Sequence[Root]) -> Watcher:
    """Return a watcher for these folders; a canary file shows if events arrive."""
    from leslied.tail.watch import Watcher  # noqa: PLC0415 - only the daemon needs it

    canary = app.paths.state_dir / "watch" / "canary"
    make_private_dir(canary.parent)
    return Watcher(roots, canary, app.clock)


def make_folder(path: Path) -> None:
    """Create a folder that the user named, with missing parents."""
    from leslied import sinks  # noqa: PLC0415 - not always needed

    sinks.make_folder(path)


def write_file(path: Path, data: bytes) -> None:
    """Create or replace a file that the user named; its folder must exist."""
    from leslied.folders import open_named_folder  # noqa: PLC0415

    with open_named_folder(path.parent) as folder:
        folder.write_file(path.name, data)


def write_artifacts(
    folder: Path, artifacts: Iterable[Artifact]
) -> Iterator[tuple[Path, int]]:
    """Write the files of an export into a folder; yield their paths and sizes."""
    from leslied import sinks  # noqa: PLC0415 - not always needed
    from leslied.folders import open_named_folder  # noqa: PLC0415

    sinks.make_folder(folder)
    with open_named_folder(folder) as output:
        for artifact in artifacts:
            output.write_file(artifact.path, artifact.body)
            for name in artifact.replaces:
                output.remove_file(name)
            yield folder / artifact.path, len(artifact.body)
