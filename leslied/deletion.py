"""Deletion that users request: sessions, texts, and secrets in leslied's files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from leslied.jobs import write_outputs, write_outputs_from

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from leslied.app import App
    from leslied.pipeline.progress import StageProgress
    from leslied.queries.operations.forget_plan import ForgetAnswer, ForgetRequest
    from leslied.queries.operations.prune_plan import PruneAnswer, PruneRequest
    from leslied.queries.secret_files import SecretFiles
    from leslied.sessions.retention import PruneCandidate

    Batches = list[list[PruneCandidate]]


def plan_prune(app: App, request: PruneRequest) -> PruneAnswer:
    """Return which sessions would be deleted; delete nothing."""
    from leslied.pipeline.maintenance.prune import (  # noqa: PLC0415
        PruneGuard,
        find_live_sessions,
    )
    from leslied.queries.operations import prune_plan  # noqa: PLC0415

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
        return prune_plan.plan_prune(queries, request, guard.find_reason_to_keep)


def prune(
    app: App,
    request: PruneRequest,
    track: Callable[[Batches], Iterable[list[PruneCandidate]]],
) -> PruneAnswer:
    """Delete sessions; `track` yields the batches and shows the progress.

    Raise AlreadyRunning if somebody else writes to the store.
    """
    from leslied.pipeline import Archiver, AssetIndex, Budget  # noqa: PLC0415
    from leslied.pipeline.maintenance.prune import Pruner, execute_plan  # noqa: PLC0415
    from leslied.pipeline.maintenance.thread_files import ThreadFiles  # noqa: PLC0415

    with app.open_writer() as store:
        answer = plan_prune(app, request)
        with app.open_reader() as reader:
            archiver = app.make_flow(store, reader).get_stage(Archiver)
        thread_files = ThreadFiles(central=app.paths.central_dir, clock=app.clock)
        pruner = Pruner(
            store=store,
            archiver=archiver,
            annotations=app.open_annotations(),
            thread_files=thread_files if request.include_transcripts else None,
        )
        answer = execute_plan(pruner, answer, track)
        with app.open_reader() as reader:
            app.make_flow(store, reader).select(AssetIndex).run(Budget())
            answer.plan.remaining_bytes = (
                reader.sizes.get_used_bytes() + reader.sizes.get_archive_bytes()
            )
    return answer


def plan_forget(app: App, request: ForgetRequest) -> ForgetAnswer:
    """Return what would be forgotten; change nothing."""
    from leslied.pipeline.maintenance.forget_planner import (  # noqa: PLC0415
        ForgetPlanner,
    )

    with app.open_queries() as queries:
        return ForgetPlanner(queries, request).make_answer()


def forget(app: App, request: ForgetRequest, progress: StageProgress) -> ForgetAnswer:
    """Forget a session, or all entries that hold a text; write outputs again.

    First read new entries, so that none is missed, and complete an earlier deletion
    that was interrupted. Raise AlreadyRunning if somebody else writes to the store.
    """
    from leslied.pipeline import Archiver, Budget, Ingest  # noqa: PLC0415
    from leslied.pipeline.maintenance.forget import Forget  # noqa: PLC0415
    from leslied.pipeline.maintenance.prune import Pruner  # noqa: PLC0415

    with app.open_writer() as store:
        with app.open_reader() as reader:
            flow = app.make_flow(store, reader, on_progress=progress.update)
            progress.start("Reading new entries", in_bytes=True)
            flow.select(Ingest).run(Budget())
        progress.start("Forgetting")
        job = Forget(
            pruner=Pruner(
                store=store,
                archiver=flow.get_stage(Archiver),
                annotations=app.open_annotations(),
            ),
            paths=app.paths,
            clock=app.clock,
            open_queries=app.open_queries,
            write_outputs=lambda: write_outputs_from(store, app, progress).errors,
        )
        return job.run(request)


def plan_secrets_clean(app: App) -> SecretFiles:
    """Return which files have secrets; change nothing."""
    from leslied.queries.secret_files import find_secret_files  # noqa: PLC0415

    with app.open_queries() as queries:
        return find_secret_files(queries, app.load_redactor())


def clean_secrets(app: App, progress: StageProgress) -> SecretFiles:
    """Replace the secrets in files that leslied wrote; return these files.

    Transcripts that the store knows are rendered again. Files that still have secrets
    after that, such as those of pruned sessions, are redacted in place. Raise
    AlreadyRunning if somebody else writes to the store.
    """
    from msgspec import structs  # noqa: PLC0415

    from leslied import sinks  # noqa: PLC0415

    with app.open_writer() as store:
        plan = plan_secrets_clean(app)
        names = [(os.fsencode(each.file.base), each.file.name) for each in plan.files]
        with store.transcripts() as ledger:
            outdated_count = ledger.mark_outdated(names)
    if outdated_count:
        write_outputs(app, progress)
    redact = app.load_redact()
    for each in plan_secrets_clean(app).files:
        data = each.file.encode(redact(each.file.read()))
        sinks.write_file(each.file.base, each.file.name, data)
    return structs.replace(plan, rendered=outdated_count, is_done=True)
