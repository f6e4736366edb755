"""The events in a session that people see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.sessions.turns import ends_turn

if TYPE_CHECKING:
    from leslied.model.record import Record


def format_event(record: Record) -> str:
    """Describe an event in a few words; empty if people need not see it."""
    kind, note = record.metadata.get("kind"), record.metadata.get("note")
    if note == "interrupt":
        return "interrupted"
    if kind == "compacted":
        return "conversation compacted"
    if kind == "rewound":
        return "conversation rewound"
    return ""


def shows_turn_end(record: Record) -> bool:
    """Return whether to show that the turn ended after this record."""
    # Thoughts and calls may have the stop reason of the answer after them, and the end
    # of a session has a notice of its own.
    is_shown = record.type not in ("thinking", "tool_use")
    return is_shown and record.metadata.get("kind") != "ended" and ends_turn(record)
