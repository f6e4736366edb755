"""Keep what a soak has done, so that it goes on after an interruption."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from tests.bench.results import read_commit

ROOT = Path(__file__).resolve().parents[2]
SHARED_MEMORY = Path("/dev/shm")


@dataclass(frozen=True)
class Code:
    """The code that a soak runs."""

    commit: str
    tree: str
    """The hash of the folder `leslied`; work of another tree does not count."""


def read_code() -> Code:
    """Return the commit of this checkout, marked if leslied has changes."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD:leslied"]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    commit = read_commit(ROOT)
    mark = "+" if commit.endswith("+") else ""
    return Code(commit, process.stdout.strip() + mark)


class Progress:
    """Finished pieces of work of one part: JSON lines, written when each is done.

    With `keeps_all`, work of other versions of leslied counts, too.
    """

    def __init__(self, path: Path, code: Code, *, keeps_all: bool = False) -> None:
        self._path = path
        self._keeps_all = keeps_all
        self._code = code
        self.items: list[dict[str, Any]] = []
        if path.exists():
            self._load(path.read_text("utf-8"))

    def _load(self, text: str) -> None:
        for line in text.splitlines():
            # A kill may leave a part of a line.
            with suppress(json.JSONDecodeError):
                item = json.loads(line)
                if self._keeps_all or item["tree"] == self._code.tree:
                    self.items.append(item)

    def add(self, **values: Any) -> None:
        """Append a finished piece of work."""
        item = values | {
            "date": datetime.now(UTC).strftime("%Y-%m-%d"),
            "commit": self._code.commit,
            "tree": self._code.tree,
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a+b") as file:
            # A new line after the part of a line that a kill has left.
            is_torn = file.tell() > 0 and not self._path.read_bytes().endswith(b"\n")
            file.write(b"\n" * is_torn + json.dumps(item).encode() + b"\n")
        self.items.append(item)


def take_lock(path: Path) -> IO[bytes]:
    """Wait until no other soak uses the folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("wb")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        print(f"Another soak uses {path.parent}. Waiting for its end.", flush=True)
        fcntl.flock(file, fcntl.LOCK_EX)
    return file


def make_scratch(state: Path) -> Path:
    """Return an empty folder for homes, in memory if possible.

    A process that is killed loses nothing that it has written to a file system, so
    memory is as good as a disk, and its speed does not depend on others.
    """
    has_memory = SHARED_MEMORY.is_dir() and os.access(SHARED_MEMORY, os.W_OK)
    parent = SHARED_MEMORY if has_memory else Path(tempfile.gettempdir())
    folder = parent / f"leslied-soak-{os.getuid()}-{state.stat().st_ino}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    return folder
