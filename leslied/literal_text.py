r"""Search for a literal text in bytes, also where JSON has escaped it.

A text that was quoted as JSON, and perhaps quoted again, contains escapes such as
`\n`, `\"` or `\u00e9`, with more backslashes for each level.
"""

from __future__ import annotations

import re

_SHORT_ESCAPES = {"\b": "b", "\t": "t", "\n": "n", "\f": "f", "\r": "r"}
_UNESCAPED_RUN = re.compile(r"[0-9A-Za-z _.,:;=@#%*+()\[\]{}!?$^~|-]+")
"""Characters for which JSON has no escape but `\\u`."""


class LiteralText:
    """A text to search for. Case matters."""

    def __init__(self, text: str) -> None:
        self._literal = text.encode("utf-8", "surrogatepass")
        self._pattern = re.compile(b"".join(map(_make_pattern, text)))
        runs = _UNESCAPED_RUN.findall(text)
        self._run = max(runs, key=len, default="").encode()
        """Without this part, and without a `\\u`, the data cannot hold the text."""

    def is_in(self, data: bytes) -> bool:
        """Return whether the data contains the text, escaped or not."""
        if self._literal in data:
            return True
        if b"\\" not in data or (self._run not in data and b"\\u" not in data):
            return False
        return self._pattern.search(data) is not None

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


def _make_pattern(character: str) -> bytes:
    """Return a pattern for the character and its escapes."""
    literal = character.encode("utf-8", "surrogatepass")
    if character == "\\":
        return rb"\\+"
    forms = [re.escape(literal)]
    if character in '"/':
        forms = [rb"\\*" + forms[0]]
    elif character in _SHORT_ESCAPES:
        forms.append(rb"\\+" + _SHORT_ESCAPES[character].encode())
    units = character.encode("utf-16-be", "surrogatepass")
    codes = [units[at : at + 2].hex() for at in range(0, len(units), 2)]
    forms.append(b"".join(rb"\\+u(?i:" + code.encode() + b")" for code in codes))
    return b"(?:" + b"|".join(forms) + b")"
