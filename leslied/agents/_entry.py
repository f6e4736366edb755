"""Make the records of one entry, and read its fields leniently, for several agents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leslied.agents._parsing import format_size, to_json
from leslied.model.record import MAIN, Record

if TYPE_CHECKING:
    from datetime import datetime

    from leslied.model.record import EventKind, RecordType, Role, SessionKey, Usage

MAX_FOLDER_LENGTH = 800
"""A longer working directory is ignored, to keep the decode state small."""
_MAX_COUNT = 2**53
"""A larger number is corrupt, not a count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """The fields that all records of one entry, such as a message, share.

    The `block` that methods take tells the records of an entry apart; it is a part of
    their ids.
    """

    key: SessionKey
    native_id: str
    """The id that the agent gave the entry, or one made for it; empty for none."""
    created_at: datetime | None = None
    scope: str = ""
    """The id of the session or subagent in which the native id is unique."""
    parent_id: str = ""
    model: str = ""
    """The model of the agent's texts, thoughts and calls."""

    def make_record(self, type_: RecordType, role: Role, **fields: Any) -> Record:
        """Return a record; `fields` are added to the common ones or replace them."""
        common: dict[str, Any] = {
            "session": self.key,
            "native_id": self.native_id,
            "scope": self.scope,
            "created_at": self.created_at,
            "parent_id": self.parent_id,
        }
        return Record(type=type_, role=role, **{**common, **fields})

    def make_prompt(self, text: str, *, block: int = 0, origin: str = "") -> Record:
        """Return a prompt; in a subagent, its task."""
        default = "prompt" if self.key.source == MAIN else "task"
        metadata = {"origin": origin or default}
        return self.make_record(
            "user_message", "user", block=block, content=text, metadata=metadata
        )

    def make_answer(
        self, text: str, *, block: int = 0, stop_reason: str = ""
    ) -> Record:
        """Return a text of the agent; a stop reason marks the end of the turn."""
        metadata = {"stop_reason": stop_reason} if stop_reason else {}
        return self.make_record(
            "assistant_message",
            "assistant",
            block=block,
            content=text,
            model=self.model,
            metadata=metadata,
        )

    def make_thinking(self, text: str, *, block: int = 0) -> Record:
        """Return a thought of the agent."""
        return self.make_record(
            "thinking", "assistant", block=block, content=text, model=self.model
        )

    def make_call(
        self, name: str, call_id: str, arguments: Any, *, block: int = 0
    ) -> Record:
        """Return a tool call; if `arguments` is text, it must be JSON already."""
        tool_input = arguments if isinstance(arguments, str) else to_json(arguments)
        return self.make_record(
            "tool_use",
            "assistant",
            block=block,
            tool_name=name,
            tool_call_id=call_id,
            tool_input=tool_input,
            model=self.model,
        )

    def make_result(
        self, name: str, call_id: str, text: str, *, block: int = 0, **facts: Any
    ) -> Record:
        """Return the result of a tool call, with facts such as `is_error`."""
        return self.make_record(
            "tool_result",
            "tool",
            block=block,
            tool_name=name,
            tool_call_id=call_id,
            content=text,
            metadata=facts,
        )

    def make_event(
        self, kind: EventKind, content: str = "", *, block: int = 0, **facts: Any
    ) -> Record:
        """Return an event with all facts that are not empty."""
        present = {name: fact for name, fact in facts.items() if fact not in (None, "")}
        return self.make_record(
            "system_event",
            "system",
            block=block,
            content=content,
            metadata={"kind": kind, **present},
        )

    def make_side_title(self, title: str, kind: str) -> Record:
        """Return a title from outside the conversation.

        It belongs to no turn, and does not count as activity of the session.
        """
        return self.make_event("title", title, title_kind=kind, is_side=True)

    def make_usage(self, usage: Usage, message_id: str, *, block: int = 0) -> Record:
        """Return the tokens of the request or session that `message_id` names."""
        return self.make_record(
            "token_usage",
            "assistant",
            block=block,
            usage=usage,
            model=self.model,
            message_id=message_id,
        )

    def make_unknown(self, value: Any, *, block: int = 0, **facts: Any) -> Record:
        """Return a record of a value of an unknown kind, as text or JSON."""
        if isinstance(value, bytes):
            text = value.decode(errors="replace")
        else:
            text = value if isinstance(value, str) else to_json(value)
        return self.make_record(
            "unknown", "system", block=block, content=text, metadata=facts
        )


def as_text(value: object) -> str:
    """Return the value if it is text, or ""."""
    return value if isinstance(value, str) else ""


def as_dict(value: object) -> dict[str, Any]:
    """Return the value if it is an object, or an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """Return the value if it is a list, or an empty one."""
    return value if isinstance(value, list) else []


def as_count(value: object) -> int:
    """Return the value if it is a plausible count, or 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0
    return int(value) if 0 <= value < _MAX_COUNT else 0


def as_folder(value: object) -> str:
    """Return the value if it is text and not too long for a folder's path, or ""."""
    path = as_text(value)
    return path if len(path) <= MAX_FOLDER_LENGTH else ""


def get_side_file(state: dict[str, Any]) -> str:
    """Return the beginning of the source's side file, or "".

    leslied puts it into the decode state of a document and of a log's first line.
    """
    return as_text(state.get("beside"))


def drop_side_file(state: dict[str, Any]) -> dict[str, Any]:
    """Return the decode state without the text of the side file."""
    return {name: fact for name, fact in state.items() if name != "beside"}


def format_attachment(kind: str, media_type: object, data: object) -> str:
    """Return a placeholder for a file in a message: its type and its size.

    `data` is the file in base 64.
    """
    size = format_size(len(as_text(data)) * 3 // 4)
    return f"[{kind} {as_text(media_type) or 'data'}, {size}]"
