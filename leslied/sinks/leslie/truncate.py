"""Shortening text without splitting grapheme clusters."""

from __future__ import annotations

from leslied.graphemes import iter_graphemes, take_characters

_MARGIN_CHARACTERS = 64
"""Characters examined before a limit, because finding clusters is slow."""


def truncate_characters(text: str, limit: int, command: str) -> str:
    """Shorten the text to `limit` characters.

    They include a note of its length and of the command that shows all of it.
    """
    if len(text) <= limit:
        return text
    note = f"… [{len(text)} characters: {command}]"
    return take_characters(text, limit - len(note)).rstrip() + note


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


def _take_head_bytes(text: str, limit: int) -> str:
    head = text.encode()[: max(limit, 0)].decode(errors="ignore")
    return take_characters(text, len(head))


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
