"""Records grouped into messages: speaker, texts, tool calls and their results.

Agents log one API message as several records, and the result of a call later. Sinks
whose format has whole messages share the grouping in this module.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, field

from leslied.model.record import Usage
from leslied.sessions.calls import CallResults
from leslied.sessions.turns import AGENT_OUTPUT_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from leslied.model.record import PlacedRecord, Record
    from leslied.model.session import Unit

Speaker = Literal["user", "assistant", "tool", "event", "error", "unknown"]
_MAX_DEPTH = 100
"""Maximum nesting of call arguments.

Some JSON readers stop at 200 levels, and sinks nest the arguments in their documents.
"""
_SPEAKERS: dict[str, Speaker] = {
    "user_message": "user",
    "system_event": "event",
    "error": "error",
    "unknown": "unknown",
}


class ToolInvocation(Struct):
    """A tool call with its result, and the subagents it spawned."""

    placed: PlacedRecord
    result: PlacedRecord | None = None
    subagents: list[Unit] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Tool name, on one line."""
        return " ".join(self.placed.record.tool_name.split()) or "unknown"

    @property
    def call_id(self) -> str:
        """Id of the call; if the log has none, an id derived from its entry."""
        return self.placed.record.tool_call_id or f"call-{self.placed.entry_id[:12]}"

    @property
    def output(self) -> str:
        """Full output of the tool."""
        return get_full_text(self.result.record) if self.result else ""

    @property
    def report_or_output(self) -> str:
        """What the tool or subagent reported, without what the client added to it."""
        return get_report_or_text(self.result.record) if self.result else ""

    @property
    def is_error(self) -> bool:
        """Whether the tool reported a failure."""
        return bool(self.result and self.result.record.metadata.get("is_error"))


class SpeakerMessage(Struct):
    """One message of one speaker; for an assistant, one API message."""

    speaker: Speaker
    placed: PlacedRecord
    """First record of the message."""
    texts: list[str] = field(default_factory=list)
    thinking_texts: list[str] = field(default_factory=list)
    calls: list[ToolInvocation] = field(default_factory=list)
    usage: Usage | None = None
    model: str = ""

    @property
    def text(self) -> str:
        """All texts of the message."""
        return "\n\n".join(self.texts)

    @property
    def thinking(self) -> str:
        """All thinking texts of the message."""
        return "\n\n".join(self.thinking_texts)

    @property
    def event_kind(self) -> str:
        """Kind of the event; empty if the message is not an event."""
        return str(self.placed.record.metadata.get("kind", ""))

    @property
    def time(self) -> datetime:
        """Time in the log, else the time at which the entry was read."""
        return self.placed.record.created_at or self.placed.observed_at


class UnitMessages(Struct, frozen=True):
    """The messages of one unit, and the subagents that none of its calls spawned."""

    unit: Unit
    messages: tuple[SpeakerMessage, ...]
    subagents: tuple[Unit, ...]


def make_unit_messages(units: Sequence[Unit]) -> tuple[UnitMessages, ...]:
    """Group the records of a session's or a subagent's units into messages.

    The tokens of a message are counted only once.
    """
    builder = _MessageBuilder(units)
    return tuple(builder.build(unit) for unit in units)


def iter_units(units: Iterable[Unit]) -> Iterator[Unit]:
    """Yield every unit, followed by its subagents, recursively."""
    for unit in units:
        yield unit
        yield from iter_units(unit.subagents)


def sum_unit_usage(units: Iterable[Unit]) -> Usage:
    """Return the tokens of all messages in these units, each message once."""
    usages = _find_message_usages(p for unit in units for p in unit.entries).values()
    return sum_usages(usages)


def sum_usages(usages: Iterable[Usage]) -> Usage:
    """Return the sum of the usages, for each kind of token."""
    total = Usage()
    for usage in usages:
        total = Usage(
            total.input_tokens + usage.input_tokens,
            total.output_tokens + usage.output_tokens,
            total.cache_read_tokens + usage.cache_read_tokens,
            total.cache_write_tokens + usage.cache_write_tokens,
        )
    return total


def get_full_text(record: Record) -> str:
    """Return the record's text, from its side file if there is one."""
    return record.spilled or record.content


def get_report_or_text(record: Record) -> str:
    """Return the text of a tool or subagent without what the client wrapped around it.

    If the client added nothing, or the record is no result, return its full text.
    """
    report = record.metadata.get("report")
    return str(report) if report else get_full_text(record)


def find_export_origin(placed: PlacedRecord, unit: Unit) -> str:
    """Return the origin of a user message as an export should name it.

    It is empty for a plain prompt, and for a record that is not a user message. A
    message that does not start its unit is `queued`, whatever its own origin is,
    because programs that read the export start a unit at every plain prompt.
    """
    origin = str(placed.record.metadata.get("origin", ""))
    if not origin:
        return ""
    messages = (p for p in unit.entries if p.record.type == "user_message")
    first = next(messages, placed)
    if first.entry_id != placed.entry_id:
        return "queued"
    return "" if origin in ("prompt", "task") else origin


def parse_input(record: Record) -> dict[str, Any]:
    """Return the call's arguments by name.

    Arguments that are not a JSON object get the name `input`. They remain text if they
    are not JSON, or are nested too deeply for some readers.
    """
    text = record.tool_input
    if not text:
        return {}
    try:
        arguments = json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        arguments = text
    if text.count("[") + text.count("{") > _MAX_DEPTH and _is_too_deep(arguments):
        arguments = text
    return arguments if isinstance(arguments, dict) else {"input": arguments}


def _is_too_deep(value: Any) -> bool:
    """Return whether the value has more than `_MAX_DEPTH` levels of nesting."""
    level = [value]
    for _ in range(_MAX_DEPTH):
        children = [
            item.values() if isinstance(item, dict) else item
            for item in level
            if isinstance(item, (dict, list))
        ]
        level = [child for group in children for child in group]
    return bool(level)


def find_version(units: Iterable[Unit]) -> str:
    """Return the last agent version in the log; empty if there is none."""
    versions = [p.record.metadata.get("version") for u in units for p in u.entries]
    return next((str(version) for version in reversed(versions) if version), "")


class _MessageBuilder:
    """Builder of the messages of one session or subagent; uses each result once."""

    def __init__(self, units: Sequence[Unit]) -> None:
        entries = [placed for unit in units for placed in unit.entries]
        self._remaining_usages = _find_message_usages(entries)
        """Usage of each message that `build` has not counted yet, by key."""
        self._results = CallResults(entries)

    def build(self, unit: Unit) -> UnitMessages:
        """Return the unit's messages in order.

        A result whose call is in the unit is part of the call, not a separate message.
        """
        messages: list[SpeakerMessage] = []
        unlinked_subagents = list(unit.subagents)
        # Whether the next output of the agent may belong to the last message; after a
        # result, only a message id can tell.
        is_message_open = False
        for placed in unit.entries:
            record = placed.record
            if self._results.is_joined(placed):
                is_message_open = bool(
                    messages and messages[-1].placed.record.message_id
                )
            elif record.type in AGENT_OUTPUT_TYPES:
                if not (
                    is_message_open
                    and messages
                    and _is_same_message(messages[-1], record)
                ):
                    messages.append(SpeakerMessage("assistant", placed))
                self._add_to_message(messages[-1], placed, unlinked_subagents)
                is_message_open = True
            elif record.type != "token_usage":
                speaker = "tool" if record.is_output else _SPEAKERS[record.type]
                messages.append(
                    SpeakerMessage(speaker, placed, [get_full_text(record)])
                )
            self._add_usage(messages, placed)
        return UnitMessages(unit, tuple(messages), tuple(unlinked_subagents))

    def _add_to_message(
        self,
        message: SpeakerMessage,
        placed: PlacedRecord,
        unlinked_subagents: list[Unit],
    ) -> None:
        """Add an assistant's text, or a call with its result and its subagents.

        The call's subagents are removed from `unlinked_subagents`.
        """
        record = placed.record
        message.model = record.model or message.model
        if record.type == "tool_use":
            call_id = record.tool_call_id
            spawned = [
                child
                for child in unlinked_subagents
                if call_id and child.summary.spawn_call_id == call_id
            ]
            for child in spawned:
                unlinked_subagents.remove(child)
            message.calls.append(
                ToolInvocation(placed, self._results.find_result(placed), spawned)
            )
        elif record.content.strip():
            texts = (
                message.thinking_texts if record.type == "thinking" else message.texts
            )
            texts.append(record.content)

    def _add_usage(self, messages: list[SpeakerMessage], placed: PlacedRecord) -> None:
        """Add the tokens of the record's message to the last assistant message."""
        if not placed.record.usage:
            return
        usage = self._remaining_usages.pop(_make_message_key(placed), None)
        assistant_messages = (m for m in reversed(messages) if m.speaker == "assistant")
        if usage and (message := next(assistant_messages, None)):
            message.usage = sum_usages([message.usage or Usage(), usage])


def _is_same_message(message: SpeakerMessage, record: Record) -> bool:
    """Return whether the record continues this assistant message.

    In a log without message ids, each text after a text or a call is a new message.
    """
    if message.speaker != "assistant":
        return False
    message_id = message.placed.record.message_id
    if message_id or record.message_id:
        return message_id == record.message_id
    is_new_text = record.type != "tool_use" and (message.texts or message.calls)
    return not is_new_text


def _make_message_key(placed: PlacedRecord) -> tuple[str, str]:
    """Return a key of the record's API message: the ids of message and request."""
    record = placed.record
    request = str(record.metadata.get("request_id") or "")
    return (record.message_id or f"entry:{placed.entry_id}", request)


def _find_message_usages(
    entries: Iterable[PlacedRecord],
) -> dict[tuple[str, str], Usage]:
    """Return the usage of each message, by key: the maximum over its records."""
    usages: dict[tuple[str, str], Usage] = {}
    for placed in entries:
        if placed.record.usage:
            key = _make_message_key(placed)
            usages[key] = usages.get(key, Usage()).max(placed.record.usage)
    return usages
