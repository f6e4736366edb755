r"""Search for a literal text in bytes, also where JSON has escaped it.

A text that was quoted as JSON, and perhaps quoted again, contains escapes such as
`\n`, `\"` or `\u00e9`, with more backslashes for each level.
"""

from __future__ import annotations

import re

_SHORT_ESCAPES = {"\b": "b", "\t": "t", "\n": "n", "\f": "f", "\r": "r"}
_BACKSLASHES = rb"(?:\\{1,16})"
"""The backslashes before an escape: 1, 3, 7 or 15, for up to four levels."""
_UNESCAPED_RUN = re.compile(r"[0-9A-Za-z _.,:;=@#%*+()\[\]{}!?$^~|-]+")
"""Characters for which JSON has no escape but `\\u`."""


class LiteralText:
    """A text to search for. Case matters."""

    def __init__(self, text: str) -> None:
        self._literal = text.encode("utf-8", "surrogatepass")
        parts = re.findall(r"\\+|[^\\]", text)
        self._pattern = re.compile(b"".join(map(_make_pattern, parts)))
        runs = _UNESCAPED_RUN.findall(text)
        self._longest_run = max(runs, key=len, default="").encode()
        """Data that has neither this part nor a `\\u` cannot contain the text."""

    def is_in(self, data: bytes) -> bool:
        """Return whether the data contains the text, escaped or not."""
        if self._literal in data:
            return True
        # Skip the slow search if nothing is escaped, or a part of the text is missing.
        if b"\\" not in data or (self._longest_run not in data and b"\\u" not in data):
            return False
        return self._pattern.search(data) is not None

    def erase(self, data: bytes) -> bytes:
        """Return the data with asterisks for the text; lines keep their lengths."""
        return self._pattern.sub(lambda m: re.sub(rb"[^\n]", b"*", m[0]), data)

    def is_in_values(self, *values: object) -> bool:
        """Return whether any of the values, texts or bytes, contains the text."""
        return any(
            self.is_in(
                value.encode("utf-8", "surrogatepass")
                if isinstance(value, str)
                else value
            )
            for value in values
            if value and isinstance(value, str | bytes)
        )


def _make_pattern(part: str) -> bytes:
    """Return a pattern for a character, or a run of backslashes, and its escapes.

    Repetitions have a limit, because data may consist of backslashes.
    """
    if part[0] == "\\":
        return rb"(?:\\|\\u005[cC]){%d,%d}" % (len(part), len(part) * 16)
    literal = re.escape(part.encode("utf-8", "surrogatepass"))
    forms = [_BACKSLASHES + b"?" + literal if part in '"/' else literal]
    if part in _SHORT_ESCAPES:
        forms.append(_BACKSLASHES + _SHORT_ESCAPES[part].encode())
    units = part.encode("utf-16-be", "surrogatepass")
    codes = [units[at : at + 2].hex() for at in range(0, len(units), 2)]
    forms.append(
        b"".join(_BACKSLASHES + b"u(?i:" + code.encode() + b")" for code in codes)
    )
    return b"(?:" + b"|".join(forms) + b")"
