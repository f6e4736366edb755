"""Turns: which record ends one, and how and in which mode a unit's last turn ran."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leslied.model.record import PlacedRecord, Record
    from leslied.model.session import AgentMode, StopReason

AGENT_OUTPUT_TYPES = frozenset(["assistant_message", "thinking", "tool_use"])
TURN_TYPES = AGENT_OUTPUT_TYPES | {"user_message", "tool_result"}
"""Types of the records of a turn. Such a record also reopens a turn that had ended."""
# After `max_tokens` the client continues immediately or not at all.
_LAST_STOP_REASONS = ("end_turn", "stop_sequence", "max_tokens", "unknown")
_TURN_STARTING_ORIGINS = ("prompt", "queued", "task")


def ends_turn(record: Record) -> bool:
    """Return whether the agent waits for the next prompt after this record."""
    if record.type in TURN_TYPES:
        return record.metadata.get("stop_reason") in _LAST_STOP_REASONS
    if record.type == "error" and record.role == "assistant":
        return True
    return record.metadata.get("kind") in ("turn_ended", "ended")


def find_stop_reason(entries: Sequence[PlacedRecord]) -> StopReason:
    """Return how the last turn in the unit ended."""
    for placed in reversed(entries):
        record = placed.record
        if record.metadata.get("note") == "interrupt":
            return "cancelled"
        if record.type == "error" and record.role == "assistant":
            return "error"
        if record.metadata.get("kind") == "turn_ended":
            return _get_stop_reason(record)
        if record.type in AGENT_OUTPUT_TYPES:
            return _get_stop_reason(record) if ends_turn(record) else "unknown"
        if record.type == "tool_result":
            return "unknown"
        if record.metadata.get("origin") in _TURN_STARTING_ORIGINS:
            return "unknown"
    return "unknown"


def find_linked_stop_reason(entries: Sequence[PlacedRecord]) -> StopReason:
    """Return how a subagent ended according to its link to the call that spawned it."""
    reasons = (
        placed.record.metadata.get("stop_reason")
        for placed in reversed(entries)
        if placed.record.metadata.get("kind") == "subagent_linked"
    )
    return next(filter(None, reasons), "unknown")


def find_agent_mode(entries: Sequence[PlacedRecord]) -> AgentMode:
    """Return `plan` if the agent was in plan mode at any time, else `agent`."""
    modes = {placed.record.metadata.get("permission_mode") for placed in entries}
    return "plan" if "plan" in modes else "agent"


def _get_stop_reason(record: Record) -> StopReason:
    """Return the stop reason of a record that ends a turn."""
    reason = record.metadata.get("stop_reason")
    return reason if reason in ("max_tokens", "unknown") else "end_turn"
