"""`leslied bundle`: a zip file for bug reports, without secrets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from leslied.app import get_app
from leslied.cli.completion import complete_session
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import emit, json_option, sanitize
from leslied.cli.terminal.progress import ProgressBar
from leslied.errors import UserError
from leslied.jobs import write_file
from leslied.model.command_results import BundleResult, FormatSampleResult
from leslied.queries.operations.bug_report import (
    MANIFEST_FILE,
    list_report_files,
    make_zip,
)
from leslied.rendering.humanize import format_bytes, format_count, format_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.app import App


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied bundle", "write leslied-bundle.zip without any session"),
        ("leslied bundle last -o report.zip", "include the last active session"),
        (
            "leslied bundle --format-sample",
            "write the structure of entries that leslied does not understand",
        ),
        (
            "leslied bundle --format-sample ~/new-agent.jsonl",
            "write the structure of each kind of entry in a file",
        ),
    ],
    see_also=["doctor", "status", "export"],
)
@click.argument(
    "session_id",
    metavar="[ID|last|FILE]",
    required=False,
    default="",
    shell_complete=complete_session,
)
@click.option(
    "-o",
    "--output",
    metavar="PATH",
    type=click.Path(),
    help="Write to this file.  [default: leslied-bundle.zip, or "
    "leslied-format-sample.zip]",
)
@click.option(
    "--format-sample",
    is_flag=True,
    help="Write the structure of log entries instead, without any text.",
)
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    session_id: str,
    output: str | None,
    format_sample: bool,
    as_json: bool,
) -> None:
    """Create a zip file for a bug report, without secrets or conversations.

    It contains versions, settings, how much of each agent's logs has been read, and the
    positions of entries that could not be decoded.

    With an ID, it also contains that session, with secrets replaced. Nothing is sent:
    review the file, then attach it to your report.

    With --format-sample, it contains the structure of log entries instead. Keys and the
    names of kinds, such as "tool_use", stay; every other text, number, time, path and
    id is replaced by one of the same type. With an ID or FILE, it contains one entry
    of each kind in the session's logs or in FILE; without them, one entry of each kind
    that leslied does not know.
    """
    app = get_app(ctx)
    if format_sample:
        target = _check_target(output or "leslied-format-sample.zip")
        sample = _write_sample(app, session_id, target)
        emit(
            sample.to_dict,
            lambda: _sample_lines(sample, str(app.home)),
            as_json=as_json,
        )
        return
    target = _check_target(output or "leslied-bundle.zip")
    bundle = _write_bundle(app, session_id, target)
    emit(bundle.to_dict, lambda: _lines(bundle, str(app.home)), as_json=as_json)


def _check_target(output: str) -> Path:
    """Return the absolute path; raise UserError if no file can be written there."""
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
    return target


def _write_bundle(app: App, session_id: str, target: Path) -> BundleResult:
    with ProgressBar(app.clock) as bar, app.open_queries() as queries:
        bar.start("Packing")
        files = {
            file.name: file.make_data()
            for file in bar.track(list_report_files(queries, session_id))
        }
    data = make_zip(files)
    write_file(target, data)
    names = tuple(sorted([*files, MANIFEST_FILE]))
    return BundleResult(path=str(target), bytes=len(data), files=names)


def _write_sample(app: App, log_or_session: str, target: Path) -> FormatSampleResult:
    """Write the sample; raise UserError if there is nothing to sample."""
    from leslied.queries.operations import format_sample  # noqa: PLC0415

    with ProgressBar(app.clock) as bar, app.open_queries() as queries:
        bar.start("Sampling")
        paths = format_sample.list_sample_paths(queries, log_or_session)
        sources = app.sample_logs(bar.track(paths), only_unknown=not log_or_session)
        files = format_sample.make_sample_files(queries, sources)
        summary = format_sample.summarize_sample(queries, sources)
    data = make_zip(files)
    write_file(target, data)
    names = tuple(sorted([*files, MANIFEST_FILE]))
    return FormatSampleResult(path=str(target), bytes=len(data), files=names, **summary)


def _lines(bundle: BundleResult, home: str) -> Iterator[str]:
    count = format_count(len(bundle.files), "file")
    yield f"{format_path(bundle.path, home)} ({count}, {format_bytes(bundle.bytes)})"
    yield "Nothing was sent. Review the file before you send it."


def _sample_lines(sample: FormatSampleResult, home: str) -> Iterator[str]:
    # Only the first line, which names the file.
    yield next(_lines(sample, home))
    agents = ", ".join(sample.agents) or "no known agent"
    entries = "1 entry" if sample.entries == 1 else f"{sample.entries} entries"
    yield sanitize(
        f"It has the structure of {entries} with {format_count(sample.kinds, 'kind')}, "
        f"from logs of {agents}."
    )
    if sample.unknown_kinds:
        yield sanitize(f"Unknown kinds: {', '.join(sample.unknown_kinds)}")
    yield "Texts, numbers, times, paths and ids are replaced; keys and kinds are kept."
    yield "Nothing was sent. Review the file before you send it."
