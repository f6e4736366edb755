"""Labels of tool calls: the argument that summarizes a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.sessions.tools import (
    COMMAND_ARGUMENTS,
    PATH_ARGUMENTS,
    find_shell_command,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LABEL_ARGUMENTS = (
    *COMMAND_ARGUMENTS,
    "pattern",
    *PATH_ARGUMENTS,
    "url",
    "query",
    "subject",
    "description",
    "prompt",
    "message",
)
"""Arguments that summarize a call, the most informative first."""


def find_label(
    arguments: Mapping[str, Any], names: Iterable[str] = LABEL_ARGUMENTS
) -> tuple[str, str]:
    """Return name and text of the argument that summarizes a call; both may be empty.

    A command may be a list of words.
    """
    for name in names:
        text = _format_argument(arguments.get(name))
        if text.strip():
            return name, text
    return "", ""


def is_path(name: str) -> bool:
    """Return whether the argument with this name is a file's path."""
    return name in PATH_ARGUMENTS


def _format_argument(value: Any) -> str:
    """Return the argument if it is a text or a list of words, else ""."""
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        command = find_shell_command(value)
        return " ".join(value) if command is None else command
    return value if isinstance(value, str) else ""
