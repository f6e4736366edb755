"""Read the parts of Gemini's messages and tool results."""

from __future__ import annotations

import re
from typing import Any

from leslied.agents._parsing import format_size, to_json
from leslied.model.record import Usage

_MAX_TOKENS = 2**53
"""A larger number is corrupt, not a count."""
_MIN_TEXT_BYTES_PER_TOKEN = 3
_MAX_UNEXPLAINED_TOKENS = 8
"""An answer whose output tokens exceed those that its text needs by more than this also
has a call. This number and the one above are estimates from a few published sessions.
"""
_KNOWN_KINDS = ("text", "inlineData", "fileData", "functionCall", "functionResponse")
_UNTRUSTED_ENVELOPE = re.compile(
    r"<untrusted_context>\n(.*)\n</untrusted_context>", re.DOTALL
)


def as_text(value: object) -> str:
    """Return the value if it is text, or ""."""
    return value if isinstance(value, str) else ""


def as_dicts(value: object) -> list[dict[str, Any]]:
    """Return the objects in the value if it is a list, or an empty list."""
    items = value if isinstance(value, list) else []
    return [item for item in items if isinstance(item, dict)]


def as_dict(value: object) -> dict[str, Any]:
    """Return the value if it is an object, or an empty one."""
    return value if isinstance(value, dict) else {}


def list_parts(content: object) -> list[dict[str, Any]]:
    """Return a message's parts; content may be text, one part, or a list of either."""
    if content is None:
        return []
    items = content if isinstance(content, list) else [content]
    parts: list[dict[str, Any]] = []
    for item in items:
        if isinstance(item, dict):
            parts.append(item)
        else:
            parts.append({"text": item if isinstance(item, str) else to_json(item)})
    return parts


def parts_text(parts: list[dict[str, Any]]) -> str:
    """Return the text of all parts, with images and files on separate lines."""
    texts = [(part_text(part), "text" in part) for part in parts]
    whole = "".join(text if is_text else f"\n{text}\n" for text, is_text in texts)
    return whole if all(is_text for _, is_text in texts) else whole.strip("\n")


def part_text(part: dict[str, Any]) -> str:
    """Return a part's text, or a placeholder for its image or file."""
    if isinstance(part.get("text"), str):
        return str(part["text"])
    data, file = as_dict(part.get("inlineData")), as_dict(part.get("fileData"))
    if data:
        return _format_placeholder(
            as_text(data.get("mimeType")), as_text(data.get("data"))
        )
    if as_text(file.get("fileUri")):
        return f"[file {file['fileUri']}]"
    return to_json(part)


def is_known_part(part: dict[str, Any]) -> bool:
    """Return whether leslied can decode this kind of part."""
    return any(kind in part for kind in _KNOWN_KINDS)


def is_thought(part: dict[str, Any]) -> bool:
    """Return whether the part is a thought of the model."""
    return bool(part.get("thought"))


def format_thoughts(message: dict[str, Any], parts: list[dict[str, Any]]) -> str:
    """Return the model's thoughts from the `thoughts` field, or else from the parts."""
    texts = [_format_thought(thought) for thought in as_dicts(message.get("thoughts"))]
    part_texts = [as_text(part.get("text")) for part in parts if is_thought(part)]
    return "\n\n".join(filter(None, texts)) or "\n\n".join(filter(None, part_texts))


def split_results(
    parts: list[dict[str, Any]],
) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Return each `functionResponse` with the parts after it, which are its output."""
    results: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    for part in parts:
        response = part.get("functionResponse")
        if isinstance(response, dict):
            results.append((response, []))
        elif results:
            results[-1][1].append(part)
    return results


def result_text(call: dict[str, Any], call_id: str) -> str:
    """Return the text of a call's result.

    After a compaction, the call's list contains the results of other calls too.
    """
    parts = list_parts(call.get("result"))
    responses = split_results(parts)
    call_responses = [
        (response, extra_parts)
        for response, extra_parts in responses
        if as_text(response.get("id")) in ("", call_id)
    ]
    if responses:
        return "\n".join(response_text(*pair) for pair in call_responses or responses)
    return parts_text(parts) or as_text(call.get("resultDisplay"))


def response_text(response: dict[str, Any], extra_parts: list[dict[str, Any]]) -> str:
    """Return a tool's output without its `<untrusted_context>` tags.

    `extra_parts` are the parts after the response, such as images.
    """
    body = response.get("response")
    text = as_text(body)
    if isinstance(body, dict):
        text = as_text(body.get("output")) or as_text(body.get("error"))
        if not text and body and body != {"output": ""}:
            text = to_json(body)
    envelope = _UNTRUSTED_ENVELOPE.fullmatch(text)
    inner_parts = as_dicts(response.get("parts"))
    extra_texts = [part_text(part) for part in (*inner_parts, *extra_parts)]
    return "\n".join(filter(None, (envelope[1] if envelope else text, *extra_texts)))


def parse_usage(tokens: object) -> Usage | None:
    """Return token counts: input without cached tokens, output with thoughts."""
    counts = as_dict(tokens)
    names = ("input", "cached", "tool", "output", "thoughts")
    input_total, cached, tool, output, thoughts = (
        _as_count(counts.get(name)) for name in names
    )
    usage = Usage(
        input_tokens=max(input_total - cached, 0) + tool,
        output_tokens=output + thoughts,
        cache_read_tokens=cached,
    )
    return usage or None


def has_only_text(tokens: object, text: str) -> bool:
    """Return whether an answer is only text, as far as its output tokens show.

    While a tool runs, its call is not in the log yet, but its tokens are counted: many
    more tokens than the text needs mean that a call is pending.
    """
    output = _as_count(as_dict(tokens).get("output"))
    unexplained = output - len(text.encode()) // _MIN_TEXT_BYTES_PER_TOKEN
    return output > 0 and unexplained <= _MAX_UNEXPLAINED_TOKENS


def _format_thought(thought: dict[str, Any]) -> str:
    subject, text = as_text(thought.get("subject")), as_text(thought.get("description"))
    return "\n\n".join(filter(None, (f"**{subject}**" if subject else "", text)))


def _format_placeholder(mime_type: str, data: str) -> str:
    """Return a placeholder for base64 data: its type and size."""
    label = mime_type.partition("/")[0] or "file"
    size = format_size(len(data) * 3 // 4)
    return f"[{label} {mime_type or 'data'}, {size}]"


def _as_count(value: object) -> int:
    return value if type(value) is int and 0 < value < _MAX_TOKENS else 0
