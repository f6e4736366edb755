"""Excerpts of texts: redacted, cleaned and shortened to what a transcript shows.

Only the part of a text that is shown is redacted. No grapheme cluster is split.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from leslied.control_characters import replace_control_characters
from leslied.graphemes import iter_graphemes, take_characters
from leslied.model.omitted_text import count_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

_MARGIN_CHARACTERS = 64
"""Characters before the tail in which the start of its first cluster is sought."""
_WINDOW_FACTOR = 2
"""How much more of a text is redacted than shown: cleaning may make it shorter."""
MAX_WHOLE_CHARACTERS = 1_000_000
"""Longest text of which the end is shown, too; all of it must be redacted for that."""


class TextRedactor(Protocol):
    """Replaces the secrets in texts."""

    def redact(self, text: str) -> str:
        """Return the text without secrets."""
        ...

    def redact_prefix(self, text: str, length: int) -> str:
        """Return the first `length` characters of the redacted text."""
        ...


class NoRedaction:
    """Leaves texts as they are, for sessions that have been redacted already."""

    def redact(self, text: str) -> str:
        """Return the text."""
        return text

    def redact_prefix(self, text: str, length: int) -> str:
        """Return the first `length` characters of the text."""
        return text[:length]


class Excerpt(NamedTuple):
    """The redacted start of a text, or all of it."""

    text: str
    original: str
    """The whole text, before it was redacted."""
    is_complete: bool


def clean(text: str) -> str:
    """Replace control characters, and remove line ends around the text."""
    return replace_control_characters(text.replace("\r\n", "\n").strip("\n"))


def take_start(
    text: str,
    limit: int,
    redactor: TextRedactor,
    clean: Callable[[str], str] = clean,
) -> Excerpt:
    """Return the start of a text, redacted and cleaned.

    It may be longer than `limit`, to which the caller shortens it in the end.
    """
    window = limit * _WINDOW_FACTOR
    if len(text) <= window:
        return Excerpt(clean(redactor.redact(text)), text, is_complete=True)
    start = clean(redactor.redact_prefix(text, window))
    return Excerpt(start, text, is_complete=False)


def take_whole(text: str, redactor: TextRedactor) -> Excerpt:
    """Return all of a text, or its start if it is extremely long."""
    return take_start(text, MAX_WHOLE_CHARACTERS // _WINDOW_FACTOR, redactor)


def truncate_characters(excerpt: Excerpt, limit: int, command: str) -> str:
    """Shorten the text to `limit` characters, including a note at its end.

    The note gives the length of the original, and the command that shows it.
    """
    if excerpt.is_complete and len(excerpt.text) <= limit:
        return excerpt.text
    note = f"… [{len(excerpt.original)} characters: {command}]"
    return take_characters(excerpt.text, limit - len(note)).rstrip() + note


def truncate_bytes(excerpt: Excerpt, limit: int, command: str) -> str:
    """Shorten the text to `limit` bytes: its start, a note, and its end.

    The note gives the size of the original, and the command that shows it.
    """
    text = excerpt.text
    if excerpt.is_complete and count_bytes(text) <= limit:
        return text
    note = f"\n… [{count_bytes(excerpt.original)} bytes in all: {command}] …\n"
    free_bytes = max(limit - len(note.encode()), 0)
    head_bytes = free_bytes * 2 // 3 if excerpt.is_complete else free_bytes
    head = _take_head_bytes(text, head_bytes)
    tail = _take_tail_bytes(text, free_bytes - len(head.encode()))
    return head + note + (tail if excerpt.is_complete else "")


def _take_head_bytes(text: str, limit: int) -> str:
    """Return the longest start of whole clusters in `limit` bytes."""
    start = text[: max(limit, 0)].encode()[: max(limit, 0)]
    return take_characters(text, len(start.decode(errors="ignore")))


def _take_tail_bytes(text: str, limit: int) -> str:
    """Return the longest end of whole clusters in `limit` bytes."""
    if limit <= 0:
        return ""
    longest_tail = text[-limit:].encode()[-limit:].decode(errors="ignore")
    clusters = list(iter_graphemes(text[-len(longest_tail) - _MARGIN_CHARACTERS :]))
    tail_bytes = tail_characters = 0
    for cluster in reversed(clusters):
        tail_bytes += len(cluster.encode())
        if tail_bytes > limit or tail_characters >= len(longest_tail):
            break
        tail_characters += len(cluster)
    return text[len(text) - tail_characters :]
