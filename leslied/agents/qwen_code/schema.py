"""Define a Qwen Code log line, and read its fields leniently."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leslied.agents._parsing import format_size, to_json
from leslied.model.record import Record, SessionKey, Usage

if TYPE_CHECKING:
    from datetime import datetime

    from leslied.model.record import EventKind, RecordType, Role

    State = dict[str, Any]

_MAX_TOKENS = 2**53
"""A larger number is corrupt, not a count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QwenLine:
    """One line of a log, or one message of a document."""

    value: dict[str, Any]
    """The parsed JSON object of the line."""
    key: SessionKey
    native_id: str
    created_at: datetime | None
    scope: str = ""

    @property
    def parts(self) -> list[dict[str, Any]]:
        """The parts of the message, as in the model's API."""
        message = as_dict(self.value.get("message"))
        return [
            part for part in as_list(message.get("parts")) if isinstance(part, dict)
        ]

    @property
    def payload(self) -> dict[str, Any]:
        """The payload of a system line."""
        return as_dict(self.value.get("systemPayload"))

    def make_record(self, type_: RecordType, role: Role, **fields: Any) -> Record:
        """Return a record of this line."""
        return Record(
            session=self.key,
            type=type_,
            role=role,
            native_id=self.native_id,
            scope=self.scope,
            created_at=self.created_at,
            parent_id=as_text(self.value.get("parentUuid")),
            **fields,
        )

    def make_event(self, kind: EventKind, content: str = "", **facts: Any) -> Record:
        """Return an event of this line with all facts that are not empty."""
        present_facts = {
            name: value for name, value in facts.items() if value not in (None, "")
        }
        metadata = {"kind": kind, **present_facts}
        return self.make_record(
            "system_event", "system", content=content, metadata=metadata
        )


def format_placeholder(part: dict[str, Any]) -> str:
    """Return a placeholder for an image or a file (its type and size), or ""."""
    for name in ("inlineData", "fileData"):
        data = part.get(name)
        if isinstance(data, dict):
            size = len(as_text(data.get("data"))) * 3 // 4
            kind = as_text(data.get("mimeType")) or "data"
            label = "image" if kind.startswith("image/") else "file"
            return f"[{label} {kind}, {format_size(size)}]"
    return ""


def call_fields(call: dict[str, Any]) -> dict[str, str]:
    """Return the record fields of a tool call."""
    return {
        "tool_name": as_text(call.get("name")),
        "tool_call_id": as_text(call.get("id")),
        "tool_input": to_json(call.get("args")),
    }


def parse_usage(tokens: object) -> Usage | None:
    """Return token counts: input without cached tokens, output with thoughts."""
    counts = as_dict(tokens)
    names = ("promptTokenCount", "cachedContentTokenCount", "candidatesTokenCount")
    input_total, cached, output = (_as_count(counts.get(name)) for name in names)
    # Whether the candidates include thoughts depends on the model's API; the total
    # includes them once.
    total = _as_count(counts.get("totalTokenCount"))
    thoughts = _as_count(counts.get("thoughtsTokenCount"))
    output = total - input_total if total > input_total else output + thoughts
    return Usage(max(input_total - cached, 0), output, cached) or None


def response_text(response: dict[str, Any]) -> str:
    """Return a tool's output or error, or else the whole response as JSON."""
    for name in ("output", "error"):
        if isinstance(response.get(name), str):
            return str(response[name])
    return to_json(response) if response else ""


def as_text(value: object) -> str:
    """Return the value if it is text, or ""."""
    return value if isinstance(value, str) else ""


def as_dict(value: object) -> dict[str, Any]:
    """Return the value if it is an object, or an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """Return the value if it is a list, or an empty one."""
    return value if isinstance(value, list) else []


def _as_count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0
    return int(value) if 0 <= value < _MAX_TOKENS else 0
