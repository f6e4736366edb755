"""Folders of the agent that hook events named, such as another CLAUDE_CONFIG_DIR.

They are lines of a text file in the data folder, so that they survive a rebuild, and a
person can delete one to forget it. A line with `!` before the folder keeps it from
being learned again.
"""

from __future__ import annotations

from leslied.hooks.files import read_part, write_atomic
from leslied.layout import LESLIE_FOLDER

FILE = "learned-roots.txt"
MAX_ROOTS = 50
_MAX_BYTES = 500_000
_FORBIDDEN_PARTS = frozenset(("", ".", "..", LESLIE_FOLDER))
"""Parts of paths that are ambiguous, or that belong to leslied's own outputs."""
_HEADER = (
    "# Folders of Claude Code that hooks named. Delete a line to forget a folder;\n"
    "# write ! before it to never read it.\n"
)


def load(data_dir: str) -> tuple[list[str], list[str]]:
    """Return the learned folders, and those that must not be learned."""
    data = read_part(f"{data_dir}/{FILE}", 0, _MAX_BYTES) or b""
    lines = [line.strip() for line in data.decode(errors="replace").split("\n")]
    return (
        [line.rstrip("/") for line in lines if line.startswith("/")],
        [line[1:].strip().rstrip("/") for line in lines if line.startswith("!")],
    )


def add(data_dir: str, folder: str) -> bool:
    """Add a learned folder; return False if it is ignored or there are too many."""
    learned, ignored = load(data_dir)
    if folder in learned:
        return True
    if folder in ignored or len(learned) >= MAX_ROOTS:
        return False
    data = read_part(f"{data_dir}/{FILE}", 0, _MAX_BYTES) or _HEADER.encode()
    separator = b"" if data.endswith(b"\n") else b"\n"
    line = f"{folder}\n".encode()
    write_atomic(data_dir, FILE, data + separator + line, is_synced=True)
    return True


def find_config_folder(log: str) -> str:
    """Return FOLDER if the log is `FOLDER/projects/…/….jsonl`, else ""."""
    if not log.startswith("/") or not log.endswith(".jsonl"):
        return ""
    parts = log.split("/")
    if not log.isprintable() or not _FORBIDDEN_PARTS.isdisjoint(parts[1:]):
        return ""
    folder, separator, below = log.rpartition("/projects/")
    return folder if separator and "/" in below else ""
