"""Claude Code's settings files: their paths, and reading and replacing them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from leslied import fs
from leslied.errors import LesliedError, UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

Scope = Literal["user", "project", "local"]
_NEW_FILE_MODE = 0o600
_MAX_BYTES = 4_000_000


def get_settings_path(
    scope: Scope, home: Path, environ: Mapping[str, str], project: Path
) -> Path:
    """Return the path of the settings file that Claude Code reads for this scope.

    `project` is the project's folder, used for the scopes `project` and `local`.
    """
    if scope == "project":
        return project / ".claude" / "settings.json"
    if scope == "local":
        return project / ".claude" / "settings.local.json"
    config_dir = environ.get("CLAUDE_CONFIG_DIR", "").partition(",")[0].strip()
    folder = home / config_dir if config_dir else home / ".claude"
    return folder / "settings.json"


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """One settings file; symbolic links are followed."""

    path: Path

    def read(self) -> str | None:
        """Return the text, or None if there is no file.

        Raise UserError if the file is too large, not UTF-8 or cannot be read.
        """
        try:
            if self.path.stat().st_size > _MAX_BYTES or not self.path.is_file():
                raise UserError(f"{self.path} is not a settings file.")
            return self.path.read_bytes().decode("utf-8")
        except FileNotFoundError:
            return None
        except UnicodeDecodeError as error:
            raise UserError(
                f"{self.path} is not UTF-8.", self._format_hint()
            ) from error
        except OSError as error:
            raise UserError(f"{self.path} cannot be read: {error.strerror}.") from error

    def update(self, edit: Callable[[str | None], str | None]) -> bool:
        """Replace the text by `edit(text)` atomically; return whether it changed.

        None means that there is no file, as argument and as result of `edit`. Raise
        UserError if `edit` does, and LesliedError if the file cannot be written.
        """
        before = self.read()
        try:
            after = edit(before)
        except UserError as error:
            message = f"{self.path} was not changed. {error.message}"
            raise UserError(message, error.hint or self._format_hint()) from error
        if after == before:
            return False
        try:
            self._write(after)
        except OSError as error:
            raise LesliedError(
                f"{self.path} cannot be written: {error.strerror}."
            ) from error
        return True

    def _format_hint(self) -> str:
        return f"Correct the file first: {self.path}"

    def _write(self, text: str | None) -> None:
        """Replace the file atomically, keep its mode; delete it if `text` is None."""
        target = self.path.resolve()
        if text is None:
            target.unlink()
            return
        fs.make_missing_folders(target.parent)
        try:
            mode = target.stat().st_mode & 0o7777
        except FileNotFoundError:
            mode = _NEW_FILE_MODE
        fs.replace_file(target, text.encode("utf-8"), mode)
