"""Paths of a thread's assets. Hooks load this module, so it imports nothing."""

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

_THREAD_ID_CHARACTERS = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
)


def is_thread_id(text: object) -> bool:
    """Return whether the untrusted value is safe as the name of a thread's folder."""
    if not isinstance(text, str) or not 0 < len(text) <= 64:
        return False
    return text[0] != "." and _THREAD_ID_CHARACTERS.issuperset(text)


def thread_folder(base: Path, thread_id: str) -> Path:
    """Return the thread's folder; `base` is the folder that holds `.leslie`."""
    return base / ".leslie" / "threads" / thread_id
