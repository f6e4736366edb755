"""`leslied disk`: disk usage of leslied's files and the largest sessions."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leslied.app import get_app
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import (
    emit,
    format_bytes,
    format_count,
    format_path,
    format_table,
    format_time,
    json_option,
    parse_time,
    shorten_ids,
)
from leslied.layout import LESLIE_FOLDER
from leslied.model.codec import encode_time
from leslied.model.record import SessionKey
from leslied.pipeline.maintenance.prune import find_store_copies, measure_sizes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.app import App
    from leslied.store import StoreReader

_MAX_SESSIONS = 10


@click.command(
    cls=LesliedCommand,
    examples=[("leslied disk", "show disk usage and the largest sessions")],
    see_also=["prune", "status"],
)
@json_option
@click.pass_context
def command(ctx: click.Context, *, as_json: bool) -> None:
    """Show the disk usage of store, archive and transcripts, and the largest sessions.

    A session's bytes are its share of the store, estimated from its text, plus its logs
    in the archive. Nothing is changed; `leslied prune` frees disk space.
    """
    app = get_app(ctx)
    with app.open_reader() as reader:
        data = _collect_usage(app, reader)
        similar_ids = reader.list_similar_ids(
            [session["id"] for session in data["sessions"]]
        )
    emit(data, lambda: _lines(data, app, similar_ids), as_json=as_json)


def _collect_usage(app: App, reader: StoreReader) -> dict[str, Any]:
    paths, store = app.paths, reader.path
    central = paths.central_dir
    folders = [
        Path(os.fsdecode(folder)) for folder in reader.sizes.list_transcript_folders()
    ]
    project_folders = [f for f in folders if not f.is_relative_to(central)]
    parts = {
        "store": _measure_size(store),
        "wal": _measure_size(store.with_name(store.name + "-wal")),
        "copies": sum(map(_measure_size, find_store_copies(store))),
        "archive": _measure_size(paths.archive_dir),
        "central": _measure_size(central),
        "projects": sum(_measure_size(f / LESLIE_FOLDER) for f in project_folders),
        "state": _measure_size(paths.state_dir),
    }
    return {
        "path": str(paths.data_dir),
        "bytes": parts,
        "total_bytes": sum(parts.values()),
        "free_bytes": shutil.disk_usage(store.parent).free,
        "store": _measure_store_parts(reader),
        "project_folders": len(project_folders),
        "sessions": list(_iter_largest_sessions(app, reader)),
        "command": _suggest_command(parts["store"] + parts["archive"]),
    }


def _measure_store_parts(reader: StoreReader) -> dict[str, Any]:
    """Return the store's bytes by purpose.

    Return only the unused bytes if this SQLite cannot report the sizes of tables.
    """
    file_bytes, used_bytes = reader.path.stat().st_size, reader.sizes.get_used_bytes()
    sizes: dict[str, Any] = {"unused_bytes": max(file_bytes - used_bytes, 0)}
    table_bytes = reader.sizes.get_table_bytes()
    if table_bytes:
        text_bytes = table_bytes.get("record", 0)
        index_bytes = sum(
            size
            for table, size in table_bytes.items()
            if table.startswith("record_text")
        )
        sizes["text_bytes"] = text_bytes
        sizes["index_bytes"] = index_bytes
        sizes["rest_bytes"] = max(used_bytes - text_bytes - index_bytes, 0)
    return sizes


def _iter_largest_sessions(app: App, reader: StoreReader) -> Iterator[dict[str, Any]]:
    usage = measure_sizes(reader)
    sizes = {group: usage.get_session_size(group) for group in usage.store_by_session}
    largest = sorted(sizes, key=lambda group: (-sizes[group], group))[:_MAX_SESSIONS]
    for group in largest:
        agent, session_id = group
        # The main session is unknown if only the log of a subagent was read.
        session = reader.find_session(SessionKey(agent, session_id))
        yield {
            "id": session_id,
            "agent": agent,
            "title": (app.redact(session.title) if session else "") or None,
            "ended_at": encode_time(session.ended_at) if session else None,
            "bytes": sizes[group],
            "archive_bytes": usage.archive_by_session.get(group, 0),
        }


def _suggest_command(size: int) -> str:
    """Return the command that prunes to about half the size; empty below 1 MB."""
    half = max(size // 2, 1)
    for factor, name in ((10**9, "GB"), (10**6, "MB")):
        if half >= factor:
            return f"leslied prune --max-size {half // factor}{name}"
    return ""


def _measure_size(path: Path) -> int:
    """Return the bytes of a file or of all files below a folder; 0 on an error.

    Links are not followed.
    """
    try:
        if not path.is_dir() or path.is_symlink():
            return path.lstat().st_size
        return sum(_measure_entry(entry) for entry in os.scandir(path))
    except OSError:
        return 0


def _measure_entry(entry: os.DirEntry[str]) -> int:
    if entry.is_dir(follow_symlinks=False):
        return _measure_size(Path(entry.path))
    return entry.stat(follow_symlinks=False).st_size


def _lines(data: dict[str, Any], app: App, similar_ids: list[str]) -> Iterator[str]:
    projects = format_count(data["project_folders"], "project")
    descriptions = {
        "store": _format_store(data["store"]),
        "wal": "write-ahead log of the store",
        "copies": "older copies of the store",
        "archive": "copies of the agents' logs",
        "central": "transcripts outside projects",
        "projects": f"transcripts in {projects}",
        "state": "logs and runtime state",
    }
    for name, size in data["bytes"].items():
        if size or name in ("store", "archive"):
            yield f"{name:<9}{format_bytes(size):>9}  {descriptions[name]}".rstrip()
    path = format_path(data["path"], str(app.home))
    free = format_bytes(data["free_bytes"])
    yield f"{'all':<9}{format_bytes(data['total_bytes']):>9}  {path}; {free} free"
    if data["sessions"]:
        yield ""
        yield from _session_lines(data["sessions"], similar_ids)
    if data["command"]:
        yield ""
        yield f"See which sessions to delete to free about half: {data['command']}"


def _format_store(store: dict[str, Any]) -> str:
    labels = (("text", "text"), ("index", "text index"), ("rest", "rest"))
    parts = [
        f"{format_bytes(store[f'{key}_bytes'])} {label}"
        for key, label in labels
        if f"{key}_bytes" in store
    ]
    if store["unused_bytes"]:
        parts.append(f"{format_bytes(store['unused_bytes'])} unused")
    return ", ".join(parts)


def _session_lines(
    sessions: list[dict[str, Any]], similar_ids: list[str]
) -> Iterator[str]:
    headers = ("LARGEST", "AGENT", "LAST ACTIVE", "TITLE", "BYTES", "ARCHIVE")
    short_ids = shorten_ids((session["id"] for session in sessions), similar_ids)
    rows = [
        (
            short_ids[session["id"]],
            session["agent"],
            format_time(parse_time(session["ended_at"])),
            session["title"] or "-",
            format_bytes(session["bytes"]),
            format_bytes(session["archive_bytes"]),
        )
        for session in sessions
    ]
    yield from format_table(
        headers, rows, stretch=3, right_aligned=("BYTES", "ARCHIVE")
    )
