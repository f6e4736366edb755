"""Text that is safe to show."""

from __future__ import annotations

from leslied.control_characters import replace_control_characters
from leslied.graphemes import ellipsize


def replace_controls(text: str) -> str:
    """Return the text with LF line ends and U+FFFD for each control character."""
    return replace_control_characters(text.replace("\r\n", "\n"))


def first_line(text: str, limit: int = 80) -> str:
    """Return the first line that is not blank, shortened to `limit` characters."""
    line = " ".join(replace_controls(text).strip().split("\n", 1)[0].split())
    return ellipsize(line, limit)
