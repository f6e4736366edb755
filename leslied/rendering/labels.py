"""Labels of tool calls: the argument that summarizes a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.sessions.tools import (
    COMMAND_ARGUMENTS,
    EDITOR_COMMANDS,
    PATH_ARGUMENTS,
    SCRIPTS_ARGUMENT,
    TODO_ARGUMENTS,
    TODO_TEXTS,
    find_shell_command,
    find_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LABEL_ARGUMENTS = (
    *COMMAND_ARGUMENTS,
    SCRIPTS_ARGUMENT,
    "pattern",
    *PATH_ARGUMENTS,
    "url",
    "query",
    "subject",
    "description",
    "prompt",
    "instructions",
    "goal",
    "task",
    "message",
)
"""Arguments that summarize a call, the most informative first."""
_TODO_MARKS = {"completed": "x", "done": "x", "in_progress": ">"}


def find_label(
    arguments: Mapping[str, Any], names: Iterable[str] = LABEL_ARGUMENTS
) -> tuple[str, str]:
    """Return name and text of the argument that summarizes a call; both may be empty.

    The items of a to-do list or plan come first, without a name. Otherwise the first of
    `names` whose argument has a text is chosen. Calls of an editor are searched for a
    path first, because their command is only a verb. If none of the names has a text,
    and the call has only one argument, its text is returned without its name.
    """
    if items := _format_items(arguments):
        return "", items
    if arguments.get("command") in EDITOR_COMMANDS:
        names = (*PATH_ARGUMENTS, *names)
    for name in names:
        separator = "; " if name == SCRIPTS_ARGUMENT else " "
        text = _format_argument(arguments.get(name), separator)
        if text.strip():
            return name, text
    only_value = next(iter(arguments.values())) if len(arguments) == 1 else ""
    return "", only_value if isinstance(only_value, str) else ""


def is_path(name: str) -> bool:
    """Return whether the argument with this name is a file's path."""
    return name in PATH_ARGUMENTS


def _format_argument(value: Any, separator: str) -> str:
    """Return the argument as text, joined if it is a list of texts, or else ""."""
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        command = find_shell_command(value)
        return separator.join(value) if command is None else command
    return value if isinstance(value, str) else ""


def _format_items(arguments: Mapping[str, Any]) -> str:
    """Return the items of a to-do list or a plan on one line; "" without a list."""
    lists = (arguments.get(name) for name in (*TODO_ARGUMENTS, "plan"))
    items = next((each for each in lists if isinstance(each, list)), [])
    return " · ".join(filter(None, map(_format_item, items)))


def _format_item(item: Any) -> str:
    """Return the item with a box as in Markdown, `[>]` if it is in progress."""
    if not isinstance(item, dict):
        return ""
    text = find_text(item, TODO_TEXTS).strip()
    mark = _TODO_MARKS.get(str(item.get("status")), " ")
    return f"[{mark}] {text}" if text else ""
