"""A transcript as data: header fields and blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class UserBlock:
    """A prompt."""

    text: str


@dataclass(frozen=True, slots=True)
class AssistantBlock:
    """An answer."""

    text: str


@dataclass(frozen=True, slots=True)
class CallBlock:
    """A tool call; the name is one line, the parameters are JSON."""

    name: str
    text: str
    index: int = 0
    """Number among parallel calls of one tool, from 1; 0 if the call ran alone."""


@dataclass(frozen=True, slots=True)
class SubagentBlock:
    """A subagent that a call spawned, and the file with its transcript.

    Both are on one line, and the name of the file has no spaces.
    """

    subagent_id: str
    file: str


@dataclass(frozen=True, slots=True)
class ResultBlock:
    """The result of a tool call."""

    name: str
    text: str
    index: int = 0
    """The index of its call."""


@dataclass(frozen=True, slots=True)
class ErrorBlock:
    """An error."""

    text: str


@dataclass(frozen=True, slots=True)
class NotificationBlock:
    """A message on one line that the agent got from its client, not from a person."""

    text: str


@dataclass(frozen=True, slots=True)
class CompactedBlock:
    """A mark where the agent's context was replaced by a summary."""


@dataclass(frozen=True, slots=True)
class CutBlock:
    """A mark in place of blocks that were omitted to keep the file small."""

    omitted_blocks: int
    omitted_bytes: int
    chat_id: str
    """Chat for which `leslied show --full` prints all blocks."""


TranscriptBlock = (
    UserBlock
    | AssistantBlock
    | CallBlock
    | SubagentBlock
    | ResultBlock
    | ErrorBlock
    | NotificationBlock
    | CompactedBlock
    | CutBlock
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptDocument:
    """One unit for people to read. Times are whole seconds in a local time zone."""

    thread_id: str
    chat_id: str
    started_at: datetime | None
    ended_at: datetime | None
    agent_mode: str
    stop_reason: str
    tool_calls: int
    source: str = ""
    """`subagent:` and the subagent's id; empty for a unit of the session itself."""
    parent_chat_id: str = ""
    is_rewound: bool = False
    blocks: tuple[TranscriptBlock, ...] = ()
