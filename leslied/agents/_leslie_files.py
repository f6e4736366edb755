"""Decode Leslie's transcripts and events; `docs/formats/leslie.md` documents them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from leslied.agents._entry import LogEntry, as_text
from leslied.agents._parsing import parse_object, parse_time, reject_entry
from leslied.model.record import MAIN, DecodeResult, SessionKey
from leslied.rendering.transcript_document import (
    AssistantBlock,
    CallBlock,
    CompactedBlock,
    CutBlock,
    ErrorBlock,
    NotificationBlock,
    ResultBlock,
    SubagentBlock,
    UserBlock,
)
from leslied.rendering.transcript_text import parse_document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.record import Record
    from leslied.model.source import RawEntry
    from leslied.rendering.transcript_document import (
        TranscriptBlock,
        TranscriptDocument,
    )

_STOP_REASONS = ("end_turn", "max_tokens")
_NO_TURN_END = ("idle", "unknown", "")
"""Stop reasons of a unit whose turn is not known to have ended."""


def decode_transcript(entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
    """Decode a transcript: one unit of a thread, or one subagent."""
    text = entry.data.decode(errors="replace")
    # Leslie itself writes no blank line after the rule.
    head, rule, body = text.partition("\n---\n")
    if rule and not body.startswith("\n"):
        text = f"{head}{rule}\n{body}"
    try:
        document = parse_document(text if text.endswith("\n") else text + "\n")
    except ValueError as error:
        reject_entry(f"not a transcript: {error}")
    agent = entry.source.agent
    key = SessionKey(agent, document.thread_id, document.source or MAIN)
    if key.source != MAIN and not key.subagent_id:
        reject_entry("a subagent without an id")
    records = tuple(_Transcript(document, key).decode())
    return DecodeResult(records=records, state=state)


@dataclass(slots=True)
class _Transcript:
    """One transcript; each block becomes a record."""

    document: TranscriptDocument
    key: SessionKey
    open_calls: list[tuple[str, int, str]] = field(default_factory=list)
    """Name, index and id of the calls without a result."""
    last_call_id: str = ""
    has_prompt: bool = False

    def decode(self) -> Iterator[Record]:
        """Yield the records of all blocks."""
        document = self.document
        entry = LogEntry(
            key=self.key,
            native_id=document.chat_id,
            scope=document.thread_id,
            created_at=document.started_at,
        )
        if document.is_rewound:
            yield entry.make_event("notice", block=0, note="rewound")
        last = len(document.blocks)
        for number, block in enumerate(document.blocks, 1):
            if number == last:
                entry = replace(entry, created_at=document.ended_at)
            yield self._decode_block(entry, block, number, is_last=number == last)
        if self._needs_end_event():
            note = "interrupt" if document.stop_reason == "cancelled" else ""
            yield entry.make_event(
                "turn_ended",
                block=last + 1,
                note=note,
                stop_reason=document.stop_reason,
            )

    def _needs_end_event(self) -> bool:
        """Return whether an event must mark the turn's end, because no answer does.

        A transcript without blocks needs the event as its only record.
        """
        blocks, reason = self.document.blocks, self.document.stop_reason
        is_answer = bool(blocks) and isinstance(blocks[-1], AssistantBlock)
        ends_with_answer = is_answer and reason in _STOP_REASONS
        return not blocks or (not ends_with_answer and reason not in _NO_TURN_END)

    def _decode_block(
        self, entry: LogEntry, block: TranscriptBlock, number: int, *, is_last: bool
    ) -> Record:
        match block:
            case UserBlock(text):
                origin = "queued" if self.has_prompt and self.key.source == MAIN else ""
                self.has_prompt = True
                return entry.make_prompt(text, block=number, origin=origin)
            case AssistantBlock(text):
                reason = self.document.stop_reason
                is_end = is_last and reason in _STOP_REASONS
                stop_reason = reason if is_end else ""
                return entry.make_answer(text, block=number, stop_reason=stop_reason)
            case CallBlock(name, text, index):
                self.last_call_id = f"{entry.native_id}:{number}"
                self.open_calls.append((name, index, self.last_call_id))
                return entry.make_call(name, self.last_call_id, text, block=number)
            case ResultBlock(name, text, index):
                call_id = self._take_call(name, index)
                return entry.make_result(name, call_id, text, block=number)
            case ErrorBlock(text):
                return entry.make_record(
                    "error", "assistant", content=text, block=number
                )
            case SubagentBlock(subagent_id, _):
                return self._make_link(entry, subagent_id)
        return _decode_notice(entry, block, number)

    def _take_call(self, name: str, index: int) -> str:
        """Remove the first open call of this tool with this index, and return its id.

        Return "" if there is none.
        """
        for call in self.open_calls:
            if call[:2] == (name, index):
                self.open_calls.remove(call)
                return call[2]
        return ""

    def _make_link(self, entry: LogEntry, subagent_id: str) -> Record:
        """Return the link of a subagent to the call before it."""
        key = SessionKey(self.key.agent, self.key.session_id, f"subagent:{subagent_id}")
        link = replace(entry, key=key, native_id=f"link:{subagent_id}")
        return link.make_event(
            "subagent_linked",
            tool_call_id=self.last_call_id,
            parent_agent=self.key.subagent_id,
        )


def _decode_notice(entry: LogEntry, block: TranscriptBlock, number: int) -> Record:
    match block:
        case CompactedBlock():
            return entry.make_event("compacted", block=number)
        case NotificationBlock(text):
            return entry.make_event("notice", text, block=number, note="notification")
        case CutBlock(omitted_blocks, omitted_bytes, _):
            text = f"{omitted_blocks} blocks ({omitted_bytes} bytes) were left out"
            return entry.make_event("notice", text, block=number, note="cut")
    return entry.make_unknown(str(block), block=number)


def decode_event(entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
    """Decode one event of a worker, which runs the agent of a thread."""
    event = parse_object(entry.data)
    thread_id = as_text(event.get("threadId"))
    if not thread_id:
        reject_entry("an event without a thread")
    log_entry = LogEntry(
        key=SessionKey(entry.source.agent, thread_id),
        native_id="",
        created_at=parse_time(event.get("timestamp")),
    )
    record = _decode_event_by_type(log_entry, event, entry.data)
    return DecodeResult(records=(record,), state=state)


def _decode_event_by_type(
    log_entry: LogEntry, event: dict[str, Any], data: bytes
) -> Record:
    request_id = as_text(event.get("requestId"))
    match event.get("type"):
        case "thread_started":
            return log_entry.make_event("opened", note=as_text(event.get("source")))
        case "assistant_text":
            return log_entry.make_answer(as_text(event.get("text")))
        case "tool_request":
            return log_entry.make_call(as_text(event.get("toolName")), request_id, {})
        case "tool_decision":
            # The program's reader and writer disagree about the name of this field.
            names = ("decision", "behavior")
            decision = next((as_text(event[n]) for n in names if n in event), "")
            if decision == "deny":
                return log_entry.make_result("", request_id, "Denied.", is_error=True)
            return log_entry.make_event("notice", decision, note="tool_decision")
        case "worker_exit":
            reason = "" if event.get("success") is True else "error"
            return log_entry.make_event("ended", note=reason)
    return log_entry.make_unknown(data)
