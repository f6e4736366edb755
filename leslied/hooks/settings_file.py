"""Claude Code's settings files: their paths, and reading and replacing them."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from leslied import fs
from leslied.errors import LesliedError, UserError
from leslied.guarded_file import FileSnapshot, LinkError, read_snapshot, replace_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

Scope = Literal["user", "project", "local"]
BACKUP_FOLDER = "hooks/backups"
"""Below leslied's data: the last version of each settings file before a change."""


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


class SettingsChange(NamedTuple):
    """Whether a file was changed, and the copy of the file before the change."""

    is_changed: bool
    backup: Path | None = None


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """One settings file.

    Links in the user's own folder are followed, because tools that manage settings
    create them. A project may come from anybody, so its links are refused.
    """

    path: Path
    scope: Scope = "user"

    def read(self) -> str | None:
        """Return the text, or None if the file does not exist.

        Raise UserError if the file is a link in a project, too large, not UTF-8 or
        cannot be read.
        """
        return self._decode(self._read_snapshot())

    def update(
        self, edit: Callable[[str | None], str | None], backup_folder: Path
    ) -> SettingsChange:
        """Save a backup of the file and replace its text by `edit(text)` atomically.

        None stands for a missing file, as argument and as result of `edit`. Raise
        UserError if `edit` does or if the file changes meanwhile, and LesliedError if
        the file cannot be written.
        """
        snapshot = self._read_snapshot()
        before = self._decode(snapshot)
        try:
            after = edit(before)
        except UserError as error:
            message = f"{self.path} was not changed. {error.message}"
            raise UserError(message, error.hint or self._format_hint()) from error
        if after == before:
            return SettingsChange(is_changed=False)
        try:
            backup = _save_backup(snapshot, backup_folder)
            fs.make_missing_folders(snapshot.folder)
            data = None if after is None else after.encode("utf-8")
            replace_file(snapshot, data, is_private=True)
        except OSError as error:
            raise LesliedError(
                f"{self.path} cannot be written: {error.strerror}."
            ) from error
        return SettingsChange(is_changed=True, backup=backup)

    def _read_snapshot(self) -> FileSnapshot:
        # Links in the user's own folder are followed, those in a project refused.
        path = self.path.resolve() if self.scope == "user" else self.path
        try:
            return read_snapshot(path.parent, path.name)
        except FileNotFoundError:
            return FileSnapshot(folder=path.parent, name=path.name)
        except LinkError as error:
            hint = "Replace the link, or install the hooks with --scope user."
            raise UserError(f"{self.path}: {error.message}", hint) from error
        except UserError as error:
            raise UserError(error.message, self._format_hint()) from error
        except OSError as error:
            raise UserError(f"{self.path} cannot be read: {error.strerror}.") from error

    def _decode(self, snapshot: FileSnapshot) -> str | None:
        try:
            return None if snapshot.data is None else snapshot.data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise UserError(
                f"{self.path} is not UTF-8.", self._format_hint()
            ) from error

    def _format_hint(self) -> str:
        return f"Correct the file first: {self.path}"


def _save_backup(snapshot: FileSnapshot, folder: Path) -> Path | None:
    """Save the bytes that are about to be replaced; return the path of the copy.

    The copy is not saved in the project, where it could be committed to Git.
    """
    if snapshot.data is None:
        return None
    digest = hashlib.sha256(os.fsencode(snapshot.folder)).hexdigest()[:8]
    backup = folder / f"{digest}-{snapshot.name}"
    fs.make_private_dir(folder)
    fs.replace_file(backup, snapshot.data)
    return backup
