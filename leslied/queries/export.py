"""Sessions as files: load them for the sinks, and render them."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING

from msgspec.structs import replace

from leslied.queries.resolve import ResolvedId, resolve_id
from leslied.queries.sessions import list_sessions
from leslied.queries.units import load_session
from leslied.sessions.status import compute_stop_cutoff_us
from leslied.sinks import load_sinks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leslied.model.output import Artifact
    from leslied.model.query import Selection
    from leslied.model.session import Session
    from leslied.queries.context import QueryContext


def list_formats() -> list[str]:
    """Return the names of the export formats, sorted."""
    return sorted(load_sinks())


def render_session(session: Session, format_name: str) -> tuple[Artifact, ...]:
    """Return the files of a session in a format; secrets must be redacted before."""
    return load_sinks()[format_name].render(session)


def resolve_sessions(
    context: QueryContext, id_prefix: str, selection: Selection
) -> Sequence[ResolvedId]:
    """Return the session or part that an id names.

    Without an id, return the sessions of the selection.
    """
    if id_prefix:
        return [resolve_id(context.reader, id_prefix, with_costs=True)]
    cutoff_us = compute_stop_cutoff_us(context.now)
    selection = replace(selection, stop_cutoff_us=cutoff_us)
    sessions = list_sessions(context.reader, selection, with_costs=True)
    return [ResolvedId(session) for session in sessions]


def load_for_export(
    context: QueryContext, resolved: ResolvedId, *, is_utc: bool
) -> Session:
    """Return a session, or a part of it, without secrets unless they are revealed."""
    now = context.now
    time = resolved.session.started_at or now
    zone = UTC if is_utc else time.astimezone().tzinfo or UTC
    return context.redact_session(load_session(context.reader, resolved, now, zone))
