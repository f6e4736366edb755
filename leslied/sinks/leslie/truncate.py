"""Shortening text without splitting grapheme clusters."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_MARGIN_CHARACTERS = 64
"""Characters examined on each side of a limit, because finding clusters is slow."""


@cache
def _compile_grapheme_pattern() -> Any:
    import regex  # noqa: PLC0415 - only needed for texts that are too long

    return regex.compile(r"\X")


def iter_graphemes(text: str) -> Iterator[str]:
    """Yield the grapheme clusters, which are characters as a reader sees them."""
    for match in _compile_grapheme_pattern().finditer(text):
        yield match[0]


def truncate_characters(text: str, limit: int, command: str) -> str:
    """Shorten the text to `limit` characters.

    They include a note of its length and of the command that shows all of it.
    """
    if len(text) <= limit:
        return text
    note = f"… [{len(text)} characters: {command}]"
    return _take_head(text, limit - len(note)).rstrip() + note


def truncate_bytes(text: str, limit: int, command: str) -> str:
    """Shorten the text to `limit` bytes: its start, a note, and its end.

    The note has its size and the command that shows all of it.
    """
    size = len(text.encode())
    if size <= limit:
        return text
    note = f"\n… [{size} bytes in all: {command}] …\n"
    free_bytes = max(limit - len(note.encode()), 0)
    head = _take_head_bytes(text, free_bytes * 2 // 3)
    tail = _take_tail_bytes(text, free_bytes - len(head.encode()))
    return head + note + tail


def _take_head(text: str, limit: int) -> str:
    """Return the first `limit` characters, or fewer so that no cluster is split."""
    if limit <= 0:
        return ""
    start = max(limit - _MARGIN_CHARACTERS, 0)
    end = start
    for cluster in iter_graphemes(text[start : limit + _MARGIN_CHARACTERS]):
        if end + len(cluster) > limit:
            break
        end += len(cluster)
    return text[:end]


def _take_head_bytes(text: str, limit: int) -> str:
    head = text.encode()[: max(limit, 0)].decode(errors="ignore")
    return _take_head(text, len(head))


def _take_tail_bytes(text: str, limit: int) -> str:
    if limit <= 0:
        return ""
    longest_tail = text.encode()[-limit:].decode(errors="ignore")
    clusters = list(iter_graphemes(text[-len(longest_tail) - _MARGIN_CHARACTERS :]))
    tail = ""
    for cluster in reversed(clusters):
        if len((cluster + tail).encode()) > limit or len(tail) >= len(longest_tail):
            break
        tail = cluster + tail
    return tail
