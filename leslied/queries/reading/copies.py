"""A session or one of its units as text, to paste somewhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from leslied.errors import UserError
from leslied.queries.export import load_for_export, render_session
from leslied.queries.resolve import ResolvedId, resolve_id

if TYPE_CHECKING:
    from leslied.queries.context import QueryContext

FORMATS = ("leslie", "markdown")


def render_copy(
    context: QueryContext, session_id: str, format_name: str, unit: int | None
) -> str:
    """Return the session, or one unit of it, in a format, without secrets.

    Raise UserError if the session or unit does not exist.
    """
    resolved = resolve_id(context.reader, session_id, with_costs=True)
    if unit is not None:
        resolved = ResolvedId(resolved.session, unit)
    session = load_for_export(context, resolved, is_utc=False)
    if not session.units:
        raise UserError(f"The session has no unit {unit}.", "Reload the page.")
    if format_name == "leslie":
        # Subagents have transcripts of their own, which are not copied.
        units = (replace(each, subagents=()) for each in session.units)
        session = replace(session, units=tuple(units))
    artifacts = render_session(session, format_name)
    return "\n".join(artifact.body.decode(errors="replace") for artifact in artifacts)
