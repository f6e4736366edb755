"""Paths of leslied's own files, and access to the environment and the platform."""

from __future__ import annotations

import fcntl
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from leslied.errors import UserError
from leslied.fs import make_private_dir

if TYPE_CHECKING:
    from collections.abc import Mapping

PLATFORM = sys.platform
"""Name of the operating system, such as `linux` or `darwin`."""
_KEY_BYTES = 32


class AppPaths(NamedTuple):
    """Paths of leslied's own folders and files, all outside of projects."""

    config_file: Path
    data_dir: Path
    state_dir: Path

    @property
    def annotations_file(self) -> Path:
        """The user's stars, tags and notes; not in the store, which is rebuilt."""
        return self.data_dir / "annotations.db"

    @property
    def archive_dir(self) -> Path:
        """Copies of the agents' logs, which remain when agents delete their logs."""
        return self.data_dir / "archive"

    @property
    def central_dir(self) -> Path:
        """Transcripts of sessions that are not written into their project."""
        return self.data_dir / "central"

    @property
    def imports_dir(self) -> Path:
        """Copies of the files that the user imported, in a folder for each agent."""
        return self.data_dir / "imports"

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
    def web_key_file(self) -> Path:
        """A file with the key that signs cookies of the page and links to it."""
        return self.data_dir / "web.key"

    @property
    def web_links_dir(self) -> Path:
        """A folder that records which links to the page were used."""
        return self.data_dir / "web-links"

    @property
    def web_port_file(self) -> Path:
        """A file with the port on which `leslied web` listens."""
        return self.data_dir / "web.port"

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
    config_dir, default_data_dir, state_dir = _get_user_folders(environ)
    config_file = config or environ.get("LESLIED_CONFIG")
    data_dir = environ.get("LESLIED_DATA_DIR")
    return AppPaths(
        config_file=Path(config_file or config_dir / "config.toml"),
        data_dir=Path(data_dir or default_data_dir),
        state_dir=state_dir,
    )


def _get_user_folders(environ: Mapping[str, str]) -> tuple[Path, Path, Path]:
    """Return leslied's folders for configuration, data and state."""
    home = get_home(environ)
    if PLATFORM == "linux":
        # platformdirs would return the same folders, but its import takes 5 ms.
        return (
            _get_xdg_folder(environ, "XDG_CONFIG_HOME", home / ".config"),
            _get_xdg_folder(environ, "XDG_DATA_HOME", home / ".local/share"),
            _get_xdg_folder(environ, "XDG_STATE_HOME", home / ".local/state"),
        )
    from platformdirs import PlatformDirs  # noqa: PLC0415

    dirs = PlatformDirs("leslied", appauthor=False)
    return dirs.user_config_path, dirs.user_data_path, dirs.user_state_path


def _get_xdg_folder(environ: Mapping[str, str], variable: str, default: Path) -> Path:
    """Return leslied's folder in a base folder of the XDG specification."""
    value = environ.get(variable, "")
    # The specification says that a relative path is ignored.
    return Path(value if value.startswith("/") else default) / "leslied"


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
    """Return the key in the file; create a random one on first use.

    A file that is too short, because an earlier creation was cut off, is replaced.
    """
    make_private_dir(path.parent)
    key = path.read_bytes() if path.exists() else b""
    if len(key) >= _KEY_BYTES:
        return key
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600), "r+b", buffering=0) as file:
        # Of processes that start at the same time, one creates the key for all.
        fcntl.flock(file, fcntl.LOCK_EX)
        key = file.read()
        if len(key) < _KEY_BYTES:
            key = os.urandom(_KEY_BYTES)
            os.pwrite(file.fileno(), key, 0)
            os.fsync(file.fileno())
    return key


def resolve_path_or_name(text: str, home: Path) -> str:
    """Return a name unchanged, and a path as an absolute path."""
    if "/" not in text and text not in (".", "..", "~"):
        return text
    path = str(home) + text[1:] if text == "~" or text.startswith("~/") else text
    return str(Path(path).absolute().resolve())
