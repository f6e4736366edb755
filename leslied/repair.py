"""Work of `leslied doctor`: compare logs with the store, repair leslied's files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from leslied.errors import AlreadyRunning, LesliedError, UserError

if TYPE_CHECKING:
    from leslied.app import App
    from leslied.model.log_proof import ProofReport
    from leslied.pipeline.progress import ProgressCallback


def repair_modes(app: App) -> int:
    """Make leslied's files private; return how many other users could access."""
    from leslied.queries.operations.own_files import (  # noqa: PLC0415
        iter_exposed_files,
    )

    with app.open_queries() as queries:
        return sum(1 for _ in iter_exposed_files(queries, repair=True))


class ArchiveRepairResult(NamedTuple):
    """What `repair_archive` did, as numbers of files."""

    repaired: int = 0
    left_to_daemon: int = 0


def repair_archive(app: App) -> ArchiveRepairResult:
    """Verify the whole archive and repair damaged files.

    If the daemon runs, leave the repair to it: set the modification time of damaged
    files, because the daemon verifies files whose time has changed.
    Without a usable store, do nothing.
    """
    from leslied.pipeline import ArchiveCheck, ArchiveCheckReport, Budget  # noqa: PLC0415
    from leslied.queries.operations.health import list_damaged_files  # noqa: PLC0415

    try:
        with app.open_writer() as store, app.open_reader() as reader:
            with store.archive() as ledger:
                ledger.mark_all_unverified()
            flow = app.make_flow(store, reader).select(ArchiveCheck)
            report = flow.run(Budget()).sum_up(ArchiveCheckReport)
            return ArchiveRepairResult(repaired=report.repaired)
    except AlreadyRunning:
        with app.open_queries() as queries:
            damaged_files = list_damaged_files(queries)
        for path in damaged_files:
            os.utime(path)
        return ArchiveRepairResult(left_to_daemon=len(damaged_files))
    except LesliedError:
        return ArchiveRepairResult()


def prove_logs(app: App, on_progress: ProgressCallback, agent: str) -> ProofReport:
    """Compare every log, or those of one agent, with the store.

    The report contains no secrets. Raise UserError if there is no such agent, and
    StoreUnusable without a store.
    """
    from leslied.queries.operations.status import is_daemon_running  # noqa: PLC0415

    if agent and agent not in app.load_adapters():
        raise UserError(f"There is no agent {agent!r}.", "List them: leslied agents")
    with app.open_queries() as queries, app.open_reader() as reader:
        proof = app.make_log_proof(
            reader, on_progress, agent, is_daemon_running=is_daemon_running(queries)
        )
        report: ProofReport = queries.redact_value(proof.run())
    return report
