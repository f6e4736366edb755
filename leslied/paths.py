"""Paths of leslied's own files, and access to the environment and the platform."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from leslied.errors import UserError
from leslied.fs import make_private_dir, replace_file

if TYPE_CHECKING:
    from collections.abc import Mapping

_KEY_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class AppPaths:
    """The folders and files that leslied writes outside of projects."""

    config_file: Path
    data_dir: Path
    state_dir: Path

    @property
    def archive_dir(self) -> Path:
        """Copies of the agents' logs, which remain when agents delete their logs."""
        return self.data_dir / "archive"

    @property
    def central_dir(self) -> Path:
        """Transcripts of sessions that are not written into their project."""
        return self.data_dir / "central"

    @property
    def key_file(self) -> Path:
        """The key of the hashes in redaction markers; each machine has its own."""
        return self.data_dir / "redact.key"

    @property
    def links_file(self) -> Path:
        """The user's links between projects; not in the store, which has one writer."""
        return self.data_dir / "projects.json"

    @property
    def pause_file(self) -> Path:
        """A file that pauses the daemon while it exists."""
        return self.state_dir / "paused"

    @property
    def work_marker(self) -> Path:
        """A file that names what the daemon is reading, in case it is killed."""
        return self.data_dir / "in-progress"

    @property
    def store_file(self) -> Path:
        """The store's SQLite file."""
        return self.data_dir / "store.db"


def get_paths(environ: Mapping[str, str], config: Path | None = None) -> AppPaths:
    """Return the paths that the environment selects; nothing is created.

    `config` overrides the path of the config file. Raises UserError without a HOME.
    """
    # The import takes 10 ms.
    from platformdirs import PlatformDirs  # noqa: PLC0415

    get_home(environ)
    dirs = PlatformDirs("leslied", appauthor=False)
    config_file = config or environ.get("LESLIED_CONFIG")
    data_dir = environ.get("LESLIED_DATA_DIR")
    return AppPaths(
        config_file=Path(config_file or dirs.user_config_path / "config.toml"),
        data_dir=Path(data_dir or dirs.user_data_path),
        state_dir=dirs.user_state_path,
    )


def get_home(environ: Mapping[str, str]) -> Path:
    """Return the home folder; raises UserError if HOME is not a folder."""
    home = environ.get("HOME", "")
    if home and Path(home).is_dir():
        return Path(home)
    problem = f"HOME is {home!r}, which is not a folder" if home else "HOME is not set"
    raise UserError(f"{problem}.", "Set HOME to your home folder and try again.")


def read_environ() -> dict[str, str]:
    """Return a copy of the environment; only failpoints read os.environ directly."""
    return dict(os.environ)


def load_key(path: Path) -> bytes:
    """Return the redaction key in the file; create a random one on first use.

    A file that is too short, because an earlier creation was cut off, is replaced.
    """
    make_private_dir(path.parent)
    key = path.read_bytes() if path.exists() else b""
    if len(key) >= _KEY_BYTES:
        return key
    replace_file(path, os.urandom(_KEY_BYTES))
    # Another process may have created a key at the same time; use the one that stays.
    return path.read_bytes()


PLATFORM = sys.platform
"""Name of the operating system, such as `linux` or `darwin`."""


def resolve_path_or_name(text: str, home: Path) -> str:
    """Return a name unchanged, and a path as an absolute path."""
    if "/" not in text and text not in (".", "..", "~"):
        return text
    path = str(home) + text[1:] if text == "~" or text.startswith("~/") else text
    return str(Path(path).absolute().resolve())
