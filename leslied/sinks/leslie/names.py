"""File names that people can read and every file system takes."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from leslied.sinks.leslie.cutting import graphemes

if TYPE_CHECKING:
    from datetime import datetime

_MOST_CHARACTERS = 50
_MOST_BYTES = 120


def name_file(started_at: datetime, prompt: str, number: int = 1) -> str:
    """`{YYYYMMDD}-{HHmm}-{slug}.txt`; the second of one name gets `-2`."""
    suffix = f"-{number}" if number > 1 else ""
    return f"{started_at:%Y%m%d-%H%M}-{make_slug(prompt)}{suffix}.txt"


def make_slug(text: str) -> str:
    """Letters, numbers and marks of any script; every other run is one `-`."""
    kept: list[str] = []
    for character in unicodedata.normalize("NFC", text[:2000]):
        if _stays(character):
            kept.append(character)
        elif kept and kept[-1] != "-":
            kept.append("-")
    slug = _cut("".join(kept).strip("-")).strip("-")
    return slug or "task"


def _stays(character: str) -> bool:
    return character in "-_" or unicodedata.category(character)[0] in "LNM"


def _cut(text: str) -> str:
    taken = ""
    for cluster in graphemes(text):
        longer = taken + cluster
        is_long = len(longer) > _MOST_CHARACTERS
        if is_long or len(longer.encode()) > _MOST_BYTES:
            break
        taken = longer
    return taken
