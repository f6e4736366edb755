"""What differs between two sessions, as plain values for scripts."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from leslied.model.codec import encode_time
from leslied.model.stats import Cost
from leslied.sessions.text_diff import diff_entry, make_hunks, record_to_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leslied.cli.diff_view import Look
    from leslied.model.difference import (
        EntryDifference,
        FieldDifference,
        Hunk,
        UnitDifference,
    )
    from leslied.model.record import PlacedRecord
    from leslied.model.session import Unit


def plain_facts(facts: Iterable[FieldDifference]) -> list[dict[str, Any]]:
    """The facts for scripts."""
    return [
        {"field": fact.field, "a": _plain(fact.a), "b": _plain(fact.b)}
        for fact in facts
    ]


def _plain(fact: Any) -> Any:
    if isinstance(fact, Cost):
        return fact.usd
    return encode_time(fact) if isinstance(fact, datetime) else fact


def plain_units(units: Iterable[UnitDifference], look: Look) -> list[dict[str, Any]]:
    """The units for scripts, those that are the same among them."""
    return [
        {
            "status": unit.status,
            "a": _plain_unit(unit.a),
            "b": _plain_unit(unit.b),
            "fields": plain_facts(unit.fields),
            "entries": unit.counts,
            "changes": [
                _plain_entry(entry, look)
                for entry in unit.entries
                if entry.status != "same" and not look.is_summary
            ],
            "subagents": plain_units(unit.subagents, look),
        }
        for unit in units
    ]


def _plain_unit(unit: Unit | None) -> dict[str, Any] | None:
    if unit is None:
        return None
    return {
        "chat_id": unit.chat_id,
        "number": unit.number,
        "subagent": unit.summary.subagent_id or None,
        "prompt": unit.prompt,
    }


def _plain_entry(entry: EntryDifference, look: Look) -> dict[str, Any]:
    compared = diff_entry(entry)
    record = entry.either.record
    return {
        "status": entry.status,
        "type": record.type,
        "tool_name": record.tool_name or None,
        "a": _plain_side(entry.a),
        "b": _plain_side(entry.b),
        "fields": plain_facts(entry.fields),
        "diff": list(_plain_hunks(make_hunks(compared.lines, look.context))),
        "uncompared_lines": list(compared.uncompared),
    }


def _plain_side(placed: PlacedRecord | None) -> dict[str, Any] | None:
    if placed is None:
        return None
    return {"entry_id": placed.entry_id, "text": record_to_text(placed.record)}


def _plain_hunks(hunks: Iterable[Hunk]) -> Iterator[str]:
    """As `diff -u` writes them."""
    for hunk in hunks:
        yield (f"@@ -{hunk.start_a},{hunk.count_a} +{hunk.start_b},{hunk.count_b} @@")
        yield from (line.sign + line.text for line in hunk.lines)
