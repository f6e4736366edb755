"""Widths of texts, measured in terminal columns.

Cutting keeps grapheme clusters whole.
"""

from __future__ import annotations

import unicodedata
from functools import cache

import click

from leslied.graphemes import has_only_single_characters, iter_graphemes


def measure_width(text: str) -> int:
    """Return the columns that the text takes, ignoring colours."""
    if "\x1b" in text:
        text = click.unstyle(text)
    if text.isascii():
        return len(text)
    if has_only_single_characters(text):
        return sum(map(_measure_character, text))
    from rich.cells import cell_len  # noqa: PLC0415 - slow to load

    return cell_len(text)


def measure_max_width(text: str) -> int:
    """Return the most columns that the text takes in any terminal.

    Some terminals show the parts of a cluster side by side, such as an emoji and its
    skin tone. A line that may become too long there would wrap.
    """
    if text.isascii():
        return len(text)
    if has_only_single_characters(text):
        return sum(map(_measure_character, text))
    return sum(
        max(measure_width(cluster), sum(map(_measure_character, cluster)))
        for cluster in iter_graphemes(text)
    )


@cache
def _measure_character(character: str) -> int:
    """Return the columns of a character that is shown on its own."""
    if unicodedata.east_asian_width(character) in "WF":
        return 2
    return 0 if unicodedata.category(character) in ("Mn", "Me", "Cf") else 1


def truncate_to_width(text: str, width: int) -> str:
    """Cut the text to the width and append an ellipsis if it was longer."""
    if measure_max_width(text) <= width:
        return text
    return _take_columns(text, width - 1).rstrip() + "…"


def pad_to_width(text: str, width: int) -> str:
    """Cut the text to the width, or append spaces."""
    text = truncate_to_width(text, width)
    return text + " " * (width - measure_width(text))


def _take_columns(text: str, width: int) -> str:
    """Return the clusters at the start of the text that fit in the width."""
    head = ""
    for cluster in iter_graphemes(text):
        width -= measure_max_width(cluster)
        if width < 0:
            break
        head += cluster
    return head
