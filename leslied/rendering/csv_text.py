"""CSV that a spreadsheet opens without running anything in it."""

from __future__ import annotations

import csv
import io
import re
from itertools import chain
from typing import TYPE_CHECKING, Any

from leslied.control_characters import replace_control_characters

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_FORMULA = re.compile(
    r"""[\s"']*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]""",
)
"""Start of a formula; spreadsheets may skip spaces and quotes before its sign, and
accept full-width signs."""
_OTHER_SEPARATORS = re.compile(r"[;\t|]")
"""Other characters at which a spreadsheet may split a line into fields, for example if
its decimal sign is the comma."""


def format_csv(headers: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield the lines of a CSV file, each with its line end.

    Cells that a spreadsheet would take for a formula are prefixed with an apostrophe.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    quoting_writer = csv.writer(
        buffer, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC
    )
    for row in chain([headers], rows):
        cells = list(map(_format_cell, row))
        # A spreadsheet that splits at semicolons must not find a formula inside a cell.
        has_separator = any(
            isinstance(cell, str) and _OTHER_SEPARATORS.search(cell) for cell in cells
        )
        (quoting_writer if has_separator else writer).writerow(cells)
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()


def _format_cell(value: Any) -> Any:
    if isinstance(value, list):
        value = " ".join(value)
    if isinstance(value, str):
        value = replace_control_characters(value)
        return f"'{value}" if _FORMULA.match(value) else value
    return value
