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
    """Return the entry from which the unit's chat id is derived: its first entry.

    Unit 0 is a subagent, or what comes before the first prompt. It may begin with other
    entries than its first user message, which identifies it if there is one.
    `store/read/unit_ids.py` has the same rule in SQL.
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
    orders, own_orders = (
        {placed.read_order for placed in some} for some in (entries, own_entries)
    )
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
        between_turns=frozenset(orders - own_orders),
    )


def mark_rewound(unit: Unit) -> Unit:
    """Return the unit, marked with its subagents if the user took it back."""
    return _with_mark(unit) if unit.summary.is_rewound(unit.number) else unit


def _with_mark(unit: Unit) -> Unit:
    subagents = tuple(map(_with_mark, unit.subagents))
    return replace(unit, is_rewound=True, subagents=subagents)
