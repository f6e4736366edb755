"""Where the hooks are installed, and whether they can run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leslied.errors import UserError
from leslied.hooks import settings
from leslied.hooks.settings_file import SettingsFile

if TYPE_CHECKING:
    from pathlib import Path

    from leslied.hooks.settings_file import Scope


@dataclass(frozen=True, slots=True)
class HooksState:
    """State of the hooks in one settings file."""

    scope: Scope
    path: Path
    is_installed: bool = False
    error: str = ""
    """Why the hooks cannot work; empty if no reason is known."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "scope": self.scope,
            "path": str(self.path),
            "installed": self.is_installed,
            "trouble": self.error or None,
        }


@dataclass(frozen=True, slots=True)
class HooksStatus:
    """State of the hooks in each settings file that exists or could exist."""

    settings: tuple[HooksState, ...]

    @property
    def is_installed(self) -> bool:
        """Whether the hooks are installed in any of the files."""
        return any(state.is_installed for state in self.settings)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"settings": [state.to_dict() for state in self.settings]}


def read_state(
    scope: Scope, path: Path, hook_command: settings.HookCommand
) -> HooksState:
    """Return the state of the hooks in the settings file of this scope."""
    try:
        text = SettingsFile(path, scope).read()
        commands = settings.find_commands(text) if text else {}
        is_disabled = bool(text) and settings.are_hooks_disabled(str(text))
    except UserError as error:
        return HooksState(scope, path, error=error.message)
    if not commands:
        return HooksState(scope, path)
    error_text = _find_error(commands, hook_command, is_disabled=is_disabled)
    return HooksState(scope, path, is_installed=True, error=error_text)


def _find_error(
    commands: dict[str, str], hook_command: settings.HookCommand, *, is_disabled: bool
) -> str:
    """Return why the installed hooks cannot work; "" if no reason is known."""
    if is_disabled:
        return "disableAllHooks is set"
    if set(commands) != set(settings.EVENTS):
        return "some hooks are missing; install again"
    if not all(hook_command.is_current(command) for command in commands.values()):
        return "installed by another version of leslied; install again"
    return ""
