"""`leslied export`: write sessions as files in one of several formats."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leslied.app import get_app
from leslied.cli.completion import complete_session
from leslied.cli.filters import filter_options, format_no_sessions, parse_filters
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import emit
from leslied.cli.terminal.progress import ProgressBar
from leslied.errors import UserError
from leslied.jobs import make_folder, write_artifacts, write_file
from leslied.model.command_results import ExportResult, WrittenFile
from leslied.model.query import Selection
from leslied.queries.export import (
    load_for_export,
    render_session,
    resolve_sessions,
)
from leslied.rendering.humanize import format_bytes, format_count, format_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leslied.app import App
    from leslied.model.output import Artifact
    from leslied.model.query import Filter
    from leslied.model.source import Root
    from leslied.queries.resolve import ResolvedId

_MAX_LISTED_FILES = 10
FORMATS = (
    "leslie",
    "markdown",
    "html",
    "json",
    "jsonl",
    "devflow",
    "chibi",
    "weakincentives",
    "atif",
)
"""Formats in the order of the help text; a test compares them with the sinks."""


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied export last -f markdown", "print the last active session"),
        ("leslied export last -f html -o session.html", "write a page to share"),
        ("leslied export chat-01922cb7 -f json", "print one unit as JSON"),
        ("leslied export --all -f html -o sessions/", "write a page per session"),
        ("leslied export --all --project app -f jsonl -o app/", "export one project"),
        ("leslied export last -f jsonl | jq .type", "process records with jq"),
    ],
    see_also=["list", "show", "bundle"],
)
@click.argument(
    "session_id",
    metavar="[ID|last]",
    required=False,
    default="",
    shell_complete=complete_session,
)
@click.option(
    "-f",
    "--format",
    "format_name",
    type=click.Choice(FORMATS),
    metavar="FORMAT",
    required=True,
    help=f"Write this format: {', '.join(FORMATS)}.",
)
@click.option(
    "-o",
    "--output",
    metavar="PATH",
    default="",
    type=click.Path(),
    help="Write to this file or folder instead of standard output.",
)
@click.option(
    "--all", "is_all", is_flag=True, help="Export all sessions that the filters select."
)
@filter_options
@click.option("--reveal", is_flag=True, help="Do not redact secrets.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print a report on the export as JSON."
)
@click.pass_context
def command(
    ctx: click.Context, /, session_id: str, format_name: str, **options: Any
) -> None:
    """Export a session, unit or subagent, or many sessions with --all.

    The formats markdown and html are for people; json, jsonl and atif (the Agent
    Trajectory Interchange Format) are for programs; leslie, devflow, chibi and
    weakincentives are for the tools of the same name.

    Without -o, the export is printed to standard output. The formats leslie, devflow
    and chibi write folders, as does --all: they need -o with a folder. Any other export
    is one file; it is written into PATH if PATH is a folder or ends in /, else to PATH
    itself. With --all, filters select sessions as in `leslied list`. Secrets are
    redacted unless --reveal is given.
    """
    app = get_app(ctx)
    request = _ExportRequest(
        app=app,
        format_name=format_name,
        session_id=session_id,
        filters=parse_filters(app, options),
        output=options["output"],
        is_all=options["is_all"],
        reveal=options["reveal"],
        as_json=options["as_json"],
    )
    request.check()
    if request.output in ("", "-"):
        request.print()
        return
    result = request.write()
    emit(result.to_dict, lambda: _lines(result, request), as_json=request.as_json)


@dataclass(slots=True, kw_only=True)
class _ExportRequest:
    """The arguments of one export, and the number of sessions rendered so far."""

    app: App
    format_name: str
    session_id: str
    filters: tuple[Filter, ...]
    output: str
    is_all: bool
    reveal: bool
    as_json: bool
    rendered_sessions: int = 0

    def check(self) -> None:
        """Raise UserError if the arguments contradict each other."""
        if self.is_all and self.session_id:
            raise UserError("An ID cannot be combined with --all.", "Omit one of them.")
        if not self.is_all and not self.session_id:
            raise UserError(
                "No session was named.",
                "Name one, or use --all. List ids with: leslied list",
            )
        if self.filters and not self.is_all:
            raise UserError(
                "Filters cannot be combined with an ID.",
                "Use --all instead of the ID, or omit the filters.",
            )
        if self.is_all and self.output in ("", "-"):
            raise UserError("--all writes many files.", "Name a folder: -o FOLDER")
        if self.as_json and self.output in ("", "-"):
            raise UserError(
                "--json lists the written files, but no file would be written.",
                "Name a file or folder with -o PATH, or omit --json.",
            )

    def print(self) -> None:
        """Print the export to standard output.

        Raises UserError if it is compressed or consists of several files.
        """
        # Without --all, there is exactly one session.
        (artifacts,) = self._render()
        primary_artifacts = _list_primary_artifacts(artifacts)
        if len(primary_artifacts) != 1 or primary_artifacts[0].path.endswith(".gz"):
            raise UserError(
                f"The format {self.format_name} cannot be printed: it is compressed "
                "or has several files.",
                "Name a folder: -o FOLDER",
            )
        sys.stdout.buffer.write(primary_artifacts[0].body)
        sys.stdout.buffer.flush()

    def write(self) -> ExportResult:
        """Write all files."""
        files = tuple(
            WrittenFile(path=str(path), bytes=size)
            for path, size in self._write_files()
        )
        return ExportResult(
            format=self.format_name, sessions=self.rendered_sessions, files=files
        )

    def _write_files(self) -> Iterator[tuple[Path, int]]:
        """Write the files; yield the path and size of each."""
        target = self._resolve_target()
        for artifacts in self._render():
            primary_artifacts = _list_primary_artifacts(artifacts)
            if len(primary_artifacts) == 1 and not target.is_dir():
                body = primary_artifacts[0].body
                write_file(target, body)
                yield target, len(body)
            else:
                yield from write_artifacts(target, artifacts)

    def _resolve_target(self) -> Path:
        """Return the absolute path of the output; create it if it must be a folder.

        Raises UserError for links, special files and paths inside an agent's folder.
        """
        path = Path(self.output).expanduser()
        target = path.parent.resolve() / path.name if path.name else path.resolve()
        _check_target(target, self.output)
        settings = self.app.load_settings()
        for adapter, roots in self.app.iter_agent_roots(settings):
            if any(_is_inside(target, root) for root in roots):
                raise UserError(
                    f"{target} is inside a folder of {adapter.name}.",
                    "leslied never writes to an agent's folder; choose another path.",
                )
        if self.is_all or self.output.endswith("/"):
            make_folder(target)
        elif not target.parent.is_dir():
            raise UserError(
                f"Folder {target.parent} does not exist.",
                f"Create it with: mkdir -p {target.parent}",
            )
        return target

    def _render(self) -> Iterator[tuple[Artifact, ...]]:
        """Yield the files of each session, redacted unless --reveal is set."""
        is_utc = self.app.load_settings().output.timezone == "utc"
        selection = Selection(filters=self.filters)
        with self.app.open_queries(reveal=self.reveal) as queries:
            resolved_ids = resolve_sessions(queries, self.session_id, selection)
            for resolved_id in self._with_progress(resolved_ids):
                self.rendered_sessions += 1
                session = load_for_export(queries, resolved_id, is_utc=is_utc)
                yield render_session(session, self.format_name)

    def _with_progress(self, ids: Sequence[ResolvedId]) -> Iterator[ResolvedId]:
        """Yield the ids; with --all, show how many of them are done."""
        if not self.is_all:
            yield from ids
            return
        with ProgressBar(self.app.clock) as bar:
            bar.start("Writing sessions")
            yield from bar.track(ids)


def _is_inside(target: Path, root: Root) -> bool:
    """Return whether the target is in the root or, for a project, is a log in it."""
    folder = root.path.resolve()
    if root.is_project:
        return any(target == folder / pattern.glob for pattern in root.patterns)
    return target.is_relative_to(folder)


def _check_target(target: Path, path_argument: str) -> None:
    if target.is_symlink():
        raise UserError(
            f"{path_argument} is a symbolic link.", "Name its target instead."
        )
    if target.exists() and not (target.is_file() or target.is_dir()):
        raise UserError(
            f"{path_argument} is not a regular file or folder.",
            "Name a file or a folder.",
        )


def _list_primary_artifacts(artifacts: Sequence[Artifact]) -> list[Artifact]:
    """Return the files of an export, without those that only repeat other files."""
    return [artifact for artifact in artifacts if not artifact.is_derived]


def _lines(result: ExportResult, request: _ExportRequest) -> Iterator[str]:
    files, home = result.files, str(request.app.home)
    size = format_bytes(sum(file.bytes for file in files))
    if len(files) == 1:
        yield f"{format_path(files[0].path, home)} ({size})"
        return
    if not files:
        yield format_no_sessions(request.filters)
        return
    sessions = format_count(result.sessions, "session")
    yield f"{sessions}, {format_count(len(files), 'file')} ({size})"
    for file in files[:_MAX_LISTED_FILES]:
        yield f"  {format_path(file.path, home)}"
    if len(files) > _MAX_LISTED_FILES:
        yield f"  … and {len(files) - _MAX_LISTED_FILES} more"
