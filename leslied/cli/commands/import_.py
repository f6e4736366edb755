"""`leslied import`: import sessions from files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from leslied import importing
from leslied.app import get_app
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import emit, json_option
from leslied.cli.terminal.progress import ProgressBar
from leslied.rendering.humanize import format_count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.command_results import ImportResult


@click.command(
    "import",
    cls=LesliedCommand,
    examples=[
        (
            "leslied import conversations.json",
            "import an export of ChatGPT or Claude.ai",
        ),
        ("leslied import takeout.zip", "import every session in a zip file"),
        ("leslied import ~/old-project", "import every session in a folder"),
    ],
    exit_codes=[(1, "some files were not imported"), (2, "no file was imported")],
    see_also=["export", "list", "agents"],
)
@click.argument(
    "paths",
    metavar="FILE…",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path),
)
@json_option
@click.pass_context
def command(ctx: click.Context, *, paths: tuple[Path, ...], as_json: bool) -> None:
    """Import sessions from files, folders and zip files.

    Formats: trajectories in ATIF (Agent Trajectory Interchange Format); update streams
    of ACP (Agent Client Protocol); exports of Claude.ai, ChatGPT, Gemini and AI Studio;
    Leslie transcripts and events; chibi contexts; devflow runs; weakincentives slices;
    request logs of OpenAI clients and LiteLLM. leslied recognises them by their
    contents.

    A copy of each session is kept in leslied's data folder, and read like the log of an
    agent. Importing a file again changes nothing; importing a newer export adds its
    new entries. If the daemon is running, it reads the copies.
    """
    app = get_app(ctx)
    with ProgressBar(app.clock) as bar:
        report = importing.import_files(app, bar, paths)
    emit(
        report.result.to_dict,
        lambda: _lines(report.result),
        as_json=as_json,
        warnings=report.warnings,
    )
    if report.is_failed:
        ctx.exit(1)


def _lines(result: ImportResult) -> Iterator[str]:
    for agent, count in result.sources.items():
        yield f"{agent}: {format_count(count, 'file')}"
    files = format_count(result.sources_changed, "file")
    if not result.sources_changed:
        yield "Nothing is new: all of this was imported before."
    elif result.left_to_daemon:
        yield f"{files} new or changed. The daemon reads them within 30 seconds."
    else:
        records = format_count(result.records_added, "record")
        yield f"{files} new or changed, {records} added. List sessions: leslied list"
