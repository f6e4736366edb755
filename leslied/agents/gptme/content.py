"""Find thoughts and tool calls in the text of gptme's answers, and outputs in results.

gptme stores an answer as the text that the model wrote. A tool call in it is a Markdown
block, `@tool(id): {…}`, or an XML element, depending on the tool format.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from leslied.agents._parsing import mark_exit_code

if TYPE_CHECKING:
    from collections.abc import Iterator

_ALIASES = {"py": "ipython"}
"""Tags of blocks that are not the name of their tool."""
_TOOLS = frozenset(
    {
        *("append", "choice", "clarify", "complete", "elicit", "form", "gh"),
        *("hashline_edit", "ipython", "mcp", "morph", "patch", "patch_anchored"),
        *("patch_many", "progress", "read", "restart", "save", "shell", "tmux"),
        *("todo", "vent", "view_anchored"),
    }
)
"""Tools that a Markdown block calls; blocks of other languages are only shown."""
_FILE_TOOLS = frozenset({"append", "morph", "patch", "patch_anchored", "save"})
_CONTENT_ARGUMENTS = {
    "append": "content",
    "ipython": "code",
    "save": "content",
    "shell": "command",
}
"""Names of the argument that is the text of a block; by default, `input`."""
_START = re.compile(
    r"^(?:<(?P<think>think|thinking)>"
    r"|(?P<fence>`{3,})(?P<tag>[^\n`]*)$"
    r"|@(?P<name>[\w.]{1,60})\((?P<id>[\w\-:.]{1,200})\):\s*(?=\{)"
    r"|(?P<xml><tool-use>))",
    re.MULTILINE | re.ASCII,
)
"""Where something other than plain text may start."""
_FENCE_LINE = re.compile(r"^(`{3,})([^\n]*)$", re.MULTILINE)
_TAG_START = re.compile(r"[\w/.~]")
_XML_CALL = re.compile(
    r"<tool-use>\s*<([\w-]{1,60})([^>\n]*)>(.*?)</\1>\s*</tool-use>",
    re.DOTALL | re.ASCII,
)
_XML_VALUE = re.compile(r'[\w-]+="([^"]*)"')
_SIGNATURE = re.compile(r"\s*<!-- think-sig: [^>]*-->")
_EXIT_CODE = re.compile(r"Return code: (-?\d{1,9})\s*\Z")
_SHELL_HEADER = re.compile(
    r"\A(?:Ran (?:allowlisted )?command|Command interrupted|Command timed out[^:\n]*):"
    r"(?: `[^\n]*`|\n```bash\n.*?\n```)\n+",
    re.DOTALL,
)
_OUTPUT_FENCE = re.compile(r"^```(?:stdout|stderr)?$\n?", re.MULTILINE)
_ERROR_PREFIXES = ("Error executing tool", "Error:", "Tool '")
_decoder = json.JSONDecoder(strict=False)


class Part(NamedTuple):
    """A text, a thought or a call in an answer."""

    text: str = ""
    is_thought: bool = False
    tool: str = ""
    """The tool that a call names; empty for a text or thought."""
    call_id: str = ""
    """The id of a call; empty in Markdown and XML."""
    arguments: str | dict[str, str] = ""
    """JSON text, or the arguments by name."""


def iter_parts(text: str) -> Iterator[Part]:
    """Yield the parts of an answer in order.

    A part without an end is plain text, like everything after it.
    """
    begin = position = 0
    while match := _START.search(text, position):
        parsed = _parse_part(text, match)
        if parsed is None:
            break
        part, position = parsed
        if part is not None:
            yield from _make_text(text[begin : match.start()])
            yield part
            begin = position
    yield from _make_text(text[begin:])


def _make_text(text: str) -> Iterator[Part]:
    if stripped := text.strip():
        yield Part(stripped)


def _parse_part(text: str, match: re.Match[str]) -> tuple[Part | None, int] | None:
    """Return the part that starts at the match, and the position of its end.

    Return None if it has no end. Return None in place of the part if it is plain text,
    such as a block that calls no tool.
    """
    if tag := match["think"]:
        return _parse_thought(text, match.end(), f"</{tag}>")
    if match["fence"]:
        return _parse_block(text, match)
    if match["xml"]:
        return _parse_xml(text, match.start())
    start = match.end()
    try:
        _, end = _decoder.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return Part(tool=match["name"], call_id=match["id"], arguments=text[start:end]), end


def _parse_thought(text: str, start: int, end_tag: str) -> tuple[Part, int] | None:
    end = text.find(end_tag, start)
    if end < 0:
        return None
    thought = _SIGNATURE.sub("", text[start:end]).strip()
    return Part(thought, is_thought=True), end + len(end_tag)


def _parse_block(text: str, match: re.Match[str]) -> tuple[Part | None, int] | None:
    """Return the call of a Markdown block, None if it calls no tool, and its end.

    The block may contain further blocks. Return only None if the block has no end.
    """
    depth, start = 1, match.end() + 1
    for line in _FENCE_LINE.finditer(text, min(start, len(text))):
        fence, tag = line[1], line[2].strip()
        if tag:
            depth += 1 if _TAG_START.match(tag) else 0
        elif depth > 1:
            depth -= 1
        elif fence == match["fence"]:
            body = text[start : line.start()].removesuffix("\n")
            return _make_block_call(match["tag"].strip(), body), line.end()
    return None


def _make_block_call(tag: str, body: str) -> Part | None:
    """Return the call of a block, or None if its tag names no tool."""
    name, _, argument = tag.partition(" ")
    tool = _ALIASES.get(name, name)
    if tool not in _TOOLS:
        return None
    return Part(tool=tool, arguments=_make_arguments(tool, argument.strip(), body))


def _make_arguments(tool: str, argument: str, body: str) -> dict[str, str]:
    """Return the arguments of a call by name, as other agents name them.

    `argument` is the text of a block's tag after the tool, or of an XML attribute.
    """
    if tool == "patch" and (edit := _parse_edit(body)):
        return {"path": argument, **edit}
    body_name = _CONTENT_ARGUMENTS.get(tool, "input")
    argument_name = "path" if tool in _FILE_TOOLS else "args"
    arguments = {argument_name: argument, body_name: body}
    return {name: value for name, value in arguments.items() if value}


def _parse_edit(body: str) -> dict[str, str]:
    """Return the old and new text of a patch with one change; {} for other patches."""
    head, marker, hunk = body.strip().partition("<<<<<<< ORIGINAL\n")
    old, _, new = hunk.partition("=======\n")
    if head or not marker or "<<<<<<< ORIGINAL" in new:
        return {}
    new, end, _ = f"\n{new}".partition("\n>>>>>>> UPDATED")
    if not end:
        return {}
    return {"old_string": old.removesuffix("\n"), "new_string": new[1:]}


def _parse_xml(text: str, start: int) -> tuple[Part, int] | None:
    match = _XML_CALL.match(text, start)
    if match is None:
        return None
    tool, attributes, body = match.groups()
    argument = " ".join(_XML_VALUE.findall(attributes))
    arguments = _make_arguments(tool, argument, body.strip())
    return Part(tool=tool, arguments=arguments), match.end()


def parse_result(text: str) -> tuple[str, dict[str, Any]]:
    """Return a result and its metadata; `report` has only the output of a command."""
    text = text.strip()
    code = None
    if exit_line := _EXIT_CODE.search(text):
        text, code = text[: exit_line.start()].rstrip(), int(exit_line[1])
    marked, metadata = mark_exit_code(text, code)
    if header := _SHELL_HEADER.match(text):
        output = _OUTPUT_FENCE.sub("", text[header.end() :]).strip("\n")
        if "\n" not in output:
            output = output.strip("`")
        metadata["report"], _ = mark_exit_code(output, code)
    if text.startswith(_ERROR_PREFIXES):
        metadata["is_error"] = True
    return marked, metadata
