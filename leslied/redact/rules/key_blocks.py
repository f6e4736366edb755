"""Private keys in armour, whole or cut, whatever stands before and after their lines.

Tools put line numbers, file names, diff marks, quotes or table cells around the lines,
so that a line belongs to a key if it has a long run of base64.
"""

from __future__ import annotations

import re

from leslied.redact.rules._rule import Rule

_MAX_LENGTH = 16_000
_MAX_HEADER_LINES = 8
"""Lines between the first line and the key, such as `DEK-Info` and blank lines."""
_NAME = r"(?:PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1) ?-{3,5}"
_END = re.compile(rf"-{{3,5}} ?END [A-Z0-9 ]{{0,40}}{_NAME}")
_LINE = re.compile(r"[^\r\n]*[\r\n]|[^\r\n]+")
_MIN_LINE_LENGTH = 40
_RUN = re.compile(
    rf"[A-Za-z0-9+/]{{{_MIN_LINE_LENGTH},}}={{0,3}}|(?<![,\w])[0-9a-f]{{32}}(?!\w)"
)
"""A line of base64, or of an OpenVPN key."""
_RUN_START = re.compile(
    rf"(?<![A-Za-z0-9+/])(?:[A-Za-z0-9+/]{{{_MIN_LINE_LENGTH}}}|[0-9a-f]{{32}}(?!\w))"
)
"""Like `_RUN`, but faster to find."""
_LAST_LINE = re.compile(r"(?:^|[\W_]|\d\W)(?P<run>[A-Za-z0-9+/]{4,39}={0,3})\W*$")

_MIXED = re.compile(r"(?=.*\d)(?=.*[a-z])(?=.*[A-Z]).{8}")


def has_key_line(text: str, end: int) -> bool:
    """Return whether what may be a line of a key begins before `end`.

    Only the last line of the key, which may be far below, shows that it is one.
    """
    return _RUN_START.search(text, 0, end + _MIN_LINE_LENGTH) is not None


def _find_end(text: str, start: int) -> int:
    """Return where the key ends whose first line ends at `start`."""
    end = position = start
    header_lines = 0
    for match in _LINE.finditer(text, start, start + _MAX_LENGTH):
        line = match[0]
        if marker := _END.search(line):
            return position + marker.end()
        if not line.strip():
            position += len(line)
            continue
        if runs := [*_RUN.finditer(line)]:
            end = position + runs[-1].end()
            # No more header lines may follow.
            header_lines = _MAX_HEADER_LINES
        elif header_lines >= _MAX_HEADER_LINES:
            return _find_end_of_last_line(text, position, line, end)
        header_lines += 1
        position += len(line)
    return end


def _find_end_of_last_line(text: str, position: int, line: str, end: int) -> int:
    """Return the end of a short last line, or of the marker that follows it.

    Return `end` if there is neither.
    """
    marker = _END.search(text, position + len(line), position + len(line) + 300)
    if marker:
        return marker.end()
    last = _LAST_LINE.search(line)
    return position + last.end("run") if last and _looks_random(last["run"]) else end


def _looks_random(run: str) -> bool:
    """Return whether a short run is more likely part of a key than a word."""
    return "=" in run or bool(_MIXED.match(run))


def _find_lines_before(text: str) -> tuple[int, int] | None:
    """Return the range of the key that the text ends with, or None."""
    start = None
    position = len(text)
    short_lines = 0
    for line in reversed(_LINE.findall(text)):
        position -= len(line)
        if run := _RUN.search(line):
            start = position + run.start()
        elif line.strip() and (start is not None or short_lines > 1):
            break
        elif line.strip():
            # What stands before the marker on its line, and a short last line.
            short_lines += 1
    return None if start is None else (start, len(text))


RULES = (
    Rule(
        "private-key",
        ("private key", "openvpn static key"),
        _NAME,
        lead=r"-{3,5} ?BEGIN [A-Z0-9 ]{0,40}",
        before=60,
        after=80,
        find_end=_find_end,
    ),
    Rule(
        "private-key",
        ("-----end ", "---- end "),
        _END.pattern,
        lead=_find_lines_before,
        before=_MAX_LENGTH,
        after=80,
    ),
    Rule(
        "putty-key",
        ("private-lines:",),
        r"Private-Lines: \d{1,4}",
        after=80,
        find_end=_find_end,
    ),
)
