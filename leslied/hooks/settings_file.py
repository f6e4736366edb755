"""Settings files: which one is meant, and changing it as a whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from leslied.errors import LesliedError, UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

Scope = Literal["user", "project", "local"]
_NEW_MODE = 0o600
_MAX_BYTES = 4_000_000


def find_settings_file(
    scope: Scope, home: Path, environ: Mapping[str, str], project: Path
) -> Path:
    """The settings file that Claude Code reads for this scope."""
    if scope == "project":
        return project / ".claude" / "settings.json"
    if scope == "local":
        return project / ".claude" / "settings.local.json"
    asked = environ.get("CLAUDE_CONFIG_DIR", "").partition(",")[0].strip()
    folder = home / asked if asked else home / ".claude"
    return folder / "settings.json"


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """One settings file; a link leads to the file that is meant."""

    path: Path

    def read(self) -> str | None:
        """Its text, as it is; None where there is no file."""
        try:
            if self.path.stat().st_size > _MAX_BYTES or not self.path.is_file():
                raise UserError(f"{self.path} is no settings file.")
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
        """The file is as `make` wants it, None being no file; whether it was not."""
        before = self.read()
        try:
            after = edit(before)
        except UserError as error:
            said = f"{self.path} was left as it is. {error.message}"
            raise UserError(said, error.hint or self._format_hint()) from error
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
        return f"Mend it first: {self.path}"

    def _write(self, text: str | None) -> None:
        real = self.path.resolve()
        if text is None:
            real.unlink()
            return
        real.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        beside = real.with_name(f".{real.name}.leslied-new")
        with suppress(FileNotFoundError):
            beside.unlink()
        try:
            mode = real.stat().st_mode & 0o7777
        except FileNotFoundError:
            mode = _NEW_MODE
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            with os.fdopen(os.open(beside, flags, 0o600), "wb") as file:
                file.write(text.encode("utf-8"))
                file.flush()
                os.fchmod(file.fileno(), mode)
                os.fsync(file.fileno())
            beside.replace(real)
        except OSError:
            with suppress(OSError):
                beside.unlink()
            raise
