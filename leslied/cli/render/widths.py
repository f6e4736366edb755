"""Widths of texts in columns of the terminal. Cutting keeps grapheme clusters whole."""

from __future__ import annotations

import click

from leslied.graphemes import iter_graphemes


def measure_width(text: str) -> int:
    """Return the columns that the text takes, ignoring colours."""
    text = click.unstyle(text)
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # noqa: PLC0415 - slow to load

    return cell_len(text)


def truncate_to_width(text: str, width: int) -> str:
    """Cut the text to the width and append an ellipsis if it was longer."""
    if measure_width(text) <= width:
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
        if measure_width(head + cluster) > width:
            break
        head += cluster
    return head
