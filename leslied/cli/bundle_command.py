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
from leslied.cli.completion import complete_session
from leslied.cli.desk import sit_down
from leslied.cli.help import Command
from leslied.cli.output import emit, json_option, say_bytes, say_count, say_path
from leslied.cli.progress import Bar
from leslied.errors import LesliedError, StoreUnusable, UserError
from leslied.lookup import load_session, resolve_id
from leslied.redact.session import redact_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leslied.cli.desk import Desk

_MOST_REJECTED = 1000
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
    cls=Command,
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
    desk = sit_down(ctx)
    target = Path(output).expanduser().absolute()
    if target.is_symlink() or (target.exists() and not target.is_file()):
        raise UserError(f"{target} is no file.", "Name another: -o PATH")
    if not target.parent.is_dir():
        raise UserError(
            f"There is no folder {target.parent}.", f"mkdir -p {target.parent}"
        )
    with Bar(desk.clock) as bar:
        bar.begin("Packing")
        gathered = bar.over([*_gather(desk, wanted)])
        files = {name: _seal(tell(), desk) for name, tell in gathered}
    data = _pack(files)
    sinks.write_file(target.parent.resolve(), target.name, data)
    told = {"path": str(target), "bytes": len(data), "files": sorted(files)}
    emit(told, lambda: _lines(told, str(desk.home)), as_json=as_json)


def _gather(desk: Desk, wanted: str) -> Iterator[tuple[str, Callable[[], str]]]:
    """Each file's name, and how to get its text; what cannot be told says why."""
    yield "README.txt", lambda: _README.format(version=__version__)
    yield "about.json", lambda: _dump(_tell_about)
    yield "status.json", lambda: _dump(lambda: _tell_status(desk))
    yield "rejected.json", lambda: _dump(lambda: _tell_rejected(desk))
    config = desk.places.config_file
    if config.is_file():
        yield "config.toml", lambda: config.read_text("utf-8", "replace")
    if wanted:
        yield "session.json", lambda: _try_session(desk, wanted)


def _dump(tell: Callable[[], Any]) -> str:
    try:
        told = tell()
    except LesliedError as error:
        told = {"error": error.message}
    return json.dumps(told, ensure_ascii=False, indent=2, default=str) + "\n"


def _tell_about() -> dict[str, Any]:
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


def _tell_status(desk: Desk) -> dict[str, Any]:
    with desk.open_reader() as reader:
        return {
            "agents": reader.summarize_agents(),
            "store": reader.count_rows(),
            "store_bytes": desk.places.store_file.stat().st_size,
            "store_check": reader.check_integrity() or "ok",
            "troubles": [
                {"path": p, "reason": r} for p, r in reader.list_source_errors()
            ],
        }


def _tell_rejected(desk: Desk) -> list[dict[str, Any]]:
    with desk.open_reader() as reader:
        return reader.list_rejected(_MOST_REJECTED)


def _try_session(desk: Desk, wanted: str) -> str:
    """The session; a store that cannot be opened is what the report is about."""
    try:
        return _tell_session(desk, wanted)
    except StoreUnusable as error:
        return json.dumps({"error": error.message}) + "\n"


def _tell_session(desk: Desk, wanted: str) -> str:
    now = desk.clock.now()
    with desk.open_reader() as reader:
        found = load_session(reader, resolve_id(reader, wanted), now, UTC)
    (artifact,) = sinks.load_sinks()["json"].render(redact_session(found, desk.redact))
    return artifact.body.decode()


def _seal(text: str, desk: Desk) -> bytes:
    """Without secrets, and without the name that the home folder tells."""
    home = str(desk.home)
    plain = text.replace(home, "~") if home != "/" else text
    return desk.redact(plain).encode(errors="replace")


def _pack(files: dict[str, bytes]) -> bytes:
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


def _lines(told: dict[str, Any], home: str) -> Iterator[str]:
    size = say_bytes(told["bytes"])
    count = say_count(len(told["files"]), "file")
    yield f"{say_path(told['path'], home)} ({count}, {size})"
    yield "Look through it before you send it. Nothing was sent."
