"""Read the chats of VS Code, such as Copilot's: `chatSessions` of each workspace.

`docs/formats/vscode-copilot.md` documents the format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.agents._contract import BaseAdapter
from leslied.agents._vscode_folders import CONFIG_VARIABLE, VSCODE, list_user_folders
from leslied.model.source import Pattern, Root, Shape, WatchDepth

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from leslied.agents._contract import AgentAdapter, Capability
    from leslied.model.record import DecodeResult
    from leslied.model.source import Environment, RawEntry
    from leslied.sessions.tools import ToolKind

# A log of changes is read as a document, too: only all changes together give the chat.
WORKSPACES = tuple(
    Pattern(glob=glob, shape=Shape.DOCUMENT, side_file="../workspace.json")
    for glob in ("*/chatSessions/*.json", "*/chatSessions/*.jsonl")
)
EMPTY_WINDOWS = tuple(
    Pattern(glob=glob, shape=Shape.DOCUMENT) for glob in ("*.json", "*.jsonl")
)


class VSCodeCopilot(BaseAdapter):
    """Adapter for the chats of VS Code, written from its public source."""

    name = "vscode-copilot"
    title = "VS Code Copilot"
    decoder_version = 1
    has_mutable_entries = True
    env_vars = (CONFIG_VARIABLE,)
    tools: Mapping[str, ToolKind] = {
        "run_in_terminal": "shell",
        "copilot_runInTerminal": "shell",
        "textEditGroup": "edit",
        "manage_todo_list": "todos",
    }
    capabilities: frozenset[Capability] = frozenset(
        {"folder", "title", "model", "tokens", "thinking", "tools", "turn end"}
    )

    def roots(self, env: Environment, configured: Sequence[Path]) -> Iterable[Root]:
        """Return the folders of workspaces, and of windows without one."""
        for folder in configured or list_user_folders(env, VSCODE):
            # Extensions have many folders beside those of the chats.
            yield Root(
                path=folder / "workspaceStorage",
                patterns=WORKSPACES,
                watch=WatchDepth.NONE,
            )
            yield Root(
                path=folder / "globalStorage" / "emptyWindowChatSessions",
                patterns=EMPTY_WINDOWS,
                watch=WatchDepth.FLAT,
            )

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode one chat."""
        from leslied.agents.vscode_copilot import (  # noqa: PLC0415 - only to decode
            decode,
        )

        return decode.decode_chat(entry, state)


ADAPTER: AgentAdapter = VSCodeCopilot()
