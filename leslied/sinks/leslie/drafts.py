"""The blocks of a unit before they are made.

Most blocks of a long unit are omitted. So each is a draft first, which knows its kind
and its text. The text is redacted and shortened only if the block is shown.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from leslied.control_characters import format_one_line
from leslied.model.omitted_text import add_prefix, load_whole
from leslied.rendering.events import EventFinder
from leslied.rendering.messages import get_report_or_text
from leslied.rendering.transcript_document import (
    AssistantBlock,
    CallBlock,
    CompactedBlock,
    ErrorBlock,
    NotificationBlock,
    ResultBlock,
    SubagentBlock,
    UserBlock,
)
from leslied.sessions.calls import number_parallel_calls
from leslied.sinks.leslie.truncate import (
    Excerpt,
    NoRedaction,
    TextRedactor,
    take_start,
    take_whole,
    truncate_characters,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import tzinfo

    from leslied.model.record import PlacedRecord, Record
    from leslied.model.session import Unit
    from leslied.rendering.events import ShownEvent
    from leslied.rendering.transcript_document import TranscriptBlock

_ENTRY_ID_DIGITS = 12
"""Digits of an entry's id in a note: enough to find it among millions of entries."""
_NO_RESULT = "(no result)"
"""Shown as the result of a call that has none, because the agent was stopped."""
_FAILED = "(failed)"
_FAILURE_PREFIXES = ("Exit code ", "Error", "error", "API Error")
"""Beginnings of results from which a reader sees that the call failed."""


@dataclass(frozen=True, slots=True)
class TranscriptLimits:
    """Limits of a transcript."""

    params: int = 200
    """Characters of the parameters of a call."""
    result: int = 200
    """Characters of a result."""
    query: int = 4096
    """Bytes of the prompt."""
    file: int = 20_480
    """Bytes of the file."""
    include_thinking: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptOptions:
    """Inputs of a document that its unit does not contain."""

    thread_id: str
    zone: tzinfo
    limits: TranscriptLimits = field(default_factory=TranscriptLimits)
    redactor: TextRedactor = field(default_factory=NoRedaction)
    """Replaces secrets in the texts shown; the default is for a redacted unit."""
    parent_chat_id: str = ""
    subagent_files: Mapping[str, str] = field(default_factory=dict)
    """File name of each subagent's transcript, by subagent id."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A block that is not made yet."""

    kind: type[TranscriptBlock]
    function: Callable[..., TranscriptBlock]
    """Returns the block for the arguments. A closure would take twice the memory."""
    arguments: tuple[Any, ...] = ()
    text: str = ""
    """The text of the block: whole, and with its secrets."""

    def make(self) -> TranscriptBlock:
        """Return the block."""
        return self.function(*self.arguments)


def make_drafts(unit: Unit, options: TranscriptOptions) -> Iterator[Draft]:
    """Yield drafts of the unit's blocks.

    The draft of a subagent follows that of its call; without a call, it comes last.
    """
    children_by_call: dict[str, list[Unit]] = {}
    for child in unit.subagents:
        children_by_call.setdefault(child.summary.spawn_call_id, []).append(child)
    entries = unit.own_entries
    indexes = number_parallel_calls(entries)
    answered_ids = {
        p.record.tool_call_id for p in entries if p.record.type == "tool_result"
    }
    events = EventFinder()
    maker = _DraftMaker(options)
    for position, placed in enumerate(entries):
        record = placed.record
        event, index = events.find_event(record), indexes.get(position, 0)
        if event:
            draft = maker.make_event_draft(event, placed)
        else:
            draft = maker.make_draft(placed, index)
        if draft:
            yield draft
        if record.type == "tool_use" and record.tool_call_id:
            for child in children_by_call.pop(record.tool_call_id, ()):
                yield maker.make_subagent_draft(child)
            if record.tool_call_id not in answered_ids:
                yield maker.make_missing_result_draft(record, index)
    for unlinked_children in children_by_call.values():
        for child in unlinked_children:
            yield maker.make_subagent_draft(child)


@dataclass(frozen=True, slots=True)
class _DraftMaker:
    """Maker of the drafts of one document."""

    options: TranscriptOptions
    _shown_lines: dict[str, str] = field(default_factory=dict)
    """Redacted form of each name and id that was shown before."""

    @property
    def limits(self) -> TranscriptLimits:
        return self.options.limits

    def make_draft(self, placed: PlacedRecord, index: int) -> Draft | None:
        """Return the record's draft, or None if transcripts do not show the record.

        `index` is the number of the call among parallel calls of its tool, or 0.
        """
        record = placed.record
        match record.type:
            case "user_message":
                return self._make_text_draft(UserBlock, record.content)
            case "assistant_message" if record.content.strip():
                return self._make_text_draft(AssistantBlock, record.content)
            case "thinking" if self.limits.include_thinking and record.content.strip():
                text = add_prefix("(thinking)\n", record.content)
                return self._make_text_draft(AssistantBlock, text)
            case "tool_use":
                make_call, arguments = _DraftMaker._make_call, (self, placed, index)
                return Draft(CallBlock, make_call, arguments, record.tool_input)
            case "tool_result" | "system_event" if record.is_output:
                make_result, arguments = _DraftMaker._make_result, (self, placed, index)
                text = get_report_or_text(record)
                return Draft(ResultBlock, make_result, arguments, text)
            case "error":
                return self._make_text_draft(ErrorBlock, record.content)
            case _:
                return None

    def make_event_draft(self, event: ShownEvent, placed: PlacedRecord) -> Draft | None:
        """Return the event's draft, or None if transcripts do not show the event."""
        if event.kind == "compacted" and event.text:
            return Draft(CompactedBlock, CompactedBlock)
        if event.kind != "notification":
            return None
        text = event.text
        if event.detail:
            text = f"{text.rstrip('.')}: {event.detail}"
        return Draft(NotificationBlock, self._make_notification, (text, placed), text)

    def make_subagent_draft(self, child: Unit) -> Draft:
        """Return a draft that names a subagent and its file."""
        name = child.summary.subagent_id
        file = self.options.subagent_files.get(name, "-")
        return Draft(
            SubagentBlock, lambda: SubagentBlock(self._format_line(name), file)
        )

    def make_missing_result_draft(self, call: Record, index: int) -> Draft:
        """Return a draft that stands for the result of a call without one."""
        return Draft(
            ResultBlock,
            lambda: ResultBlock(self._format_tool_name(call), _NO_RESULT, index),
        )

    def _make_text_draft(
        self, kind: type[UserBlock | AssistantBlock | ErrorBlock], text: str
    ) -> Draft:
        redactor = self.options.redactor
        return Draft(kind, _make_text_block, (kind, text, redactor), text)

    def _make_call(self, placed: PlacedRecord, index: int) -> CallBlock:
        params = load_whole(placed.record.tool_input)
        excerpt = take_start(params, self.limits.params, self.options.redactor)
        one_line = excerpt._replace(text=excerpt.text.replace("\n", " "))
        text = _truncate(one_line, self.limits.params, placed)
        return CallBlock(self._format_tool_name(placed.record), text, index)

    def _make_result(self, placed: PlacedRecord, index: int) -> ResultBlock:
        result = load_whole(get_report_or_text(placed.record))
        excerpt = take_start(result, self.limits.result, self.options.redactor)
        marked = excerpt._replace(text=_mark_failure(placed.record, excerpt.text))
        text = _truncate(marked, self.limits.result, placed)
        return ResultBlock(self._format_tool_name(placed.record), text, index)

    def _make_notification(self, text: str, placed: PlacedRecord) -> NotificationBlock:
        limit, redactor = self.limits.result, self.options.redactor
        excerpt = take_start(text, limit, redactor, format_one_line)
        return NotificationBlock(_truncate(excerpt, limit, placed))

    def _format_tool_name(self, record: Record) -> str:
        return self._format_line(record.tool_name) or "unknown"

    def _format_line(self, text: str) -> str:
        # Logs choose names and ids, and a line end in one would start another block.
        if text not in self._shown_lines:
            self._shown_lines[text] = format_one_line(
                self.options.redactor.redact(text)
            )
        return self._shown_lines[text]


def _make_text_block(
    kind: type[UserBlock | AssistantBlock | ErrorBlock],
    text: str,
    redactor: TextRedactor,
) -> UserBlock | AssistantBlock | ErrorBlock:
    return kind(take_whole(load_whole(text), redactor).text)


def _mark_failure(record: Record, text: str) -> str:
    """Prefix a failed call's result with `(failed)`, unless it shows the failure."""
    if not record.metadata.get("is_error") or text.startswith(_FAILURE_PREFIXES):
        return text
    return f"{_FAILED} {text}".rstrip()


def _truncate(excerpt: Excerpt, limit: int, placed: PlacedRecord) -> str:
    """Shorten a text of the entry, and name the command that shows the entry."""
    command = f"leslied show {placed.entry_id[:_ENTRY_ID_DIGITS]}"
    return truncate_characters(excerpt, limit, command)
