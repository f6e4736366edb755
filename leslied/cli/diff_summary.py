"""One side of a comparison: what was asked for, and what is known of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leslied.model.codec import session_to_dict
from leslied.model.difference import FieldDifference

if TYPE_CHECKING:
    from leslied.lookup import ResolvedId
    from leslied.model.session import SessionSummary, Status, Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffSide:
    """A session, or one unit or subagent of it."""

    target: ResolvedId
    session: SessionSummary
    units: tuple[Unit, ...]
    status: Status

    @property
    def part(self) -> str:
        """The id of the unit or subagent that was asked for; empty for a session."""
        if self.target.unit is not None and self.units:
            return self.units[0].chat_id
        return self.target.subagent

    def to_dict(self) -> dict[str, Any]:
        """The session as lists show it, and which part of it is compared."""
        data = session_to_dict(self.session, self.status, self.session.cwd)
        return data | {"part": self.part or None}


def compare_metadata(a: DiffSide, b: DiffSide) -> list[FieldDifference]:
    """What is known of both, side by side."""
    theirs = _collect_metadata(b)
    return [
        FieldDifference(name, fact, theirs[name])
        for name, fact in _collect_metadata(a).items()
    ]


def _collect_metadata(side: DiffSide) -> dict[str, Any]:
    session = side.session
    facts: dict[str, Any] = {
        "session": session.key.session_id,
        "part": None,
        "title": session.title or None,
        "agent": session.key.agent,
        "model": session.model or None,
        "project": session.cwd or None,
        "started_at": session.started_at,
        "duration_seconds": _measure_duration(session),
        "units": session.units,
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
        facts |= {"part": side.part, **_collect_part_metadata(side.units[0])}
    return facts


def _collect_part_metadata(unit: Unit) -> dict[str, Any]:
    """What is not the whole session's; tokens and cost are known of sessions only."""
    models = dict.fromkeys(p.record.model for p in unit.entries if p.record.model)
    tokens = ("input_tokens", "output_tokens", "cache_read_tokens")
    return {
        **dict.fromkeys((*tokens, "cache_write_tokens", "cost_usd", "units")),
        "title": unit.summary.description or unit.prompt or None,
        "model": ", ".join(models) or None,
        "started_at": unit.started_at,
        "duration_seconds": _measure_duration(unit),
        "tool_calls": unit.tool_calls,
        "subagents": len(unit.subagents),
    }


def _measure_duration(timed: SessionSummary | Unit) -> float | None:
    if timed.started_at is None or timed.ended_at is None:
        return None
    return (timed.ended_at - timed.started_at).total_seconds()
