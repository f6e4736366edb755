"""A session as a page: its head, unit by unit, and how to go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.cli.entry import Teller
from leslied.cli.look import Gap, Look, find_width, measure, squeeze
from leslied.cli.output import (
    clean,
    say_cost,
    say_count,
    say_number,
    say_path,
    say_time,
)
from leslied.sessions.reading_order import pair_results

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from leslied.cli.look import Output
    from leslied.model.record import PlacedRecord, Record
    from leslied.model.session import SessionSummary, Status, Unit

_ANSWERS = {"user_message", "assistant_message", "tool_use", "tool_result", "error"}


def head_lines(
    session: SessionSummary, status: Status, home: str, look: Look
) -> Iterator[str]:
    """What the session is called, and what is known of it."""
    title = clean(" ".join((session.title or session.key.session_id).split()))
    yield from (look.paint(piece, bold=True) for piece in look.fit(title, look.width))
    facts = [
        session.key.session_id,
        session.key.agent,
        say_path(session.cwd, home),
        session.model,
        f"{say_time(session.started_at)} to {say_time(session.ended_at)}",
        status,
        say_count(session.units, "unit"),
        say_count(session.tool_calls, "tool call"),
        f"{say_number(session.usage.output_tokens)} tokens out",
        say_cost(session.cost) if session.cost.priced else "",
    ]
    told = clean(" · ".join(fact for fact in facts if fact))
    yield from (look.paint(piece, dim=True) for piece in look.fit(told, look.width))


def page_lines(units: Iterable[Unit], look: Look) -> Iterator[str]:
    """The units one after the other; each is asked for when it is needed."""
    lines = (
        line
        for unit in units
        if unit.number or look.is_full or has_talk(unit)
        for line in _unit_lines(unit, "", Teller(look), look)
    )
    return squeeze(lines) if look.is_rich else lines


def answer_lines(units: Iterable[Unit], look: Look) -> Iterator[str]:
    """What the agent answered, and nothing else."""
    teller = Teller(look)
    is_first = True
    for unit in units:
        for placed in unit.entries:
            told = list(teller.tell(placed.record, ""))
            if told and not is_first:
                yield ""
            is_first = is_first and not told
            yield from told[1:-1] if look.is_rich else told


def entry_lines(record: Record, indent: str, *, is_full: bool) -> Iterator[str]:
    """One record as a reader wants to see it; nothing for what only machines read."""
    output: Output = "whole" if is_full else "short"
    look = Look(
        width=find_width(), is_full=is_full, has_thinking=is_full, output=output
    )
    return Teller(look).tell(record, indent)


def has_talk(unit: Unit) -> bool:
    """Whether there is anything in it that people read."""
    return any(placed.record.type in _ANSWERS for placed in unit.entries)


def _unit_lines(unit: Unit, indent: str, teller: Teller, look: Look) -> Iterator[str]:
    yield Gap(indent.rstrip())
    yield _head(unit, indent, look)
    if look.is_rich:
        yield Gap(indent.rstrip())
    below = indent + (look.paint("  │ ", dim=True) if look.is_rich else "    ")
    waiting = list(unit.subagents)
    for record in _in_reading_order(unit.entries):
        yield from teller.tell(record, indent)
        for child in _spawned(record, waiting):
            waiting.remove(child)
            yield from _unit_lines(child, below, teller, look)
    for child in waiting:
        yield from _unit_lines(child, below, teller, look)


def _spawned(record: Record, waiting: Sequence[Unit]) -> list[Unit]:
    call = record.tool_call_id if record.type == "tool_use" else ""
    return [child for child in waiting if call and child.summary.spawn_call_id == call]


def _head(unit: Unit, indent: str, look: Look) -> str:
    if unit.summary.is_subagent:
        name = unit.summary.description or unit.summary.agent_type
        facts = [f"subagent {name}".strip(), unit.summary.subagent_id]
    else:
        facts = [str(unit.number), unit.chat_id, say_time(unit.started_at)]
        facts.append(unit.stop_reason)
        facts += [unit.agent_mode] if unit.agent_mode != "agent" else []
    head = f"── {clean(' · '.join(facts))} ──"
    if look.is_rich:
        room = look.room(indent)
        head = look.cut(head, room)
        head += "─" * (room - measure(head))
    return indent + look.paint(head, dim=True)


def _in_reading_order(entries: Sequence[PlacedRecord]) -> Iterator[Record]:
    """Every result right under its call, also when calls ran side by side."""
    for placed, result in pair_results(entries):
        yield placed.record
        if result:
            yield result.record
