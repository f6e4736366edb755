"""Turns: which records form a turn, which record ends it, and with which reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leslied.model.record import PlacedRecord, Record
    from leslied.model.session import AgentMode, StopReason

AGENT_OUTPUT_TYPES = frozenset(["assistant_message", "thinking", "tool_use"])
TURN_TYPES = AGENT_OUTPUT_TYPES | {"user_message", "tool_result"}
"""Types of the records of a turn."""
# After `max_tokens` the client continues immediately or not at all.
_LAST_STOP_REASONS = ("end_turn", "stop_sequence", "max_tokens", "unknown")
_TURN_STARTING_ORIGINS = ("prompt", "queued", "task")
_COMMAND_ORIGINS = ("command", "shell")
_CONTINUING_NOTES = ("stop_blocked", "request_retried")


def is_command(record: Record) -> bool:
    """Return whether a record is a `/name` or `! cmd` command that a person ran.

    The agent may not notice it: a turn begins only if the agent answers.
    """
    return record.metadata.get("origin") in _COMMAND_ORIGINS


def is_in_turn(record: Record) -> bool:
    """Return whether a record is part of a turn; it continues one that has ended.

    Commands are not part of a turn, whatever their type, nor are records that the
    client adds for an earlier turn when it resumes a session.
    """
    if is_command(record) or record.metadata.get("is_between_turns"):
        return False
    return record.type in TURN_TYPES or is_stop_refused(record)


def extends_unit(record: Record) -> bool:
    """Return whether a record extends its unit: it is part of a turn or ends one."""
    is_end = record.metadata.get("kind") == "turn_ended"
    return is_in_turn(record) or record.type == "error" or is_end


def find_own_positions(records: Sequence[Record]) -> list[int]:
    """Return the positions of a unit's own records: up to the end of its last turn.

    Later records (titles, modes, commands, queue operations of the next prompt) were
    written while the agent waited. They belong to the session, not to the turn before.
    So do records of side files, which may be rewritten at any time, and links of
    subagents, which are in another log.
    """
    ends = [position for position, record in enumerate(records) if extends_unit(record)]
    end = ends[-1] + 1 if ends else len(records)
    return [
        position
        for position, record in enumerate(records[:end])
        if not _is_about_session(record)
    ]


def _is_about_session(record: Record) -> bool:
    """Return whether a record belongs to no turn, even between those of a turn."""
    metadata = record.metadata
    is_link = metadata.get("kind") == "subagent_linked"
    return bool(is_link or metadata.get("is_between_turns") or metadata.get("is_side"))


def is_stop_refused(record: Record) -> bool:
    """Return whether a record says that a turn continues after its end.

    One of the user's hooks refused the end, or the client repeats a failed request.
    """
    return record.metadata.get("note") in _CONTINUING_NOTES


def ends_turn(record: Record) -> bool:
    """Return whether the agent waits for the next prompt after this record."""
    if record.type in TURN_TYPES:
        return record.metadata.get("stop_reason") in _LAST_STOP_REASONS
    if record.type == "error" and record.role == "assistant":
        return True
    return record.metadata.get("kind") in ("turn_ended", "ended")


def find_stop_reason(entries: Sequence[PlacedRecord]) -> StopReason:
    """Return how the last turn in the unit ended.

    An interrupt, an error or the last answer says more than the event for the end of
    the turn, which the agent writes after each of them, too.
    """
    event_reason: StopReason = "unknown"
    for record in (placed.record for placed in reversed(entries)):
        if record.metadata.get("note") == "interrupt":
            return "cancelled"
        if record.type == "error" and record.role == "assistant":
            return "error"
        if record.type in AGENT_OUTPUT_TYPES:
            return _get_stop_reason(record) if ends_turn(record) else event_reason
        if is_stop_refused(record):
            return "unknown"
        if record.type == "tool_result":
            return event_reason
        if record.metadata.get("origin") in _TURN_STARTING_ORIGINS:
            return event_reason
        if record.metadata.get("kind") == "turn_ended" and event_reason == "unknown":
            event_reason = _get_stop_reason(record)
    return event_reason


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
