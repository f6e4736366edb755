"""Rendering of a session as text: header, units, entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.cli.render.options import (
    Gap,
    RenderOptions,
    collapse_gaps,
    find_terminal_width,
)
from leslied.cli.render.output import format_time, sanitize
from leslied.cli.render.record import RecordRenderer
from leslied.cli.render.widths import measure_width
from leslied.rendering.entry_order import iter_in_reading_order
from leslied.rendering.humanize import (
    format_cost,
    format_count,
    format_number,
    format_path,
    format_status,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from leslied.cli.render.options import ToolOutput
    from leslied.model.record import Record
    from leslied.model.session import SessionSummary, SummarizedSession, Unit
    from leslied.queries.annotations import Marks

_CONVERSATION_TYPES = {
    "user_message",
    "assistant_message",
    "tool_use",
    "tool_result",
    "error",
}


def render_header(
    session: SummarizedSession, home: str, options: RenderOptions
) -> Iterator[str]:
    """Yield the title and a summary of the session."""
    summary = session.summary
    title = sanitize(" ".join((summary.title or summary.key.session_id).split()))
    yield from (
        options.paint(piece, bold=True) for piece in options.wrap(title, options.width)
    )
    facts = [
        summary.key.session_id,
        summary.key.agent,
        format_path(summary.cwd, home),
        summary.model,
        f"{format_time(summary.started_at)} to {format_time(summary.ended_at)}",
        format_status(session),
        format_count(summary.current_units, "unit"),
        _format_rewound(summary),
        format_count(summary.tool_calls, "tool call"),
        f"{format_number(summary.usage.output_tokens)} tokens out",
        format_cost(summary.cost) if summary.cost.priced else "",
    ]
    text = sanitize(" · ".join(fact for fact in facts if fact))
    yield from (
        options.paint(piece, dim=True) for piece in options.wrap(text, options.width)
    )


def render_marks(marks: Marks, options: RenderOptions) -> Iterator[str]:
    """Yield the user's star, tags and note, if there are any."""
    star = ["★"] if marks.starred else []
    words = [*star, *(f"#{tag}" for tag in marks.tags), *marks.note.split()]
    if words:
        yield from options.wrap(sanitize(" ".join(words)), options.width)


def render_units(units: Iterable[Unit], options: RenderOptions) -> Iterator[str]:
    """Yield the lines of the units, consuming the units lazily.

    Unit 0 is left out if it has no conversation, unless everything is shown.
    """
    lines = (
        line
        for unit in units
        if unit.number or options.is_full or has_conversation(unit)
        for line in _render_unit(unit, "", RecordRenderer(options), options)
    )
    return collapse_gaps(lines) if options.is_rich else lines


def render_answers(units: Iterable[Unit], options: RenderOptions) -> Iterator[str]:
    """Yield the answers of units with nothing else, and empty lines between them."""
    renderer = RecordRenderer(options)
    has_answer = False
    for unit in units:
        for placed in unit.entries:
            lines = list(renderer.render(placed.record, ""))
            if lines and has_answer:
                yield ""
            has_answer = has_answer or bool(lines)
            # On a terminal, an answer starts and ends with a gap.
            yield from lines[1:-1] if options.is_rich else lines


def render_record(record: Record, indent: str, *, is_full: bool) -> Iterator[str]:
    """Yield the lines of a single record; none if the record is not shown."""
    tool_output: ToolOutput = "whole" if is_full else "short"
    options = RenderOptions(
        width=find_terminal_width(),
        is_full=is_full,
        include_thinking=is_full,
        tool_output=tool_output,
    )
    return RecordRenderer(options).render(record, indent)


def has_conversation(unit: Unit) -> bool:
    """Return whether the unit has prompts, answers, tool calls or errors."""
    return any(placed.record.type in _CONVERSATION_TYPES for placed in unit.entries)


def _render_unit(
    unit: Unit, indent: str, renderer: RecordRenderer, options: RenderOptions
) -> Iterator[str]:
    yield Gap(indent.rstrip())
    yield _format_unit_header(unit, indent, options)
    if options.is_rich:
        yield Gap(indent.rstrip())
    inner_indent = indent + (
        options.paint("  │ ", dim=True) if options.is_rich else "    "
    )
    remaining_subagents = list(unit.subagents)
    for placed in iter_in_reading_order(unit.entries):
        record = placed.record
        yield from renderer.render(record, indent)
        for subagent in _list_started_subagents(record, remaining_subagents):
            remaining_subagents.remove(subagent)
            yield from _render_unit(subagent, inner_indent, renderer, options)
    for subagent in remaining_subagents:
        yield from _render_unit(subagent, inner_indent, renderer, options)


def _format_rewound(summary: SessionSummary) -> str:
    """Return how many units the user took back; empty if none."""
    count = summary.units - summary.current_units
    return f"{count} rewound" if count else ""


def _list_started_subagents(record: Record, subagents: Sequence[Unit]) -> list[Unit]:
    """Return the subagents that the record started; none if it is not a call."""
    call_id = record.tool_call_id if record.type == "tool_use" else ""
    return [
        subagent
        for subagent in subagents
        if call_id and subagent.summary.spawn_call_id == call_id
    ]


def _format_unit_header(unit: Unit, indent: str, options: RenderOptions) -> str:
    if unit.summary.is_subagent:
        name = unit.summary.description or unit.summary.agent_type
        facts = [f"subagent {name}".strip(), unit.summary.subagent_id]
    else:
        facts = [str(unit.number), unit.chat_id, format_time(unit.started_at)]
        facts.append(unit.stop_reason)
        if unit.agent_mode != "agent":
            facts.append(unit.agent_mode)
        if unit.is_rewound:
            facts.append("rewound")
    header = f"── {sanitize(' · '.join(facts))} ──"
    if options.is_rich:
        width = options.width_after(indent)
        header = options.truncate(header, width)
        header += "─" * (width - measure_width(header))
    return indent + options.paint(header, dim=True)
