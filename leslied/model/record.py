"""The normalized record: one flat form for every agent.

The nouns that are made for every line of a log are msgspec structs: frozen like the
others, and ten times cheaper to make.
"""

from __future__ import annotations

import hashlib
from operator import add
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import astuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

RecordType = Literal[
    "user_message",
    "assistant_message",
    "tool_use",
    "tool_result",
    "thinking",
    "system_event",
    "token_usage",
    "error",
    "unknown",
]
Role = Literal["system", "user", "assistant", "tool"]
EventKind = Literal[
    "opened",
    "context",
    "title",
    "subagent_linked",
    "rewound",
    "compacted",
    "turn_ended",
    "ended",
    "notice",
]
Origin = Literal["prompt", "command", "shell", "queued", "task"]
"""Whose words a user message holds: typed, `/name`, `! cmd`, typed while the agent
worked, or the task text a subagent was given."""

TURN_ENDS = ("end_turn", "stop_sequence")
"""Stop reasons of a message after which the agent waits for the next prompt."""
MAIN = "main"


class SessionKey(NamedTuple):
    """One stream of entries: a conversation, or one subagent of it."""

    agent: str
    session_id: str
    source: str = MAIN

    @property
    def subagent_id(self) -> str:
        """The subagent's own id; empty for a main session."""
        return self.source.partition(":")[2]


class Usage(Struct, frozen=True):
    """Tokens of one API message."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cache_write_1h_tokens: int = 0
    """Those of the cache writes that are kept for an hour, at a price of their own."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(*map(add, astuple(self), astuple(other)))

    def max(self, other: Usage) -> Usage:
        """The larger of both, number by number."""
        return Usage(*map(max, astuple(self), astuple(other)))

    def __bool__(self) -> bool:
        """A message that cost nothing has no usage."""
        return bool(
            self.input_tokens
            or self.output_tokens
            or self.cache_read_tokens
            or self.cache_write_tokens
        )


class Record(Struct, frozen=True, kw_only=True):
    """What one entry, or one block of it, means."""

    session: SessionKey
    type: RecordType
    role: Role
    content: str = ""
    native_id: str = ""
    """The log's own id; empty where the line has none."""
    scope: str = ""
    """Where the native id is unique: everywhere (empty), or in this session only."""
    block: int = 0
    created_at: datetime | None = None
    tool_name: str = ""
    tool_call_id: str = ""
    tool_input: str = ""
    """The call's arguments as the JSON text that stood in the log."""
    model: str = ""
    usage: Usage | None = None
    message_id: str = ""
    parent_id: str = ""
    metadata: Mapping[str, Any] = {}
    is_copy: bool = False
    """A second-hand copy, shown only while the original is missing."""
    is_repeat: bool = False
    """Told again by a later entry, perhaps cut: adds what is missing, no more."""
    spilled: str = ""
    """The whole text of a tool result that the agent kept in a file of its own."""


class DecodeResult(Struct, frozen=True, kw_only=True):
    """What an adapter made of one entry."""

    records: tuple[Record, ...] = ()
    state: dict[str, Any]
    noise: str = ""
    """The kind of an entry that is recognised and not worth a record."""
    cwd: str = ""
    """The folder the session works in, as far as this source has told."""


class PlacedRecord(Struct, frozen=True, kw_only=True):
    """A stored record where it stands in a session."""

    record: Record
    entry_id: str
    sequence: int
    unit: int
    placement: int
    """The store's number of this standing place: later ones are larger."""
    observed_at: datetime
    decoder_version: int
    path: str
    generation: int
    offset: int
    length: int


def make_record_id(agent: str, native_id: str, block: int, scope: str = "") -> bytes:
    """The id of a record whose entry carries one: the same for ever, in any file."""
    text = f"{agent}\0{scope}\0{native_id}\0{block}"
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=16).digest()


def make_chat_id(agent: str, session_id: str, prompt_id: str) -> str:
    """The id of the unit that a prompt starts."""
    text = f"{agent}\0{session_id}\0{prompt_id}"
    return "chat-" + hashlib.sha256(text.encode(errors="replace")).hexdigest()[:12]
