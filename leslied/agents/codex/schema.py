"""Parse a rollout line: an envelope around a payload, or the payload alone.

Most bytes of a log are duplicates or serve only the client. A peek at two or three
fields recognizes such lines, so that nothing else of them is parsed.
"""

from __future__ import annotations

from typing import Any

import msgspec

from leslied.agents._parsing import parse_object
from leslied.errors import DecodeError

MAX_COUNT = 2**53
"""A larger number is corrupt, not a count."""
_ITEM_TYPES = frozenset(
    {
        "message",
        "agent_message",
        "reasoning",
        "function_call",
        "function_call_output",
        "custom_tool_call",
        "custom_tool_call_output",
        "local_shell_call",
        "web_search_call",
        "image_generation_call",
        "tool_search_call",
        "tool_search_output",
        "compaction",
        "compaction_summary",
        "context_compaction",
        "ghost_snapshot",
    }
)
_NOISE_LINE_TYPES = frozenset(
    {"world_state", "inter_agent_communication_metadata", "security_risk_score"}
)
_NOISE_EVENTS = frozenset(
    {
        "user_message",
        "agent_message",
        "agent_reasoning",
        "agent_reasoning_raw_content",
        "agent_reasoning_section_break",
        "context_compacted",
        "exec_command_begin",
        "exec_command_end",
        "image_generation_end",
        "item_started",
        "mcp_tool_call_begin",
        "mcp_tool_call_end",
        "patch_apply_begin",
        "patch_apply_end",
        "plan_update",
        "thread_settings_applied",
        "turn_diff",
        "view_image_tool_call",
        "web_search_begin",
        "web_search_end",
        "collab_agent_spawn_begin",
        "collab_agent_interaction_begin",
        "collab_agent_interaction_end",
        "collab_waiting_begin",
        "collab_waiting_end",
        "collab_close_begin",
        "collab_close_end",
        "collab_resume_begin",
        "collab_resume_end",
    }
)
_NOISE_TURN_ITEMS = frozenset(
    {
        "UserMessage",
        "HookPrompt",
        "AgentMessage",
        "Plan",
        "Reasoning",
        "CommandExecution",
        "DynamicToolCall",
        "WebSearch",
        "ImageView",
        "ImageGeneration",
        "Extension",
        "FileChange",
        "McpToolCall",
        "ContextCompaction",
    }
)


class CodexLine(msgspec.Struct, frozen=True):
    """One line: an envelope with a payload, or in logs of early 2025 a bare payload."""

    type: str
    payload: dict[str, Any]
    timestamp: Any = None
    ordinal: int | None = None
    is_bare: bool = False
    """True if the line itself is the payload."""

    @property
    def kind(self) -> str:
        """The payload's own type."""
        return text_field(self.payload, "type")

    @property
    def item(self) -> dict[str, Any]:
        """The item of a turn, if the payload is an event that has one; else empty."""
        return object_field(self.payload, "item")

    @property
    def is_entry(self) -> bool:
        """True if this object from a damaged line is an entry, not a part of one."""
        return bool(self.type and self.timestamp and not self.is_bare)


class _ItemPeek(msgspec.Struct):
    type: str | None = None


class _PayloadPeek(msgspec.Struct):
    type: str | None = None
    item: _ItemPeek | None = None


class _Peek(msgspec.Struct):
    type: str | None = None
    payload: _PayloadPeek | None = None


_PEEK_DECODER = msgspec.json.Decoder(_Peek)
_OBJECT_DECODER = msgspec.json.Decoder(dict[str, Any])
_DECODE_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def find_noise(data: bytes) -> str:
    """Return the noise kind of a line that need not be parsed, or ""."""
    try:
        peek = _PEEK_DECODER.decode(data)
    except _DECODE_ERRORS:
        return ""
    payload = peek.payload or _PayloadPeek()
    if peek.type in _NOISE_LINE_TYPES:
        return peek.type
    if peek.type != "event_msg":
        return ""
    if payload.type in _NOISE_EVENTS:
        return f"event_msg/{payload.type}"
    if payload.type == "item_completed" and payload.item:
        item_type = payload.item.type
        return f"item_completed/{item_type}" if item_type in _NOISE_TURN_ITEMS else ""
    return ""


def parse_line(data: bytes) -> CodexLine:
    """Return the line; if it is a bare payload, deduce the type of its envelope."""
    value = parse_json(data)
    payload, kind = value.get("payload"), text_field(value, "type")
    if isinstance(payload, dict):
        ordinal = value.get("ordinal")
        number = ordinal if type(ordinal) is int and 0 <= ordinal < MAX_COUNT else None
        return CodexLine(kind, payload, value.get("timestamp"), number)
    if not kind and "id" in value and "timestamp" in value:
        kind = "session_meta"
    elif not kind and value.get("record_type") == "state":
        kind = "state"
    elif kind in _ITEM_TYPES:
        kind = "response_item"
    return CodexLine(kind, value, value.get("timestamp"), is_bare=True)


def parse_json(data: bytes) -> dict[str, Any]:
    """Return the JSON object in `data`; parse it leniently if it is malformed."""
    try:
        return _OBJECT_DECODER.decode(data)
    except _DECODE_ERRORS:
        return parse_object(data)


def parse_json_or_empty(text: str) -> dict[str, Any]:
    """Return the JSON object in the text, or an empty one if there is none."""
    try:
        return parse_json(text.encode())
    except DecodeError:
        return {}


def is_json_object(text: object) -> bool:
    """Return whether the value is the text of a JSON object."""
    if not isinstance(text, str):
        return False
    try:
        _OBJECT_DECODER.decode(text)
    except _DECODE_ERRORS:
        return False
    return True


def text_field(value: dict[str, Any], name: str) -> str:
    """Return the field if it is text, or ""."""
    text = value.get(name)
    return text if isinstance(text, str) else ""


def object_field(value: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the field if it is an object, or an empty object."""
    nested = value.get(name)
    return nested if isinstance(nested, dict) else {}


def list_field(value: dict[str, Any], name: str) -> list[Any]:
    """Return the field if it is a list, or an empty list."""
    items = value.get(name)
    return items if isinstance(items, list) else []


def count_field(value: dict[str, Any], name: str) -> int:
    """Return the field if it is a plausible count, or 0."""
    count = value.get(name)
    return count if type(count) is int and 0 < count < MAX_COUNT else 0
