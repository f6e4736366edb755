"""Parts: what Gemini's messages and tool results are made of."""

from __future__ import annotations

import re
from typing import Any

from leslied.agents._parsing import format_size, to_json
from leslied.model.record import Usage

_MAX_TOKENS = 2**53
"""A larger number is damage, not a count."""
_KNOWN_KINDS = ("text", "inlineData", "fileData", "functionCall", "functionResponse")
_UNTRUSTED_ENVELOPE = re.compile(
    r"<untrusted_context>\n(.*)\n</untrusted_context>", re.DOTALL
)


def as_text(value: object) -> str:
    """The value where it is text; else nothing."""
    return value if isinstance(value, str) else ""


def as_dicts(value: object) -> list[dict[str, Any]]:
    """The objects of a list; nothing where it is none."""
    items = value if isinstance(value, list) else []
    return [item for item in items if isinstance(item, dict)]


def as_dict(value: object) -> dict[str, Any]:
    """The value where it is an object; else an empty one."""
    return value if isinstance(value, dict) else {}


def list_parts(content: object) -> list[dict[str, Any]]:
    """A message's parts: content may be text, one part, or a list of either."""
    if content is None:
        return []
    items = content if isinstance(content, list) else [content]
    return [
        item
        if isinstance(item, dict)
        else {"text": item if isinstance(item, str) else to_json(item)}
        for item in items
    ]


def parts_text(parts: list[dict[str, Any]]) -> str:
    """All that the parts say, in one text; pictures and files on lines of their own."""
    texts = [(part_text(part), "text" in part) for part in parts]
    whole = "".join(text if is_text else f"\n{text}\n" for text, is_text in texts)
    return whole if all(is_text for _, is_text in texts) else whole.strip("\n")


def part_text(part: dict[str, Any]) -> str:
    """A part's words, or what stands for its picture or file."""
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
    """Whether somebody knows what this kind of part says."""
    return any(kind in part for kind in _KNOWN_KINDS)


def is_thought(part: dict[str, Any]) -> bool:
    """Whether the model thinks in this part, and does not speak."""
    return bool(part.get("thought"))


def format_thoughts(message: dict[str, Any], parts: list[dict[str, Any]]) -> str:
    """What the model thought: told beside the content, or in parts of it."""
    told = [_format_thought(each) for each in as_dicts(message.get("thoughts"))]
    inner = [as_text(part.get("text")) for part in parts if is_thought(part)]
    return "\n\n".join(filter(None, told)) or "\n\n".join(filter(None, inner))


def split_results(
    parts: list[dict[str, Any]],
) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Each `functionResponse` with the parts that follow it: they are its output."""
    found: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    for part in parts:
        response = part.get("functionResponse")
        if isinstance(response, dict):
            found.append((response, []))
        elif found:
            found[-1][1].append(part)
    return found


def result_text(call: dict[str, Any], call_id: str) -> str:
    """What a call gave: after a compaction its list holds its neighbours' too."""
    told = call.get("result")
    parts = list_parts(told)
    answers = split_results(parts)
    own = [a for a in answers if as_text(a[0].get("id")) in ("", call_id)]
    if answers:
        return "\n".join(response_text(*answer) for answer in own or answers)
    return parts_text(parts) or as_text(call.get("resultDisplay"))


def response_text(response: dict[str, Any], more: list[dict[str, Any]]) -> str:
    """A tool's answer without the envelope that warns the model of it."""
    told = response.get("response")
    text = as_text(told)
    if isinstance(told, dict):
        text = as_text(told.get("output")) or as_text(told.get("error"))
        if not text and told and told != {"output": ""}:
            text = to_json(told)
    wrapped = _UNTRUSTED_ENVELOPE.fullmatch(text)
    inner = as_dicts(response.get("parts"))
    beside = [part_text(part) for part in (*inner, *more)]
    return "\n".join(filter(None, (wrapped[1] if wrapped else text, *beside)))


def parse_usage(tokens: object) -> Usage | None:
    """The message's tokens: `input` counts cached ones in, `output` no thoughts."""
    told = as_dict(tokens)
    names = ("input", "cached", "tool", "output", "thoughts")
    given, cached, tool, output, thoughts = (
        _as_count(told.get(name)) for name in names
    )
    usage = Usage(
        input_tokens=max(given - cached, 0) + tool,
        output_tokens=output + thoughts,
        cache_read_tokens=cached,
    )
    return usage or None


def _format_thought(thought: dict[str, Any]) -> str:
    subject, text = as_text(thought.get("subject")), as_text(thought.get("description"))
    return "\n\n".join(filter(None, (f"**{subject}**" if subject else "", text)))


def _format_placeholder(kind: str, data: str) -> str:
    name = kind.partition("/")[0] or "file"
    size = format_size(len(data) * 3 // 4)
    return f"[{name} {kind or 'data'}, {size}]"


def _as_count(value: object) -> int:
    return value if type(value) is int and 0 < value < _MAX_TOKENS else 0
