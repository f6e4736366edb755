"""Records as a conversation: who spoke, with which calls, and what came back.

An API message is logged in several records, and the result of a call somewhere behind
it. Outputs that think in turns get them put together here, once for all of them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from leslied.model.record import Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from leslied.model.record import PlacedRecord, Record
    from leslied.model.session import Unit

Speaker = Literal["user", "assistant", "tool", "event", "error", "unknown"]
_MAX_DEPTH = 100
"""Some JSON readers stop at 200, and arguments stand a few levels down."""
_ASSISTANT_TYPES = ("assistant_message", "thinking", "tool_use")
_SPEAKERS: dict[str, Speaker] = {
    "user_message": "user",
    "tool_result": "tool",
    "system_event": "event",
    "error": "error",
    "unknown": "unknown",
}


@dataclass(slots=True)
class ToolInvocation:
    """A tool call with its result, and the subagents it spawned."""

    placed: PlacedRecord
    result: PlacedRecord | None = None
    subagents: list[Unit] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The tool's name, on one line."""
        return " ".join(self.placed.record.tool_name.split()) or "unknown"

    @property
    def call_id(self) -> str:
        """The call's own id, or one made of its record's."""
        return self.placed.record.tool_call_id or f"call-{self.placed.entry_id[:12]}"

    @property
    def output(self) -> str:
        """What the tool answered, whole."""
        return get_full_text(self.result.record) if self.result else ""

    @property
    def is_error(self) -> bool:
        """Whether the tool said that it failed."""
        return bool(self.result and self.result.record.metadata.get("is_error"))


@dataclass(slots=True)
class Turn:
    """What one speaker said at once; for an assistant, one API message."""

    speaker: Speaker
    placed: PlacedRecord
    """The first record of it."""
    texts: list[str] = field(default_factory=list)
    thinking_texts: list[str] = field(default_factory=list)
    calls: list[ToolInvocation] = field(default_factory=list)
    usage: Usage | None = None
    model: str = ""

    @property
    def text(self) -> str:
        """All that was said."""
        return "\n\n".join(self.texts)

    @property
    def thinking(self) -> str:
        """All that was thought."""
        return "\n\n".join(self.thinking_texts)

    @property
    def event_kind(self) -> str:
        """What kind of event it is; empty for everything else."""
        return str(self.placed.record.metadata.get("kind", ""))

    @property
    def time(self) -> datetime:
        """The log's own time, else when it was read."""
        return self.placed.record.created_at or self.placed.observed_at


@dataclass(frozen=True, slots=True)
class UnitTurns:
    """One unit as turns, with the subagents that hang under none of its calls."""

    unit: Unit
    turns: tuple[Turn, ...]
    subagents: tuple[Unit, ...]


def make_unit_turns(units: Sequence[Unit]) -> tuple[UnitTurns, ...]:
    """The units of one stream as turns; tokens stand where they were first told."""
    telling = _TurnBuilder(units)
    return tuple(telling.build(unit) for unit in units)


def make_turns(unit: Unit) -> tuple[Turn, ...]:
    """One unit, or one subagent, as turns."""
    return make_unit_turns([unit])[0].turns


def iter_units(units: Iterable[Unit]) -> Iterator[Unit]:
    """Every unit and, behind it, its subagents and theirs."""
    for unit in units:
        yield unit
        yield from iter_units(unit.subagents)


def sum_unit_usage(units: Iterable[Unit]) -> Usage:
    """The tokens of all messages that stand in these units, each message once."""
    found = _max_usage_by_message(p for unit in units for p in unit.entries).values()
    return add_usage(found)


def add_usage(usages: Iterable[Usage]) -> Usage:
    """All of them together."""
    total = Usage()
    for each in usages:
        total = Usage(
            total.input_tokens + each.input_tokens,
            total.output_tokens + each.output_tokens,
            total.cache_read_tokens + each.cache_read_tokens,
            total.cache_write_tokens + each.cache_write_tokens,
        )
    return total


def get_full_text(record: Record) -> str:
    """What the record says, also where the agent kept it in a file of its own."""
    return record.spilled or record.content


def parse_input(record: Record) -> dict[str, Any]:
    """The call's arguments by name; those without names stand under `input`.

    So does the text of those that are no JSON, or too deep for some readers.
    """
    text = record.tool_input
    if not text:
        return {}
    try:
        given = json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        given = text
    if text.count("[") + text.count("{") > _MAX_DEPTH and _is_deep(given):
        given = text
    return given if isinstance(given, dict) else {"input": given}


def _is_deep(value: Any) -> bool:
    floor = [value]
    for _ in range(_MAX_DEPTH):
        below = [
            each.values() if isinstance(each, dict) else each
            for each in floor
            if isinstance(each, (dict, list))
        ]
        floor = [item for items in below for item in items]
    return bool(floor)


def find_version(units: Iterable[Unit]) -> str:
    """The agent's version, as its log told last."""
    told = [p.record.metadata.get("version") for u in units for p in u.entries]
    return next((str(version) for version in reversed(told) if version), "")


class _TurnBuilder:
    """Goes through a stream once and remembers what was told already."""

    def __init__(self, units: Sequence[Unit]) -> None:
        entries = [placed for unit in units for placed in unit.entries]
        self._usage = _max_usage_by_message(entries)
        self._results: dict[str, PlacedRecord] = {}
        calls = {p.record.tool_call_id for p in entries if p.record.type == "tool_use"}
        for placed in entries:
            call = placed.record.tool_call_id
            if placed.record.type == "tool_result" and call in calls:
                self._results.setdefault(call, placed)
        self._result_ids = {id(placed) for placed in self._results.values()}

    def build(self, unit: Unit) -> UnitTurns:
        """The unit's turns in order."""
        turns: list[Turn] = []
        waiting = list(unit.subagents)
        is_open = False
        for placed in unit.entries:
            record = placed.record
            if id(placed) in self._result_ids:
                is_open = bool(turns and turns[-1].placed.record.message_id)
            elif record.type in _ASSISTANT_TYPES:
                if not (is_open and turns and _continues(turns[-1], record)):
                    turns.append(Turn("assistant", placed))
                self._add_to_turn(turns[-1], placed, waiting)
                is_open = True
            elif record.type != "token_usage":
                speaker = _SPEAKERS[record.type]
                turns.append(Turn(speaker, placed, [get_full_text(record)]))
                is_open = speaker == "event" and is_open
            self._add_usage(turns, placed)
        return UnitTurns(unit, tuple(turns), tuple(waiting))

    def _add_to_turn(
        self, turn: Turn, placed: PlacedRecord, waiting: list[Unit]
    ) -> None:
        record = placed.record
        turn.model = record.model or turn.model
        if record.type == "tool_use":
            call = record.tool_call_id
            mine = [u for u in waiting if call and u.summary.spawn_call_id == call]
            for child in mine:
                waiting.remove(child)
            turn.calls.append(
                ToolInvocation(placed, self._results.pop(call, None), mine)
            )
        elif record.content.strip():
            into = turn.thinking_texts if record.type == "thinking" else turn.texts
            into.append(record.content)

    def _add_usage(self, turns: list[Turn], placed: PlacedRecord) -> None:
        """Tokens belong to the assistant's turn that they are told with, or behind."""
        if not placed.record.usage:
            return
        usage = self._usage.pop(_message_key(placed), None)
        spoken = [turn for turn in turns if turn.speaker == "assistant"]
        if usage and spoken:
            spoken[-1].usage = add_usage([spoken[-1].usage or Usage(), usage])


def _continues(turn: Turn, record: Record) -> bool:
    """Whether the record belongs to the message that the turn tells."""
    if turn.speaker != "assistant":
        return False
    known = turn.placed.record.message_id
    if known or record.message_id:
        return known == record.message_id
    return not (record.type != "tool_use" and (turn.texts or turn.calls))


def _message_key(placed: PlacedRecord) -> tuple[str, str]:
    record = placed.record
    request = str(record.metadata.get("request_id") or "")
    return (record.message_id or f"entry:{placed.entry_id}", request)


def _max_usage_by_message(
    entries: Iterable[PlacedRecord],
) -> dict[tuple[str, str], Usage]:
    """The tokens of each message: the largest that any of its records told."""
    found: dict[tuple[str, str], Usage] = {}
    for placed in entries:
        if placed.record.usage:
            key = _message_key(placed)
            found[key] = found.get(key, Usage()).max(placed.record.usage)
    return found
