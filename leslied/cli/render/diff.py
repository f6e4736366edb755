"""The differences between two sessions as lines for a terminal."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Any

import click

from leslied.cli.render.output import format_table, format_time, sanitize
from leslied.cli.render.session import render_record
from leslied.graphemes import ellipsize
from leslied.model.stats import Cost
from leslied.rendering.entry_order import iter_in_reading_order
from leslied.rendering.humanize import (
    format_cost,
    format_count,
    format_number,
    format_path,
)
from leslied.rendering.text_diff import diff_entry, make_hunks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from leslied.model.difference import (
        DiffOptions,
        EntryDifference,
        FieldDifference,
        Hunk,
        TextDifference,
        TextDiffLine,
        UnitDifference,
    )
    from leslied.model.session import Unit

_MAX_ENTRY_LINES = 40
_MAX_LINE_CHARS = 160
_CHARS_BEFORE_CHANGE = 60
"""Characters shown before the first change of a truncated line."""
_COLORS = {"-": "red", "+": "green"}
_STATUS_LABELS = {
    "same": "the same",
    "changed": "changed",
    "only_a": "only in A",
    "only_b": "only in B",
}
_FIELD_LABELS = {
    "started_at": "started",
    "duration_seconds": "duration",
    "tool_calls": "tool calls",
    "input_tokens": "tokens in",
    "output_tokens": "tokens out",
    "cache_read_tokens": "cache read",
    "cache_write_tokens": "cache written",
    "cost_usd": "cost",
    "stop_reason": "stop reason",
    "agent_mode": "mode",
}
_TYPE_LABELS = {
    "user_message": "prompt",
    "assistant_message": "answer",
    "tool_use": "call of",
    "tool_result": "result of",
    "system_event": "event",
}


def render_diff(
    metadata: Sequence[FieldDifference],
    units: Sequence[UnitDifference],
    options: DiffOptions,
) -> Iterator[str]:
    """Yield the metadata side by side, then the differences unit by unit."""
    yield from _metadata_lines(metadata, options.home)
    if all(unit.status == "same" for unit in units):
        yield from ("", "The sessions have the same content.")
    else:
        yield from _unit_lines(units, options, "")


def _metadata_lines(metadata: Sequence[FieldDifference], home: str) -> Iterator[str]:
    """Yield a table of the metadata of A and B; lines with equal values are dim."""
    rows = [
        (
            _FIELD_LABELS.get(field.field, field.field),
            _format_value(field.a, home),
            _format_value(field.b, home),
        )
        for field in metadata
        if (field.a, field.b) != (None, None)
    ]
    header, *lines = format_table(("", "A", "B"), rows, flexible="A")
    yield header
    for line, (_, text_a, text_b) in zip(lines, rows, strict=True):
        yield click.style(line, dim=True) if text_a == text_b else line


def _format_value(value: Any, home: str) -> str:
    match value:
        case None:
            return "-"
        case Cost():
            return format_cost(value)
        case datetime():
            return format_time(value)
        case int():
            return format_number(value)
        case float():
            return str(timedelta(seconds=round(value)))
        case _:
            return format_path(str(value), home)


def _unit_lines(
    units: Iterable[UnitDifference], options: DiffOptions, indent: str
) -> Iterator[str]:
    for is_same, group in groupby(units, key=lambda unit: unit.status == "same"):
        if is_same:
            yield from ("", indent + _format_same_units(list(group)))
            continue
        for unit in group:
            yield from ("", indent + _format_unit_header(unit))
            yield from _prompt_lines(unit, options, indent)
            yield from _field_lines(unit, indent)
            if not options.is_summary:
                yield from _changed_entry_lines(unit.entries, options, indent)
                yield from _one_sided_lines(unit, options, indent)
            yield from _unit_lines(unit.subagents, options, indent + "    ")


def _format_same_units(units: Sequence[UnitDifference]) -> str:
    noun = "subagent" if units[0].either.summary.is_subagent else "unit"
    verb = "is" if len(units) == 1 else "are"
    return click.style(f"{format_count(len(units), noun)} {verb} the same.", dim=True)


def _format_unit_header(unit: UnitDifference) -> str:
    names = dict.fromkeys(_format_unit_name(side) for side in (unit.a, unit.b) if side)
    header = f"{_STATUS_LABELS[unit.status]}: {' ↔ '.join(names)}"
    counts = ", ".join(
        f"{count} {_STATUS_LABELS[status]}"
        for status, count in unit.counts.items()
        if count
    )
    detail = counts or format_count(unit.either.tool_calls, "tool call")
    return click.style(sanitize(f"── {header} · {detail} ──"), bold=True)


def _format_unit_name(unit: Unit) -> str:
    if not unit.summary.is_subagent:
        return f"unit {unit.number} {unit.chat_id}"
    name = unit.summary.description or unit.summary.agent_type
    return " ".join(f"subagent {unit.summary.subagent_id} {name}".split())


def _prompt_lines(
    unit: UnitDifference, options: DiffOptions, indent: str
) -> Iterator[str]:
    """Yield the prompts, unless they are shown below as a changed entry."""
    prompts = {
        "-": unit.a.prompt if unit.a else "",
        "+": unit.b.prompt if unit.b else "",
    }
    if prompts["-"] == prompts["+"]:
        prompts = {" ": prompts["-"]}
    elif unit.status == "changed" and not options.is_summary:
        return
    for sign, prompt in prompts.items():
        if prompt.strip():
            line = _truncate(" ".join(prompt.split()))
            yield indent + click.style(
                sanitize(f"{sign} > {line}"), fg=_COLORS.get(sign)
            )


def _one_sided_lines(
    unit: UnitDifference, options: DiffOptions, indent: str
) -> Iterator[str]:
    """Yield the entries, except prompts, of a unit that only one side has."""
    if unit.a and unit.b:
        return
    sign = "-" if unit.a else "+"
    for placed in iter_in_reading_order(unit.either.entries):
        if placed.record.type == "user_message":
            continue
        for line in render_record(placed.record, "", is_full=options.is_full):
            plain = click.unstyle(line)
            if plain.strip():
                yield indent + click.style(f"{sign} {plain}", fg=_COLORS.get(sign))


def _field_lines(unit: UnitDifference, indent: str) -> Iterator[str]:
    for field in unit.fields:
        name = _FIELD_LABELS.get(field.field, field.field)
        yield indent + sanitize(f"  {name}: {field.a or '-'} → {field.b or '-'}")


def _truncate(line: str) -> str:
    return ellipsize(line, _MAX_LINE_CHARS)


def _changed_entry_lines(
    entries: Sequence[EntryDifference], options: DiffOptions, indent: str
) -> Iterator[str]:
    """Yield the changed entries, and how many unchanged ones are between them.

    An unchanged call is shown above its changed result.
    """
    unchanged_entries: list[EntryDifference] = []
    for entry in entries:
        if entry.status == "same":
            unchanged_entries.append(entry)
            continue
        call = None
        if unchanged_entries and _is_result_of(entry, unchanged_entries[-1]):
            call = unchanged_entries.pop()
        yield from _unchanged_lines(len(unchanged_entries), indent)
        if call:
            yield from render_record(call.either.record, indent + "  ", is_full=False)
        yield from _entry_lines(entry, options, indent)
        unchanged_entries = []
    yield from _unchanged_lines(len(unchanged_entries), indent)


def _is_result_of(result: EntryDifference, call: EntryDifference) -> bool:
    """Return whether `result` is the result of `call`, on a side that has `result`."""
    placed_call = call.a if result.a else call.b
    if placed_call is None or placed_call.record.type != "tool_use":
        return False
    record = result.either.record
    is_result = record.type == "tool_result"
    return is_result and record.tool_call_id == placed_call.record.tool_call_id


def _unchanged_lines(count: int, indent: str) -> Iterator[str]:
    if count:
        text = "1 entry is the same" if count == 1 else f"{count} entries are the same"
        yield indent + click.style(f"  … {text}", dim=True)


def _entry_lines(
    entry: EntryDifference, options: DiffOptions, indent: str
) -> Iterator[str]:
    text_diff = diff_entry(entry)
    lines = list(_hunk_lines(make_hunks(text_diff.lines, options.context), options))
    limit = len(lines) if options.is_full else _MAX_ENTRY_LINES
    yield indent + click.style(sanitize(_format_entry_header(entry)), fg="cyan")
    yield from (indent + line for line in lines[:limit])
    for remark in _iter_remarks(text_diff, len(lines) - limit):
        yield indent + click.style(f"  … {remark}", dim=True)


def _format_entry_header(entry: EntryDifference) -> str:
    record = entry.either.record
    parts = [f"{_TYPE_LABELS.get(record.type, record.type)} {record.tool_name}".strip()]
    if entry.a is None or entry.b is None:
        parts.append(_STATUS_LABELS[entry.status])
    # The only field in which two entries can differ is `is_error`.
    parts += [f"failed in {'A' if field.a else 'B'} only" for field in entry.fields]
    return f"@@ {' '.join(', '.join(parts).split())} @@"


def _iter_remarks(text_diff: TextDifference, hidden_lines: int) -> Iterator[str]:
    if hidden_lines > 0:
        yield f"{format_count(hidden_lines, 'more line')}; --full shows all"
    if any(text_diff.uncompared):
        a, b = (format_count(count, "more line") for count in text_diff.uncompared)
        yield f"too long to be compared line by line: {a} in A, {b} in B"
    if text_diff.is_coarse:
        yield "too long to be compared word by word"


def _hunk_lines(hunks: Iterable[Hunk], options: DiffOptions) -> Iterator[str]:
    for number, hunk in enumerate(hunks):
        if number or hunk.start_a > 1 or hunk.start_b > 1:
            yield click.style("  …", dim=True)
        yield from (_format_line(line, options) for line in hunk.lines)


def _format_line(line: TextDiffLine, options: DiffOptions) -> str:
    """Format the line with its sign; highlight the words that differ."""
    begin, end = _choose_window(line, options)
    color, is_dim = _COLORS.get(line.sign), line.sign == " "
    pieces = [
        (line.sign + (" …" if begin else " "), False),
        *_split_at_marks(line, begin, end),
        ("…" if end < len(line.text) else "", False),
    ]
    return "".join(
        click.style(sanitize(text), fg=color, dim=is_dim, reverse=is_marked)
        for text, is_marked in pieces
        if text
    )


def _choose_window(line: TextDiffLine, options: DiffOptions) -> tuple[int, int]:
    """Return the start and end of the visible part, which contains the first change."""
    if options.is_full or len(line.text) <= _MAX_LINE_CHARS:
        return 0, len(line.text)
    change = line.marks[0][0] if line.marks else 0
    begin = max(min(change - _CHARS_BEFORE_CHANGE, len(line.text) - _MAX_LINE_CHARS), 0)
    return begin, begin + _MAX_LINE_CHARS


def _split_at_marks(
    line: TextDiffLine, begin: int, end: int
) -> Iterator[tuple[str, bool]]:
    """Yield the text of each piece and whether it is highlighted."""
    position = begin
    for mark in line.marks:
        start, stop = (min(max(offset, position), end) for offset in mark)
        yield line.text[position:start], False
        yield line.text[start:stop], True
        position = stop
    yield line.text[position:end], False
