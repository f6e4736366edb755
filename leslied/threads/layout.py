"""Paths below `.leslie`, and valid thread ids. Hooks load this module: no imports."""

from __future__ import annotations

TYPE_CHECKING = False  # Importing it from `typing` would cost a hook milliseconds.
if TYPE_CHECKING:
    from pathlib import Path

ASSET_PATHS: tuple[tuple[str, str], ...] = (
    ("plan", "plan.md"),
    ("plan", "plan"),
    ("progress", "progress.md"),
    ("design", "design.md"),
    ("design", "design"),
    ("learnings", "learnings"),
    ("discuss", "discuss"),
    ("transcript", ".meta/transcripts"),
)
"""Asset types and their paths below the thread's folder, in listing order."""
RELATIONS_FILE = ".leslie/thread_relations.json"
THREADS_FOLDER = ".leslie/threads"
INHERITED_FOLDER = "context/inherited"
"""Below a thread's folder: copies of the threads it references as `frozen`."""

_MAX_THREAD_ID_CHARACTERS = 64
_THREAD_ID_CHARACTERS = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
)


def is_thread_id(value: object) -> bool:
    """Return whether the untrusted value is safe as the name of a thread's folder."""
    if not isinstance(value, str) or not 0 < len(value) <= _MAX_THREAD_ID_CHARACTERS:
        return False
    return value[0] != "." and _THREAD_ID_CHARACTERS.issuperset(value)


def thread_folder(base: Path, thread_id: str) -> Path:
    """Return the thread's folder; `base` is the folder that holds `.leslie`."""
    return base / ".leslie" / "threads" / thread_id
