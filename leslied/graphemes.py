"""Grapheme clusters: what a reader sees as one character, such as a family emoji.

Text for people is cut here, so that no cluster is split.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

_MARGIN_CHARACTERS = 64
"""Characters examined on each side of a limit, because finding clusters is slow."""


def iter_graphemes(text: str) -> Iterable[str]:
    """Return the grapheme clusters of the text, in order."""
    if text.isascii():
        return text
    return (match[0] for match in _compile_grapheme_pattern().finditer(text))


@cache
def _compile_grapheme_pattern() -> Any:
    import regex  # noqa: PLC0415 - only needed for texts that are not ASCII

    # In Indic scripts, a virama joins the letter after it, too.
    joined = r"(?<=\p{Canonical_Combining_Class=Virama}\u200d?)(?=\p{L})\X"
    return regex.compile(rf"\X(?:{joined})*")


def take_characters(text: str, limit: int) -> str:
    """Return the first `limit` characters, or fewer so that no cluster is split."""
    if limit <= 0:
        return ""
    # A cluster never continues with an ASCII character.
    if text[limit : limit + 1].isascii():
        return text[:limit]
    start = max(limit - _MARGIN_CHARACTERS, 0)
    end = start
    for cluster in iter_graphemes(text[start : limit + _MARGIN_CHARACTERS]):
        if end + len(cluster) > limit:
            break
        end += len(cluster)
    return text[:end]


def ellipsize(text: str, limit: int) -> str:
    """Cut the text to `limit` characters, including an ellipsis."""
    return text if len(text) <= limit else take_characters(text, limit - 1) + "…"
