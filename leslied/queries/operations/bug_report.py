"""The files of a bug report: versions, state of the store, rejections, a session."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import sqlite3
import sys
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leslied import __version__
from leslied.agents import load_adapters
from leslied.control_characters import escape_control_characters
from leslied.errors import LesliedError, StoreUnusable
from leslied.queries.export import list_formats, load_for_export, render_session
from leslied.queries.resolve import resolve_id

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from leslied.queries.context import QueryContext

_MAX_REJECTED = 1000
MANIFEST_FILE = "manifest.json"
"""The file that `make_zip` adds."""
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


@dataclass(frozen=True, slots=True)
class ReportFile:
    """A file of the report, and a function that returns its text."""

    name: str
    context: QueryContext
    make_text: Callable[[], str]

    def make_data(self) -> bytes:
        """Return the content without secrets and without the user's name.

        The path of the home directory contains the name.
        """
        text, home = self.make_text(), str(self.context.home)
        without_home = text.replace(home, "~") if home != "/" else text
        return self.context.redact(without_home).encode(errors="replace")


def list_report_files(context: QueryContext, id_prefix: str = "") -> list[ReportFile]:
    """List the files of a report, with a session if an id is given.

    If the store cannot be used, the text of a file is an error message: the store may
    be the reason for the report, so it must not prevent one.
    """
    makers: dict[str, Callable[[], str]] = {
        "README.txt": lambda: _README.format(version=__version__),
        "about.json": lambda: _dump_json(collect_versions),
        "status.json": lambda: _dump_json(lambda: collect_store_state(context)),
        "rejected.json": lambda: _dump_json(lambda: list_rejected(context)),
    }
    config = context.paths.config_file
    if config.is_file():
        makers["config.toml"] = lambda: config.read_text("utf-8", "replace")
    if id_prefix:
        makers["session.json"] = lambda: _dump_session_or_error(context, id_prefix)
    return [ReportFile(name, context, maker) for name, maker in makers.items()]


def make_zip(files: Mapping[str, bytes]) -> bytes:
    """Return a reproducible zip of the files, and MANIFEST_FILE with their hashes."""
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    manifest = json.dumps({"leslied": __version__, "sha256": hashes}, indent=2) + "\n"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {**files, MANIFEST_FILE: manifest.encode()}.items():
            # A ZipInfo has a fixed date, so the zip does not depend on the time.
            file_info = zipfile.ZipInfo(name)
            # The upper 16 bits are the file's mode.
            file_info.external_attr = 0o600 << 16
            file_info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(file_info, data)
    return buffer.getvalue()


def collect_versions() -> dict[str, Any]:
    """Return the versions of leslied, Python, SQLite and the system."""
    return {
        "leslied": __version__,
        "python": sys.version.split()[0],
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "sqlite": sqlite3.sqlite_version,
        "agents": sorted(load_adapters()),
        "outputs": list_formats(),
    }


def collect_store_state(context: QueryContext) -> dict[str, Any]:
    """Return what the store holds, whether it is damaged, and unreadable sources."""
    reader = context.reader
    return {
        "agents": reader.summarize_agents(),
        "store": reader.count_rows(),
        "store_bytes": reader.path.stat().st_size,
        "store_check": reader.check_integrity() or "ok",
        "troubles": [
            {"path": p, "reason": r} for p, r in reader.list_source_problems()
        ],
    }


def list_rejected(context: QueryContext) -> list[dict[str, Any]]:
    """Return the positions of rejected entries, with the reason."""
    return context.reader.list_rejected(_MAX_REJECTED)


def dump_session(context: QueryContext, id_prefix: str) -> str:
    """Return a session, or a part of it, as a JSON document."""
    resolved = resolve_id(context.reader, id_prefix)
    session = load_for_export(context, resolved, is_utc=True)
    (artifact,) = render_session(session, "json")
    return artifact.body.decode()


def _dump_json(make_value: Callable[[], Any]) -> str:
    """Return the value as JSON, or the error that computing it raised."""
    try:
        value = make_value()
    except LesliedError as error:
        value = {"error": error.message}
    text = json.dumps(value, ensure_ascii=False, indent=2, default=str)
    return escape_control_characters(text) + "\n"


def _dump_session_or_error(context: QueryContext, id_prefix: str) -> str:
    """Return the session as JSON, or the error if the store cannot be opened."""
    try:
        return dump_session(context, id_prefix)
    except StoreUnusable as error:
        return json.dumps({"error": error.message}) + "\n"
