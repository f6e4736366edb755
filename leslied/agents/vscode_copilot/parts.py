"""Decode the parts of a response in a chat of VS Code."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from leslied.agents._entry import as_dict, as_list, as_text
from leslied.agents._parsing import mark_exit_code

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.agents._entry import LogEntry
    from leslied.model.record import Record

_NOISE = frozenset(
    {
        "clearToPreviousToolInvocation",
        "codeblockUri",
        "command",
        "confirmation",
        "disabledClaudeHooks",
        "extensions",
        "hook",
        "mcpServersStarting",
        "multiDiffData",
        "prepareToolInvocation",
        "progressMessage",
        "progressTaskSerialized",
        "pullRequest",
        "references",
        "treeData",
        "undoStop",
    }
)
"""Kinds that only the window needs."""


class ResponseDecoder:
    """Decode the parts of one response.

    Parts have no ids, and the list of them may change. So each record is named after
    its type and its number among those of this type.
    """

    def __init__(self, entry: LogEntry) -> None:
        self.line = entry
        self._counts: dict[str, int] = {}

    def decode(self, parts: list[Any]) -> Iterator[Record]:
        """Decode all parts; adjacent texts and references become one answer."""
        texts: list[str] = []
        for part in parts:
            if (text := _format_text(part)) is not None:
                texts.append(text)
                continue
            if _get_kind(part) in _NOISE:
                continue
            yield from self._decode_text("".join(texts))
            texts = []
            yield from self._decode_part(part)
        yield from self._decode_text("".join(texts))

    def _decode_text(self, text: str) -> Iterator[Record]:
        if text.strip():
            line, block = self._next_entry("text")
            yield line.make_answer(text, block=block)

    def _next_entry(self, type_: str) -> tuple[LogEntry, int]:
        """Return the fields of the next record of this type, and its block number."""
        block = self._counts.get(type_, 0)
        self._counts[type_] = block + 1
        native_id = f"{self.line.native_id} {type_}"
        return replace(self.line, native_id=native_id), block

    def _decode_part(self, part: Any) -> Iterator[Record]:
        fields = as_dict(part)
        match _get_kind(part):
            case "thinking":
                if thought := _format_thought(fields.get("value")):
                    line, block = self._next_entry("thinking")
                    yield line.make_thinking(thought, block=block)
            case "toolInvocationSerialized":
                yield from self._decode_call(fields)
            case "textEditGroup":
                yield from self._decode_edit(fields)
            case "warning":
                line, block = self._next_entry("warning")
                text = _format_message(fields.get("content"))
                yield line.make_event("notice", text, block=block, note="warning")
            case _:
                line, block = self._next_entry("unknown")
                yield line.make_unknown(part, block=block)

    def _decode_call(self, fields: dict[str, Any]) -> Iterator[Record]:
        """Decode a call, and its result if it is complete."""
        line, block = self._next_entry("call")
        name = as_text(fields.get("toolId"))
        call_id = as_text(fields.get("toolCallId")) or f"{line.native_id} {block}"
        arguments = _find_arguments(fields)
        yield line.make_call(name, call_id, arguments, block=2 * block)
        if fields.get("isComplete") is not False:
            text, facts = _find_result(fields)
            yield line.make_result(name, call_id, text, block=2 * block + 1, **facts)

    def _decode_edit(self, fields: dict[str, Any]) -> Iterator[Record]:
        """Decode the edits of a file as a call, which has a result when it is done."""
        line, block = self._next_entry("edit")
        call_id = f"{line.native_id} {block}"
        groups = as_list(fields.get("edits"))
        edits = [as_dict(edit) for group in groups for edit in as_list(group)]
        texts = [as_text(edit.get("text")) for edit in edits]
        arguments = {"path": _get_path(fields.get("uri")), "texts": texts}
        yield line.make_call("textEditGroup", call_id, arguments, block=2 * block)
        if fields.get("done") is True:
            text = f"Edits: {len(edits)}"
            yield line.make_result("textEditGroup", call_id, text, block=2 * block + 1)


def _get_kind(part: Any) -> str:
    return as_text(as_dict(part).get("kind"))


def _format_text(part: Any) -> str | None:
    """Return the Markdown of a text or a reference, or None for any other part."""
    fields, kind = as_dict(part), _get_kind(part)
    if not kind and isinstance(fields.get("value"), str):
        return as_text(fields["value"])
    if kind in ("markdownContent", "markdownVuln"):
        return _format_message(fields.get("content"))
    if kind == "inlineReference":
        reference = as_dict(fields.get("inlineReference"))
        path = _get_path(reference) or _get_path(reference.get("uri"))
        name = as_text(fields.get("name")) or as_text(reference.get("name"))
        return f"`{name or path.rpartition('/')[2]}`"
    return None


def _format_message(value: Any) -> str:
    """Return a message, which is text or an object with Markdown."""
    return as_text(value) or as_text(as_dict(value).get("value"))


def _format_thought(value: Any) -> str:
    texts = value if isinstance(value, list) else [value]
    return "\n".join(filter(None, map(as_text, texts))).strip()


def _get_path(uri: Any) -> str:
    fields = as_dict(uri)
    return as_text(fields.get("fsPath")) or as_text(fields.get("path"))


def _find_arguments(fields: dict[str, Any]) -> dict[str, Any]:
    """Return a call's arguments; if they are not stored, its description."""
    data = as_dict(fields.get("toolSpecificData"))
    match data.get("kind"):
        case "terminal":
            line = as_dict(data.get("commandLine"))
            command = as_text(line.get("userEdited")) or as_text(line.get("original"))
            return {"command": command or as_text(data.get("command"))}
        case "subagent":
            names = ("description", "agentName", "prompt")
            return {name: data[name] for name in names if name in data}
        case "todoList":
            return {"todos": as_list(data.get("todoList"))}
        case "input" if as_dict(data.get("rawInput")):
            return as_dict(data["rawInput"])
    if text := as_text(as_dict(fields.get("resultDetails")).get("input")):
        return {"input": text}
    return {"description": _format_message(fields.get("invocationMessage"))}


def _find_result(fields: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return a result's text and facts; if it is not stored, its description."""
    data = as_dict(fields.get("toolSpecificData"))
    if data.get("kind") == "terminal" and "terminalCommandOutput" in data:
        output = as_text(as_dict(data["terminalCommandOutput"]).get("text"))
        code = as_dict(data.get("terminalCommandState")).get("exitCode")
        return mark_exit_code(output, code)
    if data.get("kind") == "subagent" and as_text(data.get("result")):
        return data["result"], {}
    details = as_dict(fields.get("resultDetails"))
    outputs = [as_text(as_dict(o).get("value")) for o in as_list(details.get("output"))]
    facts = {"is_error": True} if details.get("isError") is True else {}
    text = "\n".join(filter(None, outputs))
    return text or _format_message(fields.get("pastTenseMessage")), facts
