"""`leslied files`: the files that agents changed, and the history of one."""

from __future__ import annotations

import os.path
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from leslied.app import get_app
from leslied.cli.completion import complete_project
from leslied.cli.help import LesliedCommand
from leslied.cli.render.edits import render_edits
from leslied.cli.render.options import RenderOptions, find_terminal_width
from leslied.cli.render.output import (
    emit,
    format_table,
    format_time,
    json_option,
    sanitize,
)
from leslied.errors import UserError
from leslied.model.times import from_us
from leslied.queries.file_history import load_file_history
from leslied.queries.files import FileList, FileOrder, FileSelection, list_files
from leslied.queries.projects import resolve_project
from leslied.rendering.edits import FileEdit
from leslied.rendering.humanize import format_count, format_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.app import App
    from leslied.queries.context import QueryContext
    from leslied.queries.file_history import FileHistory, FileRevision

_DEFAULT_LIMIT = 50
_OUTCOMES = {"done": "", "failed": "  failed", "unanswered": "  no result"}


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied files", "the files that were changed last"),
        (
            "leslied files --project . --sort changes",
            "this project, most changed first",
        ),
        ("leslied files src/parser.py", "who changed this file, why and how"),
        ("leslied files src --json", "all files below a folder"),
    ],
    see_also=["search", "diff", "show"],
)
@click.argument("path", required=False, default="")
@click.option(
    "--project",
    default="",
    metavar="PATH|NAME",
    shell_complete=complete_project,
    help="Limit to files of this project.",
)
@click.option(
    "--filter", "words", default="", help="Only paths that contain every word of TEXT."
)
@click.option(
    "--sort",
    "order",
    type=click.Choice(get_args(FileOrder)),
    default="recent",
    show_default=True,
    help="Order of the files.",
)
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    default=_DEFAULT_LIMIT,
    show_default=True,
    help="Show at most N files or changes.",
)
@json_option
@click.pass_context
def command(ctx: click.Context, /, *, path: str, as_json: bool, **options: Any) -> None:
    """Show the files that agents changed; with PATH, the history of that file.

    A history names the prompt and the call behind every change and shows its diff. If
    PATH is a folder, the files below it are listed. Nothing is read from the files
    themselves: the calls in the logs tell what changed.
    """
    app = get_app(ctx)
    # Unlike `resolve`, `abspath` keeps symbolic links.
    full_path = os.path.abspath(Path(path).expanduser()) if path else ""  # noqa: PTH100
    with app.open_queries() as queries:
        if options["project"]:
            options["project"] = resolve_project(options["project"], app.home)
        selection = FileSelection(folder=full_path, **options)
        if full_path and not Path(full_path).is_dir():
            answer = _load_history_or_list(queries, selection)
        else:
            answer = list_files(queries, selection)
    if isinstance(answer, FileList):
        emit(answer.to_dict, lambda: _list_lines(answer, app), as_json=as_json)
    else:
        emit(answer.to_dict, lambda: _history_lines(answer, app), as_json=as_json)


def _load_history_or_list(
    queries: QueryContext, selection: FileSelection
) -> FileHistory | FileList:
    """Return the history of a file, or the files below a folder that is gone."""
    try:
        return load_file_history(queries, selection.folder, limit=selection.limit)
    except UserError:
        files = list_files(queries, selection)
        if files.total:
            return files
        raise


def _list_lines(answer: FileList, app: App) -> Iterator[str]:
    if not answer.files:
        yield "No agent has changed such a file."
        yield "List all files with `leslied files`, sessions with `leslied list`."
        return
    home = str(app.home)
    rows = [
        (
            format_path(file.path, home) + (" (deleted)" if file.is_deleted else ""),
            str(file.changes),
            str(file.failed or ""),
            str(file.sessions),
            format_time(datetime.fromisoformat(file.last_at) if file.last_at else None),
            file.last_agent,
        )
        for file in answer.files
    ]
    yield from format_table(
        ("FILE", "CHANGES", "FAILED", "SESSIONS", "LAST CHANGE", "AGENT"),
        rows,
        flexible="FILE",
        right_aligned=("CHANGES", "FAILED", "SESSIONS"),
        droppable=("AGENT", "SESSIONS", "FAILED"),
    )
    if answer.total > len(answer.files):
        rest = format_count(answer.total - len(answer.files), "file")
        yield f"{rest} more; raise the limit with -n."


def _history_lines(history: FileHistory, app: App) -> Iterator[str]:
    path = sanitize(format_path(history.path, str(app.home)))
    counts = format_count(history.changes, "change")
    if history.failed:
        counts += f", {format_count(history.failed, 'failed attempt')}"
    yield click.style(f"{path}: {counts}", bold=True)
    for earlier in history.earlier_paths:
        yield sanitize(f"earlier: {format_path(earlier, str(app.home))}")
    for revision in history.revisions:
        yield ""
        yield from _revision_lines(revision)
    if history.total > len(history.revisions):
        yield ""
        yield "There are older changes; raise the limit with -n."


def _revision_lines(revision: FileRevision) -> Iterator[str]:
    at = from_us(revision.at_us) if revision.at_us else None
    head = f"{format_time(at)}  {revision.agent}  {revision.kind}"
    yield sanitize(f"{head}{_OUTCOMES[revision.outcome]}  {revision.prompt}")
    yield sanitize(f"  leslied show {revision.entry_id[:12]}")
    if revision.error:
        yield sanitize(f"  {revision.error}")
    if revision.command:
        yield sanitize(f"  $ {revision.command.partition(chr(10))[0]}")
    edit = FileEdit(revision.path, revision.diff)
    yield from render_edits([edit], "", RenderOptions(width=find_terminal_width()))
