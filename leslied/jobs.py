"""Work that users request: prune, rebuild, watch, and write files that they name.

Each function builds what the work needs from the app, like the app does for the daemon.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, NamedTuple

from leslied.fs import make_private_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from leslied.app import App
    from leslied.model.output import Artifact
    from leslied.model.source import Root
    from leslied.pipeline.maintenance.rebuild import RebuildReport
    from leslied.pipeline.progress import ProgressCallback, StageProgress
    from leslied.queries.prune_plan import PruneAnswer, PruneRequest
    from leslied.sessions.retention import PruneCandidate
    from leslied.store import Store
    from leslied.tail.watch import Watcher

    Batches = list[list[PruneCandidate]]


def plan_prune(app: App, request: PruneRequest) -> PruneAnswer:
    """Return which sessions would be deleted; delete nothing."""
    from leslied.pipeline.maintenance.prune import (  # noqa: PLC0415
        PruneGuard,
        find_live_sessions,
    )
    from leslied.queries.prune_plan import plan_prune  # noqa: PLC0415

    settings = app.load_settings()
    agent_roots = app.iter_agent_roots(settings)
    with app.open_queries() as queries:
        guard = PruneGuard(
            reader=queries.reader,
            roots={adapter.name: tuple(roots) for adapter, roots in agent_roots},
            live_sessions=find_live_sessions(app.list_registries(settings)),
            clock=app.clock,
            include_failed=request.include_failed,
        )
        return plan_prune(queries, request, guard.find_reason_to_keep)


def prune(
    app: App,
    request: PruneRequest,
    track: Callable[[Batches], Iterable[list[PruneCandidate]]],
) -> PruneAnswer:
    """Delete sessions; `track` yields the batches and shows the progress.

    Raise AlreadyRunning if somebody else writes to the store.
    """
    from leslied.pipeline import Archiver  # noqa: PLC0415
    from leslied.pipeline.maintenance.prune import Pruner, execute_plan  # noqa: PLC0415

    with app.open_writer() as store:
        answer = plan_prune(app, request)
        with app.open_reader() as reader:
            archiver = app.make_flow(store, reader).get_stage(Archiver)
        pruner = Pruner(
            store=store,
            archiver=archiver,
            include_transcripts=request.include_transcripts,
        )
        answer = execute_plan(pruner, answer, track)
        with app.open_reader() as reader:
            answer.plan.remaining_bytes = (
                reader.sizes.get_used_bytes() + reader.sizes.get_archive_bytes()
            )
    return answer


def rebuild(
    app: App, *, accept_loss: bool, on_progress: ProgressCallback
) -> RebuildReport:
    """Rebuild the store from the archive and the logs."""
    return app.make_rebuild(on_progress).run(accept_loss=accept_loss)


class OutputsReport(NamedTuple):
    """What `write_outputs` wrote."""

    transcripts_written: int
    errors: list[str]


def write_outputs(app: App, progress: StageProgress) -> OutputsReport:
    """Write missing or changed transcripts, relations and thread indexes."""
    from leslied.pipeline import (  # noqa: PLC0415
        AssetIndex,
        Budget,
        RelationsSync,
        SettleReport,
        TranscriptStage,
    )

    with app.open_writer() as store, app.open_reader() as reader:
        flow = app.make_flow(store, reader, on_progress=progress.update)
        flow = flow.select(TranscriptStage, RelationsSync, AssetIndex)
        report = flow.run(Budget(), lambda stage: progress.start(stage.activity))
    written = report.sum_up(SettleReport).files_written
    return OutputsReport(written, report.format_errors())


def run_initial_scan(app: App, on_progress: Callable[[], None]) -> None:
    """Read all logs once, unless leslied is paused."""
    from leslied.pipeline import Budget, Ingest  # noqa: PLC0415

    if app.paths.pause_file.exists():
        return
    with app.open_writer() as store, app.open_reader() as reader:
        write_lock_info(app, store)
        flow = app.make_flow(store, reader, on_progress=lambda *_: on_progress())
        flow.select(Ingest).run(Budget())


def write_lock_info(app: App, store: Store) -> None:
    """Write pid and start time into the store's lock, for `leslied status`."""
    now = app.clock.now().isoformat(timespec="seconds")
    store.write_lock_info(json.dumps({"pid": os.getpid(), "since": now}))


def make_watcher(app: App, roots: Sequence[Root]) -> Watcher:
    """Return a watcher for these folders, with a file by which it tests itself."""
    from leslied.tail.watch import Watcher  # noqa: PLC0415 - only the daemon needs it

    canary = app.paths.state_dir / "watch" / "canary"
    make_private_dir(canary.parent)
    return Watcher(roots, canary, app.clock)


def make_folder(path: Path) -> None:
    """Create a folder that the user named, with missing parents."""
    from leslied import sinks  # noqa: PLC0415 - not always needed

    sinks.make_folder(path)


def write_file(path: Path, data: bytes) -> None:
    """Replace a file that the user named; its folder must exist."""
    from leslied import sinks  # noqa: PLC0415 - not always needed

    sinks.write_file(path.parent.resolve(), path.name, data)


def write_artifacts(
    folder: Path, artifacts: Iterable[Artifact]
) -> Iterator[tuple[Path, int]]:
    """Write the files of an export into a folder; yield their paths and sizes."""
    from leslied import sinks  # noqa: PLC0415 - not always needed

    sinks.make_folder(folder)
    for artifact in artifacts:
        sinks.write_artifact(folder, artifact)
        yield folder / artifact.path, len(artifact.body)
