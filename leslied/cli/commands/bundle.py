"""`leslied bundle`: a zip file for bug reports, without secrets."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leslied import __version__
from leslied.app import get_app
from leslied.cli.completion import complete_session
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import emit, json_option
from leslied.cli.terminal.progress import ProgressBar
from leslied.errors import LesliedError, StoreUnusable, UserError
from leslied.jobs import write_file
from leslied.model.command_results import BundleResult
from leslied.queries.bug_report import (
    collect_store_state,
    collect_versions,
    dump_session,
    list_rejected,
)
from leslied.rendering.humanize import format_bytes, format_count, format_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leslied.app import App
    from leslied.queries.context import QueryContext

_README = """This is a bug report for leslied {version}.

about.json     versions of leslied, Python and the system
status.json    state of the store, and of the logs of each agent
rejected.json  positions of entries that could not be decoded, and why; no content
config.toml    the settings, if there is a config file
session.json   one session, if its ID was given
manifest.json  the SHA-256 of each of these files

Recognized secrets are replaced, and the home directory is written as ~. Titles,
text and code of a session are only in session.json. Review the files before you send
them.
"""


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
    with ProgressBar(app.clock) as bar:
        bar.start("Packing")
        files = {
            name: _redact_file(make_text(), app)
            for name, make_text in bar.track([*_iter_files(app, session_id)])
        }
    data = _make_zip(files)
    write_file(target, data)
    bundle = BundleResult(path=str(target), bytes=len(data), files=tuple(sorted(files)))
    emit(bundle.to_dict, lambda: _lines(bundle, str(app.home)), as_json=as_json)


def _iter_files(app: App, session_id: str) -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield the name of each file with a function that returns its text.

    If the store cannot be used, the text is an error message.
    """
    yield "README.txt", lambda: _README.format(version=__version__)
    yield "about.json", lambda: _dump_json(collect_versions)
    yield "status.json", lambda: _dump_json(lambda: _ask(app, collect_store_state))
    yield "rejected.json", lambda: _dump_json(lambda: _ask(app, list_rejected))
    config = app.paths.config_file
    if config.is_file():
        yield "config.toml", lambda: config.read_text("utf-8", "replace")
    if session_id:
        yield "session.json", lambda: _dump_session_or_error(app, session_id)


def _ask(app: App, query: Callable[[QueryContext], Any]) -> Any:
    with app.open_queries() as queries:
        return query(queries)


def _dump_json(make_value: Callable[[], Any]) -> str:
    """Return the value as JSON, or the error that computing it raised."""
    try:
        value = make_value()
    except LesliedError as error:
        value = {"error": error.message}
    return json.dumps(value, ensure_ascii=False, indent=2, default=str) + "\n"


def _dump_session_or_error(app: App, session_id: str) -> str:
    """Return the session as JSON, or the error if the store cannot be opened.

    An unusable store may be the reason for the bug report, so it must not prevent one.
    """
    try:
        return str(_ask(app, partial(dump_session, id_prefix=session_id)))
    except StoreUnusable as error:
        return json.dumps({"error": error.message}) + "\n"


def _redact_file(text: str, app: App) -> bytes:
    """Replace secrets, and the home directory, whose path has the user's name."""
    home = str(app.home)
    without_home = text.replace(home, "~") if home != "/" else text
    return app.load_redactor().redact(without_home).encode(errors="replace")


def _make_zip(files: dict[str, bytes]) -> bytes:
    """Return a reproducible zip of the files and a manifest with their hashes."""
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    manifest = json.dumps({"leslied": __version__, "sha256": hashes}, indent=2) + "\n"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {**files, "manifest.json": manifest.encode()}.items():
            # Its default date is 1980, so the zip does not depend on the time.
            file_info = zipfile.ZipInfo(name)
            # The upper 16 bits are the file's mode.
            file_info.external_attr = 0o600 << 16
            file_info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(file_info, data)
    return buffer.getvalue()


def _lines(bundle: BundleResult, home: str) -> Iterator[str]:
    count = format_count(len(bundle.files), "file")
    yield f"{format_path(bundle.path, home)} ({count}, {format_bytes(bundle.bytes)})"
    yield "Nothing was sent. Review the file before you send it."
