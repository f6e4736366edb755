"""Shortening text without splitting what a reader sees as one character."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


@cache
def _grapheme_pattern() -> Any:
    import regex  # noqa: PLC0415 - only what is too long needs it

    return regex.compile(r"\X")


def iter_graphemes(text: str) -> Iterator[str]:
    """The characters as a reader sees them."""
    for found in _grapheme_pattern().finditer(text):
        yield found[0]


def truncate_characters(text: str, limit: int) -> str:
    """At most so many characters, the mark that tells the original size included."""
    if len(text) <= limit:
        return text
    mark = f"… [{len(text)} characters]"
    return _head(text, limit - len(mark)) + mark


def truncate_bytes(text: str, limit: int) -> str:
    """At most so many bytes: the beginning, a mark, and the end."""
    size = len(text.encode())
    if size <= limit:
        return text
    mark = f"\n… [{size} bytes in all] …\n"
    room = max(limit - len(mark.encode()), 0)
    head = _head_bytes(text, room * 2 // 3)
    tail = _tail_bytes(text, room - len(head.encode()))
    return head + mark + tail


def _head(text: str, limit: int) -> str:
    """The first characters, whole ones: a cluster across the edge is left out."""
    if limit <= 0:
        return ""
    start = max(limit - 64, 0)
    end = start
    for cluster in iter_graphemes(text[start : limit + 64]):
        if end + len(cluster) > limit:
            break
        end += len(cluster)
    return text[:end]


def _head_bytes(text: str, limit: int) -> str:
    whole = text.encode()[: max(limit, 0)].decode(errors="ignore")
    return _head(text, len(whole))


def _tail_bytes(text: str, limit: int) -> str:
    if limit <= 0:
        return ""
    whole = text.encode()[-limit:].decode(errors="ignore")
    clusters = list(iter_graphemes(text[-len(whole) - 64 :]))
    tail = ""
    for cluster in reversed(clusters):
        if len((cluster + tail).encode()) > limit or len(tail) >= len(whole):
            break
        tail = cluster + tail
    return tail
