"""Text that is safe to show."""

from __future__ import annotations

from leslied.control_characters import format_one_line, replace_control_characters
from leslied.graphemes import ellipsize


def replace_controls(text: str) -> str:
    """Return the text with LF line ends and visible control characters."""
    return replace_control_characters(text.replace("\r\n", "\n"))


def first_line(text: str, limit: int = 80) -> str:
    """Return the first line that is not blank, shortened to `limit` characters."""
    line, _, _ = text.strip().partition("\n")
    return ellipsize(format_one_line(line), limit)
