"""Grapheme clusters: what a reader sees as one character, such as a family emoji.

Text for people is cut here, so that no cluster is split.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

_MARGIN_CHARACTERS = 64
"""Characters examined on each side of a limit, because finding clusters is slow."""
_SINGLE_CHARACTERS = (
    # Latin letters, Cyrillic, punctuation, arrows, boxes and blocks, dingbats, Japanese
    # and Chinese. None of these ranges has a character that joins another.
    r" -~\xa0-\xac\xae-\u02ff\u0410-\u044f\u2010-\u2027\u2030-\u205e\u2190-\u21ff"
    r"\u2500-\u25ff\u2700-\u27bf\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff"
)


def iter_graphemes(text: str) -> Iterable[str]:
    """Return the grapheme clusters of the text, in order."""
    if text.isascii() or has_only_single_characters(text):
        return text
    return (match[0] for match in _compile_grapheme_pattern().finditer(text))


def has_only_single_characters(text: str) -> bool:
    """Return whether it is certain that each character is a cluster of its own."""
    return _compile_single_characters().fullmatch(text) is not None


@cache
def _compile_single_characters() -> re.Pattern[str]:
    return re.compile(f"[{_SINGLE_CHARACTERS}]*+")


@cache
def _compile_grapheme_pattern() -> Any:
    import regex  # noqa: PLC0415 - slow to load, and few texts need it

    # In Indic scripts, a virama also ties the next letter to its cluster.
    joined = r"(?<=\p{Canonical_Combining_Class=Virama}\u200d?)(?=\p{L})\X"
    return regex.compile(rf"\X(?:{joined})*")


def take_characters(text: str, limit: int) -> str:
    """Return the first `limit` characters, or fewer so that no cluster is split."""
    if limit <= 0:
        return ""
    # A cluster never continues with an ASCII character.
    if text[limit : limit + 1].isascii():
        return text[:limit]
    # Find clusters only near the limit, because the text may be long.
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
