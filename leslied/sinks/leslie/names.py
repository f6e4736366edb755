"""File names that people can read and every file system takes."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from leslied.sinks.leslie.truncate import iter_graphemes

if TYPE_CHECKING:
    from datetime import datetime

_MAX_CHARACTERS = 50
_MAX_BYTES = 120


def make_file_name(started_at: datetime, prompt: str, number: int = 1) -> str:
    """`{YYYYMMDD}-{HHmm}-{slug}.txt`; the second of one name gets `-2`."""
    suffix = f"-{number}" if number > 1 else ""
    return f"{started_at:%Y%m%d-%H%M}-{make_slug(prompt)}{suffix}.txt"


def make_slug(text: str) -> str:
    """Letters, numbers and marks of any script; every other run is one `-`."""
    kept: list[str] = []
    for character in unicodedata.normalize("NFC", text[:2000]):
        if _is_allowed(character):
            kept.append(character)
        elif kept and kept[-1] != "-":
            kept.append("-")
    slug = _truncate("".join(kept).strip("-")).strip("-")
    return slug or "task"


def _is_allowed(character: str) -> bool:
    return character in "-_" or unicodedata.category(character)[0] in "LNM"


def _truncate(text: str) -> str:
    taken = ""
    for cluster in iter_graphemes(text):
        longer = taken + cluster
        is_long = len(longer) > _MAX_CHARACTERS
        if is_long or len(longer.encode()) > _MAX_BYTES:
            break
        taken = longer
    return taken
