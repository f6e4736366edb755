"""Data for a bug report: versions, the state of the store, rejections, a session."""

from __future__ import annotations

import platform
import sqlite3
import sys
from typing import TYPE_CHECKING, Any

from leslied import __version__
from leslied.agents import load_adapters
from leslied.queries.export import list_formats, load_for_export, render_session
from leslied.queries.resolve import resolve_id

if TYPE_CHECKING:
    from leslied.queries.context import QueryContext

_MAX_REJECTED = 1000


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
        "troubles": [{"path": p, "reason": r} for p, r in reader.list_source_errors()],
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
