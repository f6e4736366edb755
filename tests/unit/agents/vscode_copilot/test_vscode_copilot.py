"""Where VS Code keeps its chats."""

from __future__ import annotations

from pathlib import Path

from leslied.agents.vscode_copilot import ADAPTER
from leslied.model.source import Environment

ENV = Environment(home=Path("/h"), environ={}, platform="linux")


def test_chats_are_in_workspaces_and_in_windows_without_one():
    paths = [str(root.path) for root in ADAPTER.roots(ENV, [])]

    assert paths[:2] == [
        "/h/.config/Code/User/workspaceStorage",
        "/h/.config/Code/User/globalStorage/emptyWindowChatSessions",
    ]


def test_a_configured_directory_is_a_user_folder():
    paths = [str(root.path) for root in ADAPTER.roots(ENV, [Path("/u")])]

    assert paths == [
        "/u/workspaceStorage",
        "/u/globalStorage/emptyWindowChatSessions",
    ]


def test_a_chat_cannot_be_resumed_by_a_command():
    assert ADAPTER.resume_command("c") == ""
