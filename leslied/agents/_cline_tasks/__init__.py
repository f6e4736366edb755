"""Read the tasks of Cline's extension for VS Code, and of its forks.

`docs/formats/roo-code.md` documents the format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.agents._contract import BaseAdapter
from leslied.agents._vscode_folders import (
    CONFIG_VARIABLE,
    FORKS,
    VSCODE,
    list_user_folders,
)
from leslied.model.source import Pattern, Root, Shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from leslied.agents._contract import Capability
    from leslied.model.record import DecodeResult
    from leslied.model.source import Environment, RawEntry
    from leslied.sessions.tools import ToolKind

TASKS = (
    Pattern(
        glob="*/ui_messages.json", shape=Shape.DOCUMENT, side_file="history_item.json"
    ),
)


class ClineTasks(BaseAdapter):
    """Base of the adapters for Cline and its forks, written from public source."""

    extension = ""
    """The name of the extension's folder."""
    decoder_version = 1
    has_mutable_entries = True
    env_vars = (CONFIG_VARIABLE,)
    tools: Mapping[str, ToolKind] = {
        "execute_command": "shell",
        "newFileCreated": "write",
        "editedExistingFile": "edit",
        "appliedDiff": "edit",
        "insertContent": "edit",
        "searchAndReplace": "edit",
        "updateTodoList": "todos",
    }
    capabilities: frozenset[Capability] = frozenset(
        {"folder", "model", "tokens", "thinking", "tools", "turn end"}
    )

    def roots(self, env: Environment, configured: Sequence[Path]) -> Iterable[Root]:
        """Return the extension's folder of tasks in VS Code and its forks."""
        folders = list_user_folders(env, (*VSCODE, *FORKS))
        storage = [folder / "globalStorage" / self.extension for folder in folders]
        for path in configured or [folder / "tasks" for folder in storage]:
            yield Root(path=path, patterns=TASKS)

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode the messages of a task."""
        from leslied.agents._cline_tasks import decode  # noqa: PLC0415 - only to decode

        return decode.decode_task(entry, state)
