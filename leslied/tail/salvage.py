"""Cutting whole entries out of a damaged line, with bounded work.

Agents leave lines that hold two objects, a torn object with a whole one behind it, or
a run of NUL bytes and then an object. Every whole object is found again; what lies
between is told as a gap. The line is scanned as Latin-1, so positions are byte
positions and damaged UTF-8 is the next reader's concern.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

_OBJECT = re.compile(r'\{\s*"')
_FILLER = b"\0 \t\r\n\xef\xbb\xbf"
_WINDOW = 64 * 1024
_MAX_LINE_BYTES = 4 * 1024 * 1024
"""A larger line is not looked into: a failed try builds all it has seen."""
_DECODER = json.JSONDecoder(strict=False)


class SalvageResult(NamedTuple):
    """The whole objects in a line and the stretches that belong to none."""

    pieces: list[tuple[int, bytes]]
    gaps: list[tuple[int, int]]


def salvage(line: bytes, tries: int = 2_000) -> SalvageResult:
    """Every complete object in the line, in order, and the gaps between them.

    `tries` bounds the places that may fail, and what all failures together may look
    at is a few times the line: hostile lines cost no more.
    """
    pieces: list[tuple[int, bytes]] = []
    if len(line) > _MAX_LINE_BYTES:
        return SalvageResult(pieces, [(0, len(line))])
    text = line.decode("latin-1")
    gaps: list[tuple[int, int]] = []
    budget = 8 * len(line) + 2_000_000
    base = at = covered = 0
    while (found := _OBJECT.search(text, at - base)) and tries and budget > 0:
        start = found.start() + base
        if start - base > _WINDOW:
            # A failure's cost grows with its distance from the start of the text.
            text, base = text[start - base :], start
        end, cost = _try_object(text, start - base)
        if end:
            _record_gap(line, covered, start, gaps)
            pieces.append((start, line[start : end + base]))
            at = covered = end + base
        else:
            tries -= 1
            budget -= cost
            at = start + 1
    _record_gap(line, covered, len(line), gaps)
    return SalvageResult(pieces, gaps)


def _try_object(text: str, start: int) -> tuple[int, int]:
    """Where the object ends, or 0; and the characters a failed try looked at."""
    try:
        return _DECODER.raw_decode(text, start)[1], 0
    except json.JSONDecodeError as error:
        looked = error.pos - start
        # An unterminated string is reported where it began, but was read to the end.
        if error.msg.startswith("Unterminated"):
            looked = len(text) - start
        return 0, looked
    except (RecursionError, ValueError):
        return 0, min(len(text) - start, 100_000)


def _record_gap(line: bytes, start: int, end: int, gaps: list[tuple[int, int]]) -> None:
    if line[start:end].strip(_FILLER):
        gaps.append((start, end - start))
