"""File names that people can read and every file system accepts."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from leslied.control_characters import replace_control_characters
from leslied.graphemes import iter_graphemes
from leslied.sessions.titles import find_subject, strip_attachment_marks

if TYPE_CHECKING:
    from datetime import datetime

_MAX_SLUG_CHARACTERS = 50
_MAX_SLUG_BYTES = 120
_JOINERS = "\u200c\u200d"
"""Characters that are part of words in some scripts, between other characters."""
_SEPARATORS = "-" + _JOINERS
"""Characters that a slug neither starts nor ends with."""
_MAX_EXAMINED_CHARACTERS = 2000
"""Start of the prompt from which the slug is made; a prompt may be megabytes long."""


def make_file_name(started_at: datetime, prompt: str, number: int = 1) -> str:
    """Return `{YYYYMMDD}-{HHmm}-{slug}.txt`.

    `-{number}` is appended to the slug if the number is greater than 1.
    """
    suffix = f"-{number}" if number > 1 else ""
    subject = find_subject(prompt)[:_MAX_EXAMINED_CHARACTERS]
    slug = make_slug(strip_attachment_marks(subject))
    return f"{started_at:%Y%m%d-%H%M}-{slug}{suffix}.txt"


def make_slug(text: str) -> str:
    """Return the start of the text with `-` for all but letters, digits and marks."""
    clusters: list[str] = []
    visible = replace_control_characters(text[:_MAX_EXAMINED_CHARACTERS], " ")
    start = unicodedata.normalize("NFC", visible)
    for cluster in iter_graphemes(start):
        is_leading = not clusters and cluster in _SEPARATORS
        if all(map(_is_allowed, cluster)) and not is_leading:
            clusters.append(cluster)
        elif clusters and clusters[-1] != "-":
            clusters.append("-")
        if len(clusters) > _MAX_SLUG_CHARACTERS:
            break
    slug = "".join(clusters).strip(_SEPARATORS)
    return _truncate(slug).strip(_SEPARATORS) or "task"


def _is_allowed(character: str) -> bool:
    is_word_character = unicodedata.category(character)[0] in "LNM"
    return is_word_character or character in "-_" or character in _JOINERS


def _truncate(text: str) -> str:
    """Return the longest start within both limits that ends after a whole cluster."""
    head = ""
    for cluster in iter_graphemes(text):
        candidate = head + cluster
        is_too_long = len(candidate) > _MAX_SLUG_CHARACTERS
        if is_too_long or len(candidate.encode()) > _MAX_SLUG_BYTES:
            break
        head = candidate
    return head
