"""The differences between two sessions in JSON form."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from leslied.model.codec import encode_time
from leslied.model.stats import Cost
from leslied.rendering.text_diff import diff_entry, make_hunks
from leslied.sessions.entry_text import record_to_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leslied.model.difference import (
        DiffOptions,
        EntryDifference,
        FieldDifference,
        Hunk,
        UnitDifference,
    )
    from leslied.model.record import PlacedRecord
    from leslied.model.session import Unit


def fields_to_dicts(fields: Iterable[FieldDifference]) -> list[dict[str, Any]]:
    """Return the JSON form of compared fields."""
    return [
        {
            "field": field.field,
            "a": _to_json_value(field.a),
            "b": _to_json_value(field.b),
        }
        for field in fields
    ]


def _to_json_value(value: Any) -> Any:
    if isinstance(value, Cost):
        return value.usd
    return encode_time(value) if isinstance(value, datetime) else value


def units_to_dicts(
    units: Iterable[UnitDifference], options: DiffOptions
) -> list[dict[str, Any]]:
    """Return the JSON form of compared units, including identical ones."""
    return [
        {
            "status": unit.status,
            "a": _unit_to_dict(unit.a),
            "b": _unit_to_dict(unit.b),
            "fields": fields_to_dicts(unit.fields),
            "entries": unit.counts,
            "changes": [
                _entry_to_dict(entry, options)
                for entry in unit.entries
                if entry.status != "same" and not options.is_summary
            ],
            "subagents": units_to_dicts(unit.subagents, options),
        }
        for unit in units
    ]


def _unit_to_dict(unit: Unit | None) -> dict[str, Any] | None:
    if unit is None:
        return None
    return {
        "chat_id": unit.chat_id,
        "number": unit.number,
        "subagent": unit.summary.subagent_id or None,
        "prompt": unit.prompt,
    }


def _entry_to_dict(entry: EntryDifference, options: DiffOptions) -> dict[str, Any]:
    text_diff = diff_entry(entry)
    record = entry.either.record
    return {
        "status": entry.status,
        "type": record.type,
        "tool_name": record.tool_name or None,
        "a": _side_to_dict(entry.a),
        "b": _side_to_dict(entry.b),
        "fields": fields_to_dicts(entry.fields),
        "diff": list(_format_hunks(make_hunks(text_diff.lines, options.context))),
        "uncompared_lines": list(text_diff.uncompared),
    }


def _side_to_dict(placed: PlacedRecord | None) -> dict[str, Any] | None:
    if placed is None:
        return None
    return {"entry_id": placed.entry_id, "text": record_to_text(placed.record)}


def _format_hunks(hunks: Iterable[Hunk]) -> Iterator[str]:
    """Yield the hunks as lines of a unified diff."""
    for hunk in hunks:
        yield f"@@ -{hunk.start_a},{hunk.count_a} +{hunk.start_b},{hunk.count_b} @@"
        yield from (line.sign + line.text for line in hunk.lines)
