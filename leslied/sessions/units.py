"""Units: which entry gives a unit its chat id, and how a unit is made of entries."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from msgspec.structs import replace

from leslied.model.session import Unit
from leslied.sessions.turns import (
    find_agent_mode,
    find_linked_stop_reason,
    find_own_positions,
    find_stop_reason,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leslied.model.record import PlacedRecord, SessionKey
    from leslied.model.session import SessionSummary


def make_chat_id(key: SessionKey, entry_id: str) -> str:
    """Return the chat id of the unit that the entry with this id identifies."""
    text = f"{key.agent}\0{key.session_id}\0{entry_id}"
    return "chat-" + hashlib.sha256(text.encode(errors="replace")).hexdigest()[:12]


def get_identifying_entry(number: int, entries: Sequence[PlacedRecord]) -> PlacedRecord:
    """Return the entry from which the unit's chat id is derived.

    It is the first entry, except in unit 0, which has all entries of a subagent, or the
    entries before the first prompt: there it is the first user message, if there is
    one. `store/read/unit_ids.py` has the same rule in SQL.
    """
    user_message = None if number else find_user_message(entries)
    return user_message or entries[0]


def find_user_message(entries: Sequence[PlacedRecord]) -> PlacedRecord | None:
    """Return the first user message of the entries, or None."""
    return next((p for p in entries if p.record.type == "user_message"), None)


def make_unit(
    summary: SessionSummary,
    number: int,
    entries: tuple[PlacedRecord, ...],
    subagents: tuple[Unit, ...] = (),
) -> Unit:
    """Return the unit with these entries, of which there is at least one."""
    prompt = find_user_message(entries)
    starts_with_prompt = number > 0 or summary.is_subagent
    identifying_entry = get_identifying_entry(number, entries)
    records = [placed.record for placed in entries]
    own_entries = [entries[position] for position in find_own_positions(records)]
    own_orders = {placed.read_order for placed in own_entries}
    stop_reason = find_stop_reason(own_entries)
    if stop_reason == "unknown":
        stop_reason = find_linked_stop_reason(entries)
    return Unit(
        number=number,
        chat_id=make_chat_id(summary.key, identifying_entry.entry_id),
        summary=summary,
        entries=entries,
        prompt=prompt.record.content if prompt and starts_with_prompt else "",
        stop_reason=stop_reason,
        agent_mode=find_agent_mode(own_entries),
        subagents=subagents,
        between_turns=frozenset(
            placed.read_order
            for placed in entries
            if placed.read_order not in own_orders
        ),
    )


def mark_rewound(unit: Unit) -> Unit:
    """Mark the unit and its subagents as rewound if the user took the unit back."""
    return _mark_tree(unit) if unit.summary.is_rewound(unit.number) else unit


def _mark_tree(unit: Unit) -> Unit:
    """Return the unit, marked as rewound like all subagents below it."""
    subagents = tuple(map(_mark_tree, unit.subagents))
    return replace(unit, is_rewound=True, subagents=subagents)
