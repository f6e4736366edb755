"""Assets of threads: their indexes, and problems with their names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from leslied.errors import UserError
from leslied.layout import assets_file
from leslied.queries.resolve import resolve_id
from leslied.queries.sessions import list_sessions
from leslied.queries.threads.lookup import NO_FILES_HINT
from leslied.sinks import find_project
from leslied.threads.assets import find_assets, list_names, read_text
from leslied.threads.index import parse_index
from leslied.threads.lint import lint_assets

if TYPE_CHECKING:
    from leslied.model.session import SessionSummary
    from leslied.queries.context import QueryContext
    from leslied.threads.lint import LintFinding

_MAX_INDEX_BYTES = 4 * 1024 * 1024
_MAX_THREADS = 200


class AssetIndexes(NamedTuple):
    """The asset indexes of threads."""

    threads: list[dict[str, Any]]
    """Each index as in its file; `folder` is the folder that holds its `.leslie`."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"threads": self.threads}


class AssetFinding(NamedTuple):
    """A problem with the name of an asset; field names are those of `--json`."""

    thread: str
    path: str
    rule: str
    message: str
    better: str | None
    """A valid name, or None if none can be suggested."""


class LintReport(NamedTuple):
    """The problems with names of assets."""

    findings: list[AssetFinding]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"findings": [finding._asdict() for finding in self.findings]}


def load_asset_indexes(
    context: QueryContext, thread_id: str, folder: Path
) -> AssetIndexes:
    """Return the index of a thread; without an id, those of the folder's project.

    Outside of a project, return those of all threads. Raise UserError if the thread is
    unknown or has no index.
    """
    sessions = _select_sessions(context, thread_id, folder)
    indexes = [_load_index(context, session) for session in sessions]
    threads = [index for index in indexes if index]
    if thread_id and not threads:
        (session,) = sessions
        raise UserError(
            f"{session.thread_id} has no asset index yet.",
            "Write it with: leslied sync" if session.folder else NO_FILES_HINT,
        )
    return AssetIndexes(threads)


def lint_thread_assets(
    context: QueryContext, thread_id: str, folder: Path
) -> LintReport:
    """Return problems with the names of assets.

    Check the thread; without an id, the threads of the folder's project; outside a
    project, all threads.
    """
    findings = [
        AssetFinding(
            thread=session.thread_id,
            path=finding.path,
            rule=finding.rule,
            message=finding.message,
            # The suggestion is made from the path, and may repeat parts of a secret.
            better=None
            if _has_secret(finding, context)
            else finding.suggestion or None,
        )
        for session in _select_sessions(context, thread_id, folder)
        for finding in lint_assets(
            find_assets(Path(session.folder), session.thread_id),
            list_names(Path(session.folder), session.thread_id),
        )
    ]
    return LintReport(context.redact_value(findings))


def _has_secret(finding: LintFinding, context: QueryContext) -> bool:
    return context.redact(finding.path) != finding.path


def _select_sessions(
    context: QueryContext, thread_id: str, folder: Path
) -> list[SessionSummary]:
    """Return the session of the thread; without an id, those of the project.

    Without a project, or if it has no sessions, return those of all projects.
    """
    if thread_id:
        return [resolve_id(context.reader, thread_id).session]
    sessions = [s for s in list_sessions(context.reader) if s.folder]
    project = str(find_project(str(folder)) or "")
    project_sessions = [
        s for s in sessions if project and project in (s.folder, s.worktree, s.project)
    ]
    return (project_sessions or sessions)[:_MAX_THREADS]


def _load_index(
    context: QueryContext, session: SessionSummary
) -> dict[str, Any] | None:
    path = assets_file(session.thread_id)
    text = read_text(Path(session.folder), path, _MAX_INDEX_BYTES)
    index = parse_index(context.redact(text)) if text else None
    return {**index, "folder": context.redact(session.folder)} if index else None
