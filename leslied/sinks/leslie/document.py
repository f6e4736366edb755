"""A transcript as data: a header and blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class User:
    """A prompt, in the person's words."""

    text: str


@dataclass(frozen=True, slots=True)
class Assistant:
    """An answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call; the name is one line, the parameters are JSON."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Subagent:
    """The subagent a call spawned, and the file that tells what it did."""

    subagent_id: str
    file: str


@dataclass(frozen=True, slots=True)
class Result:
    """A tool's answer."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Failure:
    """Something went wrong."""

    text: str


@dataclass(frozen=True, slots=True)
class Cut:
    """Blocks left out so that the file stays small, and where they can be read."""

    blocks: int
    size: int
    chat_id: str


Block = User | Assistant | Call | Subagent | Result | Failure | Cut


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One unit as people read it. Times are whole seconds, in the unit's zone."""

    thread_id: str
    chat_id: str
    started_at: datetime | None
    ended_at: datetime | None
    agent_mode: str
    stop_reason: str
    tool_calls: int
    source: str = ""
    parent_chat_id: str = ""
    blocks: tuple[Block, ...] = ()
