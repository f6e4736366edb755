"""List where VS Code and its forks keep the data of a user."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.source import Environment

VSCODE = ("Code", "Code - Insiders", "VSCodium")
FORKS = ("Cursor", "Windsurf")
CONFIG_VARIABLE = "XDG_CONFIG_HOME"
"""The environment variable that moves the programs' folders on Linux."""
_SERVERS = (".vscode-server", ".vscode-server-insiders")
"""Folders of the part of VS Code that runs on a remote machine."""


def list_user_folders(env: Environment, programs: tuple[str, ...]) -> Iterator[Path]:
    """Yield the `User` folder of each program, and of VS Code's servers."""
    if env.platform == "darwin":
        config = env.home / "Library" / "Application Support"
    else:
        config = Path(env.environ.get(CONFIG_VARIABLE) or env.home / ".config")
    for program in programs:
        yield config / program / "User"
    for server in _SERVERS:
        yield env.home / server / "data" / "User"
