"""File names that people can read and every file system accepts."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

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
_JOINING_LETTERS = "\u0620-\u0dff\u0f00-\u109f\u1780-\u17ff\u1820-\u18aa\ua840-\ua9df"
"""Letters and marks of Arabic, Indic and related scripts, which use joiners."""
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0e\uffa0"
    "\U000e0100-\U000e01ef]"
    rf"|\ufe0f(?!\u20e3)|(?<![{_JOINING_LETTERS}])[{_JOINERS}]"
)
"""Letters and marks without a glyph, by which two names could look the same."""
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
    visible = _INVISIBLE.sub("", text[:_MAX_EXAMINED_CHARACTERS])
    start = unicodedata.normalize("NFC", visible)
    for cluster in iter_graphemes(start):
        if all(map(_is_allowed, cluster)):
            clusters.append(cluster)
        elif clusters and clusters[-1] != "-":
            clusters.append("-")
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
