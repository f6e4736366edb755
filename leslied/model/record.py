"""Define the normalized record, the same for every agent.

Types with one instance per log line are msgspec structs: frozen like the others, and
ten times cheaper to create. As arrays, they are also cheap to send to another process;
msgspec needs the types of their fields for that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping  # noqa: TC003 - a field's type
from datetime import datetime  # noqa: TC003 - a field's type
from operator import add
from typing import Any, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import astuple

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
"""How a user message came about: a typed prompt, a `/name` command, a `! cmd` shell
command, a prompt typed while the agent worked, or the task of a subagent.
"""

SHELL = "shell"
"""The `tool_name` of the output of a `! cmd` shell command."""
INJECT = "leslied inject"
"""The `tool_name` of messages that were injected."""

MAIN = "main"
"""The `source` of a session key that is not a subagent's."""


class SessionKey(NamedTuple):
    """Identity of one stream of entries: a session, or one subagent of it."""

    agent: str
    session_id: str
    source: str = MAIN
    """`main` or `subagent:<id>`, as in the JSON of a record; not a source file."""

    @property
    def subagent_id(self) -> str:
        """The subagent's own id; empty for a main session."""
        return self.source.partition(":")[2]


class Usage(Struct, frozen=True, array_like=True):
    """Token counts of one API message."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cache_write_1h_tokens: int = 0
    """The part of the cache writes with a one-hour lifetime and its own price."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(*map(add, astuple(self), astuple(other)))

    def max(self, other: Usage) -> Usage:
        """Return the larger count of the two usages for each kind of token."""
        return Usage(*map(max, astuple(self), astuple(other)))

    @property
    def total_tokens(self) -> int:
        """Number of tokens of all kinds."""
        cache_tokens = self.cache_read_tokens + self.cache_write_tokens
        return self.input_tokens + self.output_tokens + cache_tokens

    def __bool__(self) -> bool:
        """Return whether any token was used."""
        return bool(
            self.input_tokens
            or self.output_tokens
            or self.cache_read_tokens
            or self.cache_write_tokens
        )


class Record(Struct, frozen=True, kw_only=True, array_like=True):
    """Normalized form of one entry, or of one block of it."""

    session: SessionKey
    type: RecordType
    role: Role
    content: str = ""
    native_id: str = ""
    """The id that the agent gave the entry; empty if it has none."""
    scope: str = ""
    """The session in which the native id is unique; empty if it is globally unique."""
    block: int = 0
    """Number of the record within its entry; part of the record's id."""
    created_at: datetime | None = None
    tool_name: str = ""
    """The tool of a call or result; for an event with output, its origin.

    Such output is shown to people. It is that of a shell command that a person ran
    (`SHELL`), or a message that was injected (`INJECT`).
    """
    tool_call_id: str = ""
    tool_input: str = ""
    """The call's arguments as JSON text."""
    model: str = ""
    usage: Usage | None = None
    message_id: str = ""
    """Id of the API message; records with the same id share one usage."""
    parent_id: str = ""
    """The native id of the entry that this one follows."""
    metadata: Mapping[str, Any] = {}
    is_copy: bool = False
    """True if the original is in another log.

    Copies are hidden if their session has records that are not copies.
    """
    is_repeat: bool = False
    """True if the record may repeat an earlier one, perhaps truncated; stored only if
    the earlier one is missing.
    """
    spilled: str = ""
    """The full text of a tool result that the agent saved in a separate file."""

    @property
    def is_output(self) -> bool:
        """True for a tool result, and for an event that holds a program's output."""
        is_event = self.type == "system_event"
        return self.type == "tool_result" or (is_event and bool(self.tool_name))


RECORD_TEXTS = ("content", "tool_name", "model", "tool_input", "spilled")
"""Fields of a record with text from the log, which may contain secrets."""
RECORD_IDS = ("native_id", "scope", "message_id", "parent_id", "tool_call_id")
"""Fields of a record with ids from the log. They hardly ever contain a secret."""


class DecodeResult(Struct, frozen=True, kw_only=True):
    """What an adapter decoded from one entry."""

    records: tuple[Record, ...] = ()
    state: dict[str, Any]
    """The state for the source's next entry."""
    noise: str = ""
    """The kind of noise, if all or a part of the entry is not worth a record."""
    cwd: str = ""
    """The session's working directory; empty if the source has not named it yet."""


class PlacedRecord(Struct, frozen=True, kw_only=True):
    """A stored record with its placement: its position in a session and a source."""

    record: Record
    entry_id: str
    sequence: int
    """Position of the record in its session or subagent, from 1."""
    unit: int
    """Number of the record's unit; 0 before the first prompt."""
    read_order: int
    """Increases with every record that is read, across all sessions; each placement has
    its own. It sorts records, and readers of the change feed save it as their position.
    """
    observed_at: datetime
    decoder_version: int
    path: str
    generation: int
    offset: int
    length: int


def make_record_id(agent: str, native_id: str, block: int, scope: str = "") -> bytes:
    """Return the id of a record whose entry has a native id.

    The id depends only on the arguments, so it is the same in any file and at any time.
    """
    text = f"{agent}\0{scope}\0{native_id}\0{block}"
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=16).digest()
