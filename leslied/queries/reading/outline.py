"""The outline of a session: its header, and one line about each unit.

It is made of light copies of the entries, so it is quick for sessions of any size.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from leslied.model.codec import encode_time
from leslied.model.stats import Cost
from leslied.model.times import to_us
from leslied.prices import load_prices
from leslied.queries.reading.pages import make_shown_unit
from leslied.queries.reading.session import open_session
from leslied.queries.session_list import make_listed_sessions
from leslied.queries.units import format_resume_command
from leslied.rendering.text import first_line
from leslied.sessions.assemble import RecordStream, assemble

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leslied.model.record import Usage
    from leslied.model.session import Unit
    from leslied.prices import Tariff
    from leslied.queries.context import QueryContext
    from leslied.queries.reading.pages import ShownUnit
    from leslied.queries.reading.session import ReadSession
    from leslied.queries.session_list import ListedSession

_TITLE_CHARACTERS = 160


class MessageUsage(NamedTuple):
    """Tokens of one API message."""

    unit: int
    model: str
    at_us: int | None
    usage: Usage

    @property
    def context_tokens(self) -> int:
        """Tokens that the model read: new, cached and written to the cache."""
        usage = self.usage
        return usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlinedUnit:
    """What the outline says about a unit."""

    unit: Unit
    """The unit with light copies of its entries, not redacted."""
    title: str
    shown: ShownUnit
    """The messages of the unit."""
    subagents: int
    cost: Cost

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        unit = self.unit
        records = [placed.record for placed in unit.entries]
        events = [shown.event for shown in self.shown.messages if shown.event]
        return {
            "number": unit.number,
            "chat_id": unit.chat_id,
            "title": self.title,
            "started_at": encode_time(unit.started_at),
            "ended_at": encode_time(unit.ended_at),
            "stop_reason": unit.stop_reason,
            "agent_mode": unit.agent_mode,
            "rewound": unit.is_rewound,
            "entries": len(records),
            "messages": len(self.shown.messages),
            "pages": self.shown.pages,
            "tool_calls": unit.tool_calls,
            "failed_calls": sum(
                record.type == "tool_result" and bool(record.metadata.get("is_error"))
                for record in records
            ),
            "compactions": sum(e.kind == "compacted" and bool(e.text) for e in events),
            "subagents": self.subagents,
            "cost_usd": self.cost.usd,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """A session's header and units; the texts are redacted."""

    session: ListedSession
    resume_command: str
    units: tuple[OutlinedUnit, ...]
    usages: tuple[MessageUsage, ...]
    position: dict[str, Any] | None
    """The unit, subagent or entry that the id names; None for the whole session."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "session": self.session.to_dict(),
            "resume_command": self.resume_command or None,
            "units": [unit.to_dict() for unit in self.units],
            "context": [[usage.unit, usage.context_tokens] for usage in self.usages],
            "position": self.position,
        }


def load_outline(context: QueryContext, id_prefix: str, first_unit: int = 0) -> Outline:
    """Return the outline of the session that an id names.

    Units before `first_unit` are left out. Raise UserError if there is no such session.
    """
    session = open_session(context, id_prefix, with_costs=True)
    heads = context.reader.reading.list_heads(session.summary.stream, first_unit)
    units = assemble(RecordStream(session.summary, heads), ())
    usages = tuple(_list_usages(units))
    (listed,) = make_listed_sessions(context, [session.summary])
    outlined_units = list(_outline_units(context, session, units, usages))
    return Outline(
        session=listed,
        resume_command=format_resume_command(listed.summary),
        units=tuple(unit for unit in outlined_units if _is_shown(unit)),
        usages=usages,
        position=_describe_position(session),
    )


def _is_shown(outlined_unit: OutlinedUnit) -> bool:
    """Return whether the unit has a prompt, messages or subagents."""
    has_prompt = outlined_unit.unit.number > 0
    return bool(has_prompt or outlined_unit.shown.messages or outlined_unit.subagents)


def _describe_position(session: ReadSession) -> dict[str, Any] | None:
    """Return the part of the session that the user's id names; None for all of it."""
    resolved = session.resolved
    if resolved.is_whole_session:
        return None
    return {
        "unit": resolved.unit,
        "subagent": resolved.subagent or None,
        "entry": resolved.entry or None,
    }


def _outline_units(
    context: QueryContext,
    session: ReadSession,
    units: tuple[Unit, ...],
    usages: tuple[MessageUsage, ...],
) -> Iterator[OutlinedUnit]:
    find_tariff = cache(load_prices().find_tariff)
    usages_by_unit = {
        number: list(group) for number, group in groupby(usages, lambda u: u.unit)
    }
    for unit in units:
        subagents = session.list_spawned_subagents(session.summary.key, unit.number)
        cost = _sum_costs(find_tariff, usages_by_unit.get(unit.number, []))
        for child in subagents:
            cost = cost.plus(child.summary.cost)
        yield OutlinedUnit(
            unit=unit,
            title=first_line(context.redact(unit.prompt), _TITLE_CHARACTERS),
            shown=make_shown_unit(unit),
            subagents=len(subagents),
            cost=cost,
        )


def _sum_costs(
    find_tariff: Callable[[str], Tariff | None], usages: list[MessageUsage]
) -> Cost:
    """Return the cost of these messages."""
    total = Cost()
    for each in usages:
        tariff = find_tariff(each.model)
        if tariff is None:
            total = total.plus(Cost(unpriced=1))
            continue
        pico = tariff.compute_cost(each.usage, each.context_tokens, each.at_us)
        total = total.plus(Cost(pico, priced=1))
    return total


def _list_usages(units: tuple[Unit, ...]) -> Iterator[MessageUsage]:
    """Yield the tokens of each API message once, in order."""
    usages_by_message: dict[tuple[str, str], MessageUsage] = {}
    for unit in units:
        for placed in unit.entries:
            record = placed.record
            if not record.usage:
                continue
            request = str(record.metadata.get("request_id") or "")
            key = (record.message_id or placed.entry_id, request)
            at_us = to_us(record.created_at) if record.created_at else None
            previous = usages_by_message.get(key)
            usage = previous.usage.max(record.usage) if previous else record.usage
            number = previous.unit if previous else unit.number
            usages_by_message[key] = MessageUsage(number, record.model, at_us, usage)
    yield from usages_by_message.values()
