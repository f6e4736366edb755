"""One session, unit, subagent or entry."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING, Any

from msgspec import structs

from leslied.errors import UserError
from leslied.model.field_tables import session_to_dict, unit_to_dict
from leslied.model.omitted_text import load_omitted_texts
from leslied.queries.annotations import load_annotations, make_marks
from leslied.queries.resolve import resolve_id
from leslied.queries.unit_selection import filter_unit, select_units
from leslied.queries.units import format_resume_command, load_session

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

    from leslied.model.session import Session, SessionSummary, Status, Unit
    from leslied.queries.annotations import Marks
    from leslied.queries.context import QueryContext
    from leslied.queries.resolve import ResolvedId
    from leslied.queries.unit_selection import UnitSelection


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSession:
    """A session with its selected units."""

    context: QueryContext
    session: Session
    """The session. Its summary is redacted. Its units are not, and their long texts are
    not loaded: see `iter_units`."""
    selection: UnitSelection
    is_entry: bool
    """Whether the id names a single entry."""
    marks: Marks

    @property
    def summary(self) -> SessionSummary:
        """The session's summary."""
        return self.session.summary

    @property
    def status(self) -> Status:
        """The session's status."""
        return self.session.status

    @property
    def resume_command(self) -> str:
        """The command that resumes the session in its agent, or ""."""
        return format_resume_command(self.summary)

    def iter_units(self) -> Iterator[Unit]:
        """Yield the units with the selected entries, redacting one at a time.

        The context must be open.
        """
        for unit in self.session.units:
            yield self.context.redact_unit(
                load_omitted_texts(filter_unit(unit, self.selection))
            )

    def load_session(self) -> Session:
        """Return the session with the selected entries, for a sink."""
        return structs.replace(self.session, units=tuple(self.iter_units()))

    def to_dict(self, *, with_entries: bool = True) -> dict[str, Any]:
        """Return the JSON form; counts and times include entries that are left out."""
        other_fields = {"unpriced_messages": self.summary.cost.unpriced}
        other_fields |= self.marks.to_dict()
        return {
            "session": session_to_dict(self) | other_fields,
            "units": [
                self._unit_to_dict(unit, with_entries=with_entries)
                for unit in self.session.units
            ],
            "resume_command": self.resume_command or None,
        }

    def _unit_to_dict(self, unit: Unit, *, with_entries: bool) -> dict[str, Any]:
        redacted_unit = self.context.redact_unit(load_omitted_texts(unit))
        data = self._filter_dict(unit_to_dict(redacted_unit), with_entries=with_entries)
        return data if unit.summary.is_subagent else {"number": unit.number, **data}

    def _filter_dict(
        self, data: dict[str, Any], *, with_entries: bool
    ) -> dict[str, Any]:
        """Drop the entries and subagents that are not selected."""
        selection = self.selection
        entries = data["entries"] if with_entries else []
        subagents = data["subagents"] if selection.shows_subagents else []
        return {
            **data,
            "entries": [each for each in entries if selection.includes(each["type"])],
            "subagents": [
                self._filter_dict(child, with_entries=with_entries)
                for child in subagents
            ],
        }


def show_session(
    context: QueryContext,
    id_prefix: str,
    selection: UnitSelection,
    zone: tzinfo | None = UTC,
) -> ShownSession:
    """Return the session, or the part of it, that an id names.

    `zone` is the zone of times that sinks render; None is the local zone of the
    session's start. Raise UserError if the id is unknown or ambiguous.
    """
    resolved = resolve_id(context.reader, id_prefix, with_costs=True)
    _check_selection(resolved, selection)
    now = context.now
    if zone is None:
        zone = (resolved.session.started_at or now).astimezone().tzinfo or UTC
    session = load_session(context.reader, resolved, now, zone, defers_texts=True)
    return ShownSession(
        context=context,
        session=structs.replace(
            session,
            summary=context.redact_summary(session.summary),
            units=select_units(session.units, selection),
        ),
        selection=selection,
        is_entry=bool(resolved.entry),
        marks=make_marks(context, load_annotations(context), resolved.session),
    )


def _check_selection(resolved: ResolvedId, selection: UnitSelection) -> None:
    if resolved.is_whole_session or selection.is_whole:
        return
    if resolved.subagent:
        kind = "a subagent"
    else:
        kind = "an entry" if resolved.entry else "a unit"
    raise UserError(
        f"--unit, --first and --last need a session, but the id is that of {kind}.",
        "Leave them out, or use the id of the session.",
    )
