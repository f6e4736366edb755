"""Folders of VS Code and its forks."""

from __future__ import annotations

from pathlib import Path

from leslied.agents._vscode_folders import list_user_folders
from leslied.model.source import Environment


def list_paths(platform: str, **environ: str) -> list[str]:
    env = Environment(home=Path("/h"), environ=environ, platform=platform)
    return [str(path) for path in list_user_folders(env, ("Code",))]


def test_linux_has_programs_in_the_config_folder():
    assert list_paths("linux")[0] == "/h/.config/Code/User"
    assert list_paths("linux", XDG_CONFIG_HOME="/c")[0] == "/c/Code/User"


def test_macos_has_programs_in_the_library():
    assert list_paths("darwin")[0] == "/h/Library/Application Support/Code/User"


def test_servers_on_remote_machines_have_folders_of_their_own():
    assert list_paths("linux")[1:] == [
        "/h/.vscode-server/data/User",
        "/h/.vscode-server-insiders/data/User",
    ]
