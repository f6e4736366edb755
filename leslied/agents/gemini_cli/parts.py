"""Parts: what Gemini's messages and tool results are made of."""

from __future__ import annotations

import re
from typing import Any

from leslied.agents._parsing import tell_size, to_json
from leslied.model.record import Usage

_MOST_TOKENS = 2**53
"""A larger number is damage, not a count."""
_PLAIN = ("text", "inlineData", "fileData", "functionCall", "functionResponse")
_WRAPPED = re.compile(r"<untrusted_context>\n(.*)\n</untrusted_context>", re.DOTALL)


def words(value: object) -> str:
    """The value where it is text; else nothing."""
    return value if isinstance(value, str) else ""


def objects(value: object) -> list[dict[str, Any]]:
    """The objects of a list; nothing where it is none."""
    items = value if isinstance(value, list) else []
    return [item for item in items if isinstance(item, dict)]


def mapping(value: object) -> dict[str, Any]:
    """The value where it is an object; else an empty one."""
    return value if isinstance(value, dict) else {}


def parts_of(content: object) -> list[dict[str, Any]]:
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


def text_of(parts: list[dict[str, Any]]) -> str:
    """All that the parts say, in one text; pictures and files on lines of their own."""
    texts = [(part_text(part), "text" in part) for part in parts]
    whole = "".join(text if is_text else f"\n{text}\n" for text, is_text in texts)
    return whole if all(is_text for _, is_text in texts) else whole.strip("\n")


def part_text(part: dict[str, Any]) -> str:
    """A part's words, or what stands for its picture or file."""
    if isinstance(part.get("text"), str):
        return str(part["text"])
    data, file = mapping(part.get("inlineData")), mapping(part.get("fileData"))
    if data:
        return _placeholder(words(data.get("mimeType")), words(data.get("data")))
    if words(file.get("fileUri")):
        return f"[file {file['fileUri']}]"
    return to_json(part)


def is_plain(part: dict[str, Any]) -> bool:
    """Whether somebody knows what this kind of part says."""
    return any(kind in part for kind in _PLAIN)


def is_thought(part: dict[str, Any]) -> bool:
    """Whether the model thinks in this part, and does not speak."""
    return bool(part.get("thought"))


def tell_thoughts(message: dict[str, Any], parts: list[dict[str, Any]]) -> str:
    """What the model thought: told beside the content, or in parts of it."""
    told = [_tell_thought(each) for each in objects(message.get("thoughts"))]
    inner = [words(part.get("text")) for part in parts if is_thought(part)]
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


def result_of(call: dict[str, Any], call_id: str) -> str:
    """What a call gave: after a compaction its list holds its neighbours' too."""
    told = call.get("result")
    parts = parts_of(told)
    answers = split_results(parts)
    own = [a for a in answers if words(a[0].get("id")) in ("", call_id)]
    if answers:
        return "\n".join(response_text(*answer) for answer in own or answers)
    return text_of(parts) or words(call.get("resultDisplay"))


def response_text(response: dict[str, Any], more: list[dict[str, Any]]) -> str:
    """A tool's answer without the envelope that warns the model of it."""
    told = response.get("response")
    text = words(told)
    if isinstance(told, dict):
        text = words(told.get("output")) or words(told.get("error"))
        if not text and told and told != {"output": ""}:
            text = to_json(told)
    wrapped = _WRAPPED.fullmatch(text)
    inner = objects(response.get("parts"))
    beside = [part_text(part) for part in (*inner, *more)]
    return "\n".join(filter(None, (wrapped[1] if wrapped else text, *beside)))


def usage_of(tokens: object) -> Usage | None:
    """The message's tokens: `input` counts cached ones in, `output` no thoughts."""
    told = mapping(tokens)
    names = ("input", "cached", "tool", "output", "thoughts")
    given, cached, tool, output, thoughts = (_count(told.get(name)) for name in names)
    usage = Usage(
        input_tokens=max(given - cached, 0) + tool,
        output_tokens=output + thoughts,
        cache_read_tokens=cached,
    )
    return usage or None


def _tell_thought(thought: dict[str, Any]) -> str:
    subject, text = words(thought.get("subject")), words(thought.get("description"))
    return "\n\n".join(filter(None, (f"**{subject}**" if subject else "", text)))


def _placeholder(kind: str, data: str) -> str:
    name = kind.partition("/")[0] or "file"
    size = tell_size(len(data) * 3 // 4)
    return f"[{name} {kind or 'data'}, {size}]"


def _count(value: object) -> int:
    return value if type(value) is int and 0 < value < _MOST_TOKENS else 0
