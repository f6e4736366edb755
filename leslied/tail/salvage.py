"""Extract complete JSON objects from a damaged line, with bounded work.

Agents leave lines with two objects, with a torn object before a complete one, or with a
run of NUL bytes before an object. Every complete object is extracted; the bytes between
them are reported as gaps. The line is scanned as Latin-1, so that positions are byte
positions; invalid UTF-8 is left to the decoder.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

_OBJECT = re.compile(r'\{\s*"')
_FILLER = b"\0 \t\r\n\xef\xbb\xbf"
"""Bytes that carry no content: NUL, white space, and a byte order mark."""
_MAX_SCANNED_CHARACTERS = 64 * 1024
"""Longest text before the current position; a longer one is cut off."""
_MAX_LINE_BYTES = 4 * 1024 * 1024
"""Longest line that is searched. A failed parse builds all objects up to the error, so
that longer lines would need too much memory."""
_MAX_PIECES = 5_000
"""Largest number of objects that are extracted; the rest of the line is a gap."""
_DECODER = json.JSONDecoder(strict=False)


class SalvageResult(NamedTuple):
    """Complete objects as (position, bytes), and gaps as (position, length)."""

    pieces: list[tuple[int, bytes]]
    gaps: list[tuple[int, int]]


def salvage(line: bytes, tries: int = 2_000) -> SalvageResult:
    """Return all complete objects in the line, in order, and the gaps between them.

    Work is bounded even for hostile lines: at most `tries` positions may fail, and all
    failures together may read a few times the line's length.
    """
    pieces: list[tuple[int, bytes]] = []
    if len(line) > _MAX_LINE_BYTES:
        return SalvageResult(pieces, [(0, len(line))])
    text = line.decode("latin-1")
    gaps: list[tuple[int, int]] = []
    budget = 8 * len(line) + 2_000_000
    # Positions in the line: of the text's first character, of the next search, and of
    # the end of the last object. Positions in the text are lower by `text_start`.
    text_start = position = object_end = 0
    while tries and budget > 0 and len(pieces) < _MAX_PIECES:
        match = _OBJECT.search(text, position - text_start)
        if match is None:
            break
        start = match.start() + text_start
        if start - text_start > _MAX_SCANNED_CHARACTERS:
            # The cost of a failure grows with its distance from the start of the text,
            # because JSONDecodeError counts lines from there.
            text, text_start = text[start - text_start :], start
        end, cost = _try_object(text, start - text_start)
        if end:
            _record_gap(line, object_end, start, gaps)
            position = object_end = end + text_start
            pieces.append((start, line[start:object_end]))
        else:
            tries -= 1
            budget -= cost
            position = start + 1
    _record_gap(line, object_end, len(line), gaps)
    return SalvageResult(pieces, gaps)


def _try_object(text: str, start: int) -> tuple[int, int]:
    """Return the end of the object, or 0, and the characters that a failure read."""
    try:
        return _DECODER.raw_decode(text, start)[1], 0
    except json.JSONDecodeError as error:
        cost = error.pos - start
        # An unterminated string is reported at its start, but was read to the end.
        if error.msg.startswith("Unterminated"):
            cost = len(text) - start
        return 0, cost
    except (RecursionError, ValueError):
        # These do not say how far they read; this is an estimate.
        return 0, min(len(text) - start, 100_000)


def _record_gap(line: bytes, start: int, end: int, gaps: list[tuple[int, int]]) -> None:
    """Add the bytes from start to end to `gaps`, unless they are only filler."""
    if line[start:end].strip(_FILLER):
        gaps.append((start, end - start))
