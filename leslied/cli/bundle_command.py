"""`leslied bundle`: what a bug report needs, without what nobody should send."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import sys
import zipfile
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leslied import __version__, sinks
from leslied.agents import load_adapters
from leslied.cli.app import get_app
from leslied.cli.completion import complete_session
from leslied.cli.help import LesliedCommand
from leslied.cli.output import (
    emit,
    format_bytes,
    format_count,
    format_path,
    json_option,
)
from leslied.cli.progress import ProgressBar
from leslied.errors import LesliedError, StoreUnusable, UserError
from leslied.lookup import load_session, resolve_id
from leslied.redact.session import redact_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leslied.cli.app import App

_MAX_REJECTED = 1000
_README = """This is a bug report of leslied {version}.

about.json     versions of leslied, Python and the system
status.json    per agent: sources, sessions, newest times, rejected entries
rejected.json  where entries stand that could not be read, and why; not what they say
config.toml    the settings, if there are any
session.json   one session, if it was asked for
manifest.json  the sha256 of each of these files

Secrets of definite kinds are replaced, and the home folder is written as ~. Titles,
words and code of a session are only in session.json. Look through it before you send.
"""


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied bundle", "leslied-bundle.zip, without any talk"),
        ("leslied bundle last -o report.zip", "with the newest session in it"),
    ],
    see_also=["doctor", "status", "export"],
)
@click.argument(
    "wanted",
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
    help="The file to write.",
)
@json_option
@click.pass_context
def command(ctx: click.Context, *, wanted: str, output: str, as_json: bool) -> None:
    """Pack what a bug report needs into one file: no secrets, and no talk.

    It holds versions, settings, what is read of each agent, and where entries stand
    that could not be understood.

    With an ID, that session is in it too, with its secrets replaced. Nothing is sent:
    you look through the file and send it, or not.
    """
    app = get_app(ctx)
    target = Path(output).expanduser().absolute()
    if target.is_symlink() or (target.exists() and not target.is_file()):
        raise UserError(f"{target} is no file.", "Name another: -o PATH")
    if not target.parent.is_dir():
        raise UserError(
            f"There is no folder {target.parent}.", f"mkdir -p {target.parent}"
        )
    with ProgressBar(app.clock) as bar:
        bar.start("Packing")
        gathered = bar.track([*_iter_files(app, wanted)])
        files = {name: _redact_file(tell(), app) for name, tell in gathered}
    data = _make_zip(files)
    sinks.write_file(target.parent.resolve(), target.name, data)
    summary = {"path": str(target), "bytes": len(data), "files": sorted(files)}
    emit(summary, lambda: _lines(summary, str(app.home)), as_json=as_json)


def _iter_files(app: App, wanted: str) -> Iterator[tuple[str, Callable[[], str]]]:
    """Each file's name, and how to get its text; what cannot be told says why."""
    yield "README.txt", lambda: _README.format(version=__version__)
    yield "about.json", lambda: _dump_json(_describe_versions)
    yield "status.json", lambda: _dump_json(lambda: _describe_status(app))
    yield "rejected.json", lambda: _dump_json(lambda: _describe_rejected(app))
    config = app.paths.config_file
    if config.is_file():
        yield "config.toml", lambda: config.read_text("utf-8", "replace")
    if wanted:
        yield "session.json", lambda: _dump_session_or_error(app, wanted)


def _dump_json(make_value: Callable[[], Any]) -> str:
    try:
        value = make_value()
    except LesliedError as error:
        value = {"error": error.message}
    return json.dumps(value, ensure_ascii=False, indent=2, default=str) + "\n"


def _describe_versions() -> dict[str, Any]:
    import sqlite3  # noqa: PLC0415 - asked for its version, nothing else

    return {
        "leslied": __version__,
        "python": sys.version.split()[0],
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "sqlite": sqlite3.sqlite_version,
        "agents": sorted(load_adapters()),
        "outputs": sorted(sinks.load_sinks()),
    }


def _describe_status(app: App) -> dict[str, Any]:
    with app.open_reader() as reader:
        return {
            "agents": reader.summarize_agents(),
            "store": reader.count_rows(),
            "store_bytes": app.paths.store_file.stat().st_size,
            "store_check": reader.check_integrity() or "ok",
            "troubles": [
                {"path": p, "reason": r} for p, r in reader.list_source_errors()
            ],
        }


def _describe_rejected(app: App) -> list[dict[str, Any]]:
    with app.open_reader() as reader:
        return reader.list_rejected(_MAX_REJECTED)


def _dump_session_or_error(app: App, wanted: str) -> str:
    """The session; a store that cannot be opened is what the report is about."""
    try:
        return _dump_session(app, wanted)
    except StoreUnusable as error:
        return json.dumps({"error": error.message}) + "\n"


def _dump_session(app: App, wanted: str) -> str:
    now = app.clock.now()
    with app.open_reader() as reader:
        found = load_session(reader, resolve_id(reader, wanted), now, UTC)
    (artifact,) = sinks.load_sinks()["json"].render(redact_session(found, app.redact))
    return artifact.body.decode()


def _redact_file(text: str, app: App) -> bytes:
    """Without secrets, and without the name that the home folder tells."""
    home = str(app.home)
    plain = text.replace(home, "~") if home != "/" else text
    return app.redact(plain).encode(errors="replace")


def _make_zip(files: dict[str, bytes]) -> bytes:
    """One zip, the same bytes for the same files, with what proves them whole."""
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    manifest = json.dumps({"leslied": __version__, "sha256": sums}, indent=2) + "\n"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {**files, "manifest.json": manifest.encode()}.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o600 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return packed.getvalue()


def _lines(summary: dict[str, Any], home: str) -> Iterator[str]:
    size = format_bytes(summary["bytes"])
    count = format_count(len(summary["files"]), "file")
    yield f"{format_path(summary['path'], home)} ({count}, {size})"
    yield "Look through it before you send it. Nothing was sent."
