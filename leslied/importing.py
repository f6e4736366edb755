"""Import sessions from files that users name."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from leslied import jobs
from leslied.errors import AlreadyRunning, UserError
from leslied.model.command_results import ImportResult

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from leslied.app import App
    from leslied.pipeline.progress import StageProgress


class ImportReport(NamedTuple):
    """What an import did, and what went wrong."""

    result: ImportResult
    warnings: list[str]
    """Files that were not imported, and errors while reading the others."""
    is_failed: bool
    """Whether a file that the user named was not imported, or a stage failed."""


def import_files(
    app: App, progress: StageProgress, paths: Iterable[Path]
) -> ImportReport:
    """Keep copies of the sessions in these files, and read the copies.

    If the daemon is running, leave reading to it. Raise UserError if nothing was
    imported.
    """
    from leslied.pipeline.maintenance.import_files import Importer  # noqa: PLC0415

    mask = app.load_redactor().mask if app.load_settings().redact.store else None
    importer = Importer(app.load_adapters(), app.paths.imports_dir, mask)
    progress.start("Copying files")
    for path in paths:
        importer.import_path(path)
    copy_report = importer.report
    if not copy_report.sources:
        raise UserError(" ".join(copy_report.problems), "See: leslied import --help")
    sync_report = _read_imports(app, progress, copy_report.changed_paths)
    result = ImportResult(
        sources=dict(copy_report.sources),
        sources_changed=len(copy_report.changed_paths),
        records_added=sync_report.result.records_added if sync_report else 0,
        rejected=sync_report.result.rejected if sync_report else 0,
        left_to_daemon=sync_report is None,
    )
    errors = [*sync_report.warnings, *sync_report.errors] if sync_report else []
    is_failed = bool(copy_report.problems or (sync_report and sync_report.is_failed))
    return ImportReport(result, [*copy_report.problems, *errors], is_failed)


def _read_imports(
    app: App, progress: StageProgress, changed_paths: list[Path]
) -> jobs.SyncReport | None:
    """Read imported files and write their transcripts; None if the daemon does it."""
    try:
        return jobs.sync(app, progress, stop_all=False, changed_paths=changed_paths)
    except AlreadyRunning:
        return None
