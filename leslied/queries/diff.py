"""The differences between two sessions, units or subagents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leslied.model.difference import FieldDifference
from leslied.model.field_tables import session_to_dict
from leslied.queries.diff_encoding import fields_to_dicts, units_to_dicts
from leslied.queries.resolve import resolve_id
from leslied.queries.units import load_units
from leslied.sessions.align import DiffScope, align_units
from leslied.sessions.status import compute_status

if TYPE_CHECKING:
    from leslied.model.difference import DiffOptions, UnitDifference
    from leslied.model.session import SessionSummary, Status, Unit
    from leslied.queries.context import QueryContext
    from leslied.queries.resolve import ResolvedId

__all__ = [
    "DiffScope",
    "DiffSide",
    "SessionDiff",
    "compare_sessions",
    "pair_metadata",
]

_SESSION_ONLY_FIELDS = (
    "units",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "cost_usd",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffSide:
    """One side of a comparison: a session, or one unit or subagent of it."""

    target: ResolvedId
    summary: SessionSummary
    units: tuple[Unit, ...]
    status: Status

    @property
    def part(self) -> str:
        """Return the id of the compared unit or subagent; empty for a session."""
        if self.target.unit is not None and self.units:
            return self.units[0].chat_id
        if self.target.subagent and self.units:
            return self.units[0].summary.subagent_id
        return ""

    def to_dict(self) -> dict[str, Any]:
        """Return the session's JSON form with the id of the compared part."""
        return session_to_dict(self) | {"part": self.part or None}


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionDiff:
    """The differences between two sides."""

    a: DiffSide
    b: DiffSide
    metadata: list[FieldDifference]
    units: tuple[UnitDifference, ...]

    @property
    def is_same(self) -> bool:
        """Whether both sides have the same content."""
        return all(unit.status == "same" for unit in self.units)

    def to_dict(self, options: DiffOptions) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "a": self.a.to_dict(),
            "b": self.b.to_dict(),
            "is_same": self.is_same,
            "metadata": fields_to_dicts(self.metadata),
            "units": units_to_dicts(self.units, options),
        }


def compare_sessions(
    context: QueryContext, id_a: str, id_b: str, scope: DiffScope
) -> SessionDiff:
    """Compare the sessions, or parts of sessions, that two ids name.

    Raise UserError if an id is unknown or ambiguous.
    """
    a, b = (_load_side(context, id_prefix) for id_prefix in (id_a, id_b))
    return SessionDiff(
        a=a,
        b=b,
        metadata=pair_metadata(a, b),
        units=align_units(a.units, b.units, scope),
    )


def _load_side(context: QueryContext, id_prefix: str) -> DiffSide:
    target = resolve_id(context.reader, id_prefix, with_costs=True)
    return DiffSide(
        target=target,
        summary=context.redact_summary(target.session),
        units=tuple(map(context.redact_unit, load_units(context.reader, target))),
        status=compute_status(target.session, context.now),
    )


def pair_metadata(a: DiffSide, b: DiffSide) -> list[FieldDifference]:
    """Return the metadata of both sides, field by field, also where they are equal."""
    metadata_b = _collect_metadata(b)
    return [
        FieldDifference(name, value, metadata_b[name])
        for name, value in _collect_metadata(a).items()
    ]


def _collect_metadata(side: DiffSide) -> dict[str, Any]:
    session = side.summary
    metadata: dict[str, Any] = {
        "session": session.key.session_id,
        "part": None,
        "title": session.title or None,
        "agent": session.key.agent,
        "model": session.model or None,
        "project": session.project or None,
        "started_at": session.started_at,
        "duration_seconds": _measure_duration(session),
        "units": session.current_units,
        "tool_calls": session.tool_calls,
        "subagents": session.subagents,
        "input_tokens": session.usage.input_tokens,
        "output_tokens": session.usage.output_tokens,
        "cache_read_tokens": session.usage.cache_read_tokens,
        "cache_write_tokens": session.usage.cache_write_tokens,
        "cost_usd": session.cost,
        "status": side.status,
    }
    if side.part and side.units:
        metadata |= {"part": side.part, **_collect_part_metadata(side.units[0])}
    return metadata


def _collect_part_metadata(unit: Unit) -> dict[str, Any]:
    """Return the fields that replace those of the session for a unit or subagent.

    Fields that exist only for a whole session, such as its tokens, are None.
    """
    records = [placed.record for placed in unit.entries]
    models = dict.fromkeys(record.model for record in records if record.model)
    return {
        **dict.fromkeys(_SESSION_ONLY_FIELDS),
        "title": unit.summary.description or unit.prompt or None,
        "model": ", ".join(models) or None,
        "started_at": unit.started_at,
        "duration_seconds": _measure_duration(unit),
        "tool_calls": unit.tool_calls,
        "subagents": len(unit.subagents),
    }


def _measure_duration(session_or_unit: SessionSummary | Unit) -> float | None:
    if session_or_unit.started_at is None or session_or_unit.ended_at is None:
        return None
    return (session_or_unit.ended_at - session_or_unit.started_at).total_seconds()
