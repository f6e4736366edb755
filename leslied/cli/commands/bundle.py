"""`leslied bundle`: a zip file for bug reports, without secrets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from leslied.app import get_app
from leslied.cli.completion import complete_session
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import emit, json_option
from leslied.cli.terminal.progress import ProgressBar
from leslied.errors import UserError
from leslied.jobs import write_file
from leslied.model.command_results import BundleResult
from leslied.queries.operations.bug_report import list_report_files, make_zip
from leslied.rendering.humanize import format_bytes, format_count, format_path

if TYPE_CHECKING:
    from collections.abc import Iterator


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied bundle", "write leslied-bundle.zip without any session"),
        ("leslied bundle last -o report.zip", "include the newest session"),
    ],
    see_also=["doctor", "status", "export"],
)
@click.argument(
    "session_id",
    metavar="[ID|last]",
    required=False,
    default="",
    shell_complete=complete_session,
)
@click.option(
    "-o",
    "--output",
    metavar="PATH",
    type=click.Path(),
    default="leslied-bundle.zip",
    show_default=True,
    help="Write to this file.",
)
@json_option
@click.pass_context
def command(ctx: click.Context, *, session_id: str, output: str, as_json: bool) -> None:
    """Create a zip file for a bug report, without secrets or conversations.

    It contains versions, settings, how much of each agent's logs has been read, and the
    positions of entries that could not be decoded.

    With an ID, it also contains that session, with secrets replaced. Nothing is sent:
    review the file, then attach it to your report.
    """
    app = get_app(ctx)
    target = Path(output).expanduser().absolute()
    if target.is_symlink() or (target.exists() and not target.is_file()):
        raise UserError(
            f"{target} is not a regular file.", "Choose another file with: -o PATH"
        )
    if not target.parent.is_dir():
        raise UserError(
            f"Folder {target.parent} does not exist.",
            f"Create it with: mkdir -p {target.parent}",
        )
    with ProgressBar(app.clock) as bar, app.open_queries() as queries:
        bar.start("Packing")
        files = {
            file.name: file.make_data()
            for file in bar.track(list_report_files(queries, session_id))
        }
    data = make_zip(files)
    write_file(target, data)
    bundle = BundleResult(path=str(target), bytes=len(data), files=tuple(sorted(files)))
    emit(bundle.to_dict, lambda: _lines(bundle, str(app.home)), as_json=as_json)


def _lines(bundle: BundleResult, home: str) -> Iterator[str]:
    count = format_count(len(bundle.files), "file")
    yield f"{format_path(bundle.path, home)} ({count}, {format_bytes(bundle.bytes)})"
    yield "Nothing was sent. Review the file before you send it."
