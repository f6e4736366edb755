"""Where leslied keeps its own files, and what it sees of the machine."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from leslied.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class AppPaths:
    """Every folder and file leslied may write."""

    config_file: Path
    data_dir: Path
    state_dir: Path

    @property
    def archive_dir(self) -> Path:
        """The bytes of the logs themselves, kept when agents delete them."""
        return self.data_dir / "archive"

    @property
    def central_dir(self) -> Path:
        """Transcripts of sessions whose project must not be written to."""
        return self.data_dir / "central"

    @property
    def key_file(self) -> Path:
        """The key that makes redaction marks meaningless elsewhere."""
        return self.data_dir / "redact.key"

    @property
    def pause_file(self) -> Path:
        """While it exists, the daemon reads and writes nothing."""
        return self.state_dir / "paused"

    @property
    def store_file(self) -> Path:
        """The one SQLite file."""
        return self.data_dir / "store.db"


def get_paths(environ: Mapping[str, str], config: Path | None = None) -> AppPaths:
    """The places that the environment asks for; nothing is created."""
    from platformdirs import PlatformDirs  # noqa: PLC0415 - 10 ms a bare --help saves

    get_home(environ)
    dirs = PlatformDirs("leslied", appauthor=False)
    chosen = config or environ.get("LESLIED_CONFIG")
    data = environ.get("LESLIED_DATA_DIR")
    return AppPaths(
        config_file=Path(chosen) if chosen else dirs.user_config_path / "config.toml",
        data_dir=Path(data) if data else dirs.user_data_path,
        state_dir=dirs.user_state_path,
    )


def get_home(environ: Mapping[str, str]) -> Path:
    """The home folder, or a sentence about why there is none."""
    home = environ.get("HOME", "")
    if home and Path(home).is_dir():
        return Path(home)
    said = f"HOME is {home!r}, which is no folder" if home else "HOME is not set"
    raise UserError(f"{said}.", "Set HOME to your home folder and try again.")


def read_environ() -> dict[str, str]:
    """A copy of the process environment: rooms get values, never os.environ."""
    return dict(os.environ)


def load_key(path: Path) -> bytes:
    """The key in the file, made at random on first use."""
    make_private_dir(path.parent)
    try:
        fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return path.read_bytes()
    with os.fdopen(fd, "wb") as file:
        key = os.urandom(32)
        file.write(key)
    return key


def make_private_dir(path: Path) -> None:
    """The folder exists and only its owner can look inside."""
    for folder in (*reversed(path.parents), path):
        if not folder.exists():
            folder.mkdir(mode=0o700, exist_ok=True)
            folder.chmod(0o700)
    if path.stat().st_mode & 0o077:
        path.chmod(0o700)


PLATFORM = sys.platform


def resolve_project(text: str, home: Path) -> str:
    """A project's name as it is; a path, however it was typed, from the root on."""
    if "/" not in text and text not in (".", "..", "~"):
        return text
    path = text.replace("~", str(home), 1) if text[0] == "~" else text
    return str(Path(path).absolute().resolve())
