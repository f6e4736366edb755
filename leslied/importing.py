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
    """Keep copies of the sessions in these files, and read them.

    If the daemon is running, it reads them. Raise UserError if nothing was imported.
    """
    from leslied.pipeline.maintenance.import_files import Importer  # noqa: PLC0415

    mask = app.load_redactor().mask if app.load_settings().redact.store else None
    importer = Importer(app.load_adapters(), app.paths.imports_dir, mask)
    progress.start("Copying files")
    for path in paths:
        importer.import_path(path)
    copied = importer.report
    if not copied.sources:
        raise UserError(" ".join(copied.problems), "See: leslied import --help")
    read = _read_imports(app, progress, copied.changed_paths)
    result = ImportResult(
        sources=dict(copied.sources),
        sources_changed=len(copied.changed_paths),
        records_added=read.result.records_added if read else 0,
        rejected=read.result.rejected if read else 0,
        left_to_daemon=read is None,
    )
    errors = [*read.warnings, *read.errors] if read else []
    is_failed = bool(copied.problems or (read and read.is_failed))
    return ImportReport(result, [*copied.problems, *errors], is_failed)


def _read_imports(
    app: App, progress: StageProgress, changed_paths: list[Path]
) -> jobs.SyncReport | None:
    """Read imported files and write their transcripts; None if the daemon does it."""
    try:
        return jobs.sync(app, progress, stop_all=False, changed_paths=changed_paths)
    except AlreadyRunning:
        return None
