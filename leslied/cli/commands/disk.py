"""`leslied disk`: disk usage of leslied's files and the largest sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from leslied.app import get_app
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import (
    emit,
    format_table,
    format_time,
    json_option,
)
from leslied.queries.operations.disk import load_disk_usage
from leslied.queries.short_ids import make_short_ids
from leslied.rendering.humanize import format_bytes, format_count, format_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from leslied.app import App
    from leslied.queries.operations.disk import DiskUsage, SessionSize


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
    with app.open_queries() as queries:
        usage = load_disk_usage(queries)
        short_ids = make_short_ids(queries, [each.id for each in usage.sessions])
    emit(usage.to_dict, lambda: _lines(usage, app, short_ids), as_json=as_json)


def _lines(usage: DiskUsage, app: App, short_ids: Mapping[str, str]) -> Iterator[str]:
    projects = format_count(usage.project_folders, "project")
    descriptions = {
        "store": _format_store(usage.store),
        "wal": "write-ahead log of the store",
        "copies": "older copies of the store",
        "archive": "copies of the agents' logs",
        "central": "transcripts outside projects",
        "projects": f"transcripts in {projects}",
        "notes": "your stars, tags and notes",
        "state": "logs and runtime state",
    }
    for name, size in usage.bytes.items():
        if size or name in ("store", "archive"):
            yield f"{name:<9}{format_bytes(size):>9}  {descriptions[name]}".rstrip()
    path = format_path(usage.path, str(app.home))
    free = format_bytes(usage.free_bytes)
    yield f"{'all':<9}{format_bytes(usage.total_bytes):>9}  {path}; {free} free"
    if usage.sessions:
        yield ""
        yield from _session_lines(usage.sessions, short_ids)
    if usage.command:
        yield ""
        yield f"See which sessions to delete to free about half: {usage.command}"


def _format_store(store: Mapping[str, int]) -> str:
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
    sessions: Sequence[SessionSize], short_ids: Mapping[str, str]
) -> Iterator[str]:
    headers = ("LARGEST", "AGENT", "LAST ACTIVE", "TITLE", "BYTES", "ARCHIVE")
    rows = [
        (
            short_ids[session.id],
            session.agent,
            format_time(session.ended_at),
            session.title or "-",
            format_bytes(session.bytes),
            format_bytes(session.archive_bytes),
        )
        for session in sessions
    ]
    yield from format_table(
        headers, rows, flexible="TITLE", right_aligned=("BYTES", "ARCHIVE")
    )
