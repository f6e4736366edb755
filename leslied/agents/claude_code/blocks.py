"""Extract text, with placeholders for images, and token counts from messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.agents._parsing import format_size, parse_object, to_json
from leslied.agents.claude_code.schema import ContentBlock, parse_raw
from leslied.errors import DecodeError
from leslied.model.record import Usage

if TYPE_CHECKING:
    from msgspec import Raw

    from leslied.agents.claude_code.schema import (
        ClaudeMessage,
        ClaudeUsage,
        MediaSource,
        ToolResultPart,
    )

_MAX_TOKENS = 2**53
"""A larger number is corrupt, not a count."""


def list_blocks(message: ClaudeMessage) -> list[ContentBlock]:
    """Return the message's blocks; plain text is one text block."""
    content = message.content
    if isinstance(content, list):
        return content
    return [ContentBlock("text", content or "")]


def message_text(message: ClaudeMessage) -> str:
    """Return the text of all blocks, with placeholders for images and files."""
    return "\n\n".join(filter(None, map(block_text, list_blocks(message))))


def block_text(block: ContentBlock) -> str:
    """Return a block's text, or the placeholder of its image or file."""
    if block.source:
        return format_placeholder(block.type or "file", block.source)
    return block.text or ""


def result_text(block: ContentBlock, data: bytes, index: int) -> str:
    """Return a tool result as text; parts of an unknown kind stay JSON.

    `data` is the whole line, and `index` the block's position in its message.
    """
    content = block.content
    if content is None:
        return block.text or ""
    if isinstance(content, str):
        return content
    if any(not _is_known_part(part) for part in content):
        raw = find_raw_block(data, index)
        raw_parts = raw.get("content") if isinstance(raw, dict) else None
        raw_parts = raw_parts if isinstance(raw_parts, list) else [raw_parts]
        return "\n".join(
            _part_text(part) if _is_known_part(part) else to_json(raw_part)
            for part, raw_part in zip(content, raw_parts, strict=False)
        )
    return "\n".join(map(_part_text, content))


def find_raw_block(data: bytes, index: int) -> Any:
    """Return the line's block at `index` with all of its fields, or None."""
    try:
        return parse_object(data)["message"]["content"][index]
    except (DecodeError, KeyError, IndexError, TypeError):
        return None


def format_placeholder(kind: str, source: MediaSource) -> str:
    """Return a placeholder for an image or document: its type and size."""
    # The data is a JSON string; its two quotes do not count.
    size = max(len(memoryview(source.data)) - 2, 0)
    if source.type == "base64":
        size = size * 3 // 4
    return f"[{kind} {source.media_type or source.type or 'data'}, {format_size(size)}]"


def raw_to_json(raw: Raw) -> str:
    """Return the value as JSON; re-encode it only if it may have lone surrogates."""
    text = bytes(raw).decode(errors="replace")
    if "\\ud" in text or "\\uD" in text:
        return to_json(parse_raw(raw))
    return text


def parse_usage(tokens: ClaudeUsage | None) -> Usage | None:
    """Return the message's token counts, or None if all are missing or zero."""
    if tokens is None:
        return None
    counts = (
        tokens.input_tokens,
        tokens.output_tokens,
        tokens.cache_read_input_tokens,
        tokens.cache_creation_input_tokens,
        tokens.cache_creation and tokens.cache_creation.ephemeral_1h_input_tokens,
    )
    usage = Usage(
        *(count if count and 0 < count < _MAX_TOKENS else 0 for count in counts)
    )
    return usage or None


def _is_known_part(part: ToolResultPart) -> bool:
    return part.text is not None or part.source is not None or bool(part.tool_name)


def _part_text(part: ToolResultPart) -> str:
    if part.source:
        return format_placeholder(part.type or "file", part.source)
    return part.text if part.text is not None else f"[tool {part.tool_name}]"
