"""Decode tool calls of a task, and the results that follow them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.agents._entry import LogEntry, as_text
from leslied.agents._parsing import parse_object
from leslied.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.record import Record

_CALLS = frozenset(
    {
        "tool",
        "command",
        "use_mcp_server",
        "use_subagents",
        "browser_action",
        "browser_action_launch",
        "new_task",
    }
)
_RESULTS = frozenset(
    {
        "command_output",
        "mcp_server_response",
        "mcp_server_request_started",
        "subtask_result",
        "subagent",
        "codebase_search_result",
        "browser_action_result",
    }
)
_TOOLS_WITH_RESULT = frozenset(
    {
        "searchFiles",
        "listFilesTopLevel",
        "listFilesRecursive",
        "listCodeDefinitionNames",
        "readCommandOutput",
        "webFetch",
        "webSearch",
    }
)
"""Tools whose message contains the tool's result as `content`."""
_APPROVAL_MARK = "REQ_APP"
"""Mark at the end of a command that Cline must not run without asking."""


def _get_kind(message: dict[str, Any]) -> str:
    return as_text(message.get("ask" if message.get("type") == "ask" else "say"))


def is_call(message: dict[str, Any]) -> bool:
    """Return whether the message shows a tool call."""
    return _get_kind(message) in _CALLS


def is_result(message: dict[str, Any]) -> bool:
    """Return whether the message shows a part of the result of the call before it."""
    return _get_kind(message) in _RESULTS


def decode_call(
    entry: LogEntry, message: dict[str, Any], results: list[dict[str, Any]]
) -> Iterator[Record]:
    """Decode a call and its result; both have the call's time as their id.

    A partial call is skipped: while the model writes it, the extension may replace it
    by another message.
    """
    if message.get("partial") is True:
        return
    name, arguments, contents = _parse_call(_get_kind(message), message.get("text"))
    yield entry.make_call(name, entry.native_id, arguments)
    texts = [as_text(result.get("text")) for result in results]
    if text := "\n".join(filter(None, [*contents, *texts])):
        yield entry.make_result(name, entry.native_id, text, block=1)


def _parse_call(kind: str, value: object) -> tuple[str, Any, list[str]]:
    """Return a call's name and arguments, and results that its message contains."""
    text = as_text(value)
    if kind == "command":
        return "execute_command", {"command": text.removesuffix(_APPROVAL_MARK)}, []
    try:
        fields = parse_object(text.encode(errors="replace"))
    except DecodeError:
        return kind, {"text": text}, []
    if kind == "tool":
        name = as_text(fields.pop("tool", "")) or kind
        contents = []
        if name in _TOOLS_WITH_RESULT:
            contents = [as_text(fields.pop("content", ""))]
        return name, fields, contents
    if kind == "use_mcp_server":
        server, tool = (
            as_text(fields.get("serverName")),
            as_text(fields.get("toolName")),
        )
        return f"mcp__{server}__{tool or 'resource'}", fields, []
    return kind, fields, []
