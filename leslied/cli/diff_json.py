"""What differs between two sessions, as plain values for scripts."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from leslied.model.codec import encode_time
from leslied.model.stats import Cost
from leslied.sessions.text_diff import diff_entry, make_hunks, record_to_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leslied.cli.diff_text import DiffOptions
    from leslied.model.difference import (
        EntryDifference,
        FieldDifference,
        Hunk,
        UnitDifference,
    )
    from leslied.model.record import PlacedRecord
    from leslied.model.session import Unit


def fields_to_dicts(facts: Iterable[FieldDifference]) -> list[dict[str, Any]]:
    """The facts for scripts."""
    return [
        {"field": fact.field, "a": _to_json_value(fact.a), "b": _to_json_value(fact.b)}
        for fact in facts
    ]


def _to_json_value(fact: Any) -> Any:
    if isinstance(fact, Cost):
        return fact.usd
    return encode_time(fact) if isinstance(fact, datetime) else fact


def units_to_dicts(
    units: Iterable[UnitDifference], options: DiffOptions
) -> list[dict[str, Any]]:
    """The units for scripts, those that are the same among them."""
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
    compared = diff_entry(entry)
    record = entry.either.record
    return {
        "status": entry.status,
        "type": record.type,
        "tool_name": record.tool_name or None,
        "a": _side_to_dict(entry.a),
        "b": _side_to_dict(entry.b),
        "fields": fields_to_dicts(entry.fields),
        "diff": list(_format_hunks(make_hunks(compared.lines, options.context))),
        "uncompared_lines": list(compared.uncompared),
    }


def _side_to_dict(placed: PlacedRecord | None) -> dict[str, Any] | None:
    if placed is None:
        return None
    return {"entry_id": placed.entry_id, "text": record_to_text(placed.record)}


def _format_hunks(hunks: Iterable[Hunk]) -> Iterator[str]:
    """As `diff -u` writes them."""
    for hunk in hunks:
        yield (f"@@ -{hunk.start_a},{hunk.count_a} +{hunk.start_b},{hunk.count_b} @@")
        yield from (line.sign + line.text for line in hunk.lines)
