"""Turn iFlow's tool results, objects of the Gemini API, into text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from leslied.agents._entry import as_dict, as_list, as_text
from leslied.agents._parsing import parse_object, to_json

if TYPE_CHECKING:
    from leslied.model.source import RawEntry


def simplify_results(entry: RawEntry) -> RawEntry:
    """Return the entry with each tool result as text, as in Claude Code's lines."""
    if b'"tool_result"' not in entry.data:
        return entry
    value = parse_object(entry.data)
    if value.get("type") != "user":
        return entry
    status = as_text(as_dict(value.get("toolUseResult")).get("status"))
    message = as_dict(value.get("message"))
    results = [
        block
        for block in map(as_dict, as_list(message.get("content")))
        if block.get("type") == "tool_result" and isinstance(block.get("content"), dict)
    ]
    for block in results:
        block["content"] = _find_output(block["content"])
        if status not in ("", "success"):
            block["is_error"] = True
    return replace(entry, data=to_json(value).encode()) if results else entry


def _find_output(content: dict[str, Any]) -> str:
    """Return the text of a tool result, or its JSON if there is none."""
    parts = as_dict(content.get("responseParts")) or content
    response = as_dict(as_dict(parts.get("functionResponse")).get("response"))
    texts = (
        response.get("output"),
        response.get("error"),
        content.get("resultDisplay"),
    )
    return next(filter(None, map(as_text, texts)), "") or to_json(content)
