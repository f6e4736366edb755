"""Shortening text without splitting what a reader sees as one character."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


@cache
def _cluster() -> Any:
    import regex  # noqa: PLC0415 - only what is too long needs it

    return regex.compile(r"\X")


def graphemes(text: str) -> Iterator[str]:
    """The characters as a reader sees them."""
    for found in _cluster().finditer(text):
        yield found[0]


def cut_characters(text: str, most: int) -> str:
    """At most so many characters, the mark that tells the original size included."""
    if len(text) <= most:
        return text
    mark = f"… [{len(text)} characters]"
    return _head(text, most - len(mark)) + mark


def cut_bytes(text: str, most: int) -> str:
    """At most so many bytes: the beginning, a mark, and the end."""
    size = len(text.encode())
    if size <= most:
        return text
    mark = f"\n… [{size} bytes in all] …\n"
    room = max(most - len(mark.encode()), 0)
    head = _head_bytes(text, room * 2 // 3)
    tail = _tail_bytes(text, room - len(head.encode()))
    return head + mark + tail


def _head(text: str, most: int) -> str:
    """The first characters, whole ones: a cluster across the edge is left out."""
    if most <= 0:
        return ""
    start = max(most - 64, 0)
    end = start
    for cluster in graphemes(text[start : most + 64]):
        if end + len(cluster) > most:
            break
        end += len(cluster)
    return text[:end]


def _head_bytes(text: str, most: int) -> str:
    whole = text.encode()[: max(most, 0)].decode(errors="ignore")
    return _head(text, len(whole))


def _tail_bytes(text: str, most: int) -> str:
    if most <= 0:
        return ""
    whole = text.encode()[-most:].decode(errors="ignore")
    clusters = list(graphemes(text[-len(whole) - 64 :]))
    tail = ""
    for cluster in reversed(clusters):
        if len((cluster + tail).encode()) > most or len(tail) >= len(whole):
            break
        tail = cluster + tail
    return tail
