"""Texts as they read without escapes, colour codes and entities.

A secret may be percent-encoded, in JSON in JSON, or have colour codes inside. Rules
see the decoded text; what they find is mapped back to the original.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate

_MAX_DEPTH = 4
"""Number of times that a text is decoded, for JSON in JSON in a URL."""
_SPACES = {"n": "\n", "r": "\r", "t": "\t"}
_FLAT_STARTS = {c: f" {_SPACES.get(c, c)}" for c in "nrt\"'`"}
"""Replacements of simple escapes, by what follows the backslash."""
_INVISIBLE = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff"
_COLOUR = (
    r"(?:\[[0-?]{0,40}[ -/]{0,4}[@-~]|[()][A-Z0-9]"
    r"|\][^\x07\x1b]{0,300}+(?:\x07|\x1b\\))"
)
_CODE = "(?:[2-7][0-9a-fA-F]|0[9aAdD])"
_BACKSLASH_REST = (
    rf"(?:(?:u00|x){_CODE}|u(?:00[01][0-9a-fA-F]|2192)|[/=&:@$#\\\"'`nrt-]"
    rf"|(?:x1[bB]|033|e){_COLOUR})"
)
"""What follows the backslash of an escape."""
_OTHER_RESTS = {
    "%": _CODE,
    "&": r"(?:#\d{2,3}|#[xX][0-9a-fA-F]{2}|quot|amp|lt|gt|apos|equals|colon|sol"
    r"|lowbar);",
    "\x1b": f"{_COLOUR}?",
    "^": rf"\[{_COLOUR}",
}
"""What follows the first character of each other kind of escape."""
_BACKSLASH_ESCAPE = re.compile(rf"(\\{_BACKSLASH_REST})")
_OTHER_ESCAPES = {
    sign: re.compile(re.escape(sign) + rest) for sign, rest in _OTHER_RESTS.items()
}
_ESCAPE = re.compile(
    # A set of many characters in front makes the search fast.
    rf"([\\%&\x1b^{_INVISIBLE}](?:(?<=\\){_BACKSLASH_REST}|(?<=[{_INVISIBLE}])|"
    + "|".join(f"(?<={re.escape(sign)}){rest}" for sign, rest in _OTHER_RESTS.items())
    + "))"
)
_HIDDEN = {
    "\\": re.compile(r"\\[u\\/x0e]"),
    "%": re.compile("%[0-7][0-9a-fA-F]"),
    "&": re.compile("&(?:#|quot|amp|lt|gt|apos|equals|colon|sol|low)"),
    "\x1b": re.compile("\x1b"),
    "^": re.compile(r"\^\["),
}
"""Starts of escapes that may stand for a letter or for nothing."""
_CHARACTERS_PER_BACKSLASH = 100
"""In a text with fewer characters per backslash, such as JSON, `replace` is faster."""
_CODE_LENGTH = len(r"\x41")


@dataclass(frozen=True)
class DecodedText:
    """A text without escapes, and where its parts are in the original."""

    text: str
    previous: DecodedText | None = None
    """The text before its escapes were replaced; None in the original."""

    def find_original(self, start: int, end: int) -> tuple[int, int]:
        """Return the range of the original that reads as this range of the text."""
        if not self.previous:
            return start, end
        starts, previous_starts = self._starts
        first = bisect_right(starts, start) - 1
        last = bisect_right(starts, end - 1) - 1
        # Text and escapes alternate: a part with an odd index is an escape, and all of
        # it belongs to the range.
        previous_start, previous_end = previous_starts[first], previous_starts[last + 1]
        if first % 2 == 0:
            previous_start += start - starts[first]
        if last % 2 == 0:
            previous_end -= starts[last + 1] - end
        return self.previous.find_original(previous_start, previous_end)

    @cached_property
    def _starts(self) -> tuple[list[int], list[int]]:
        """Positions of the parts in the text, and in the previous text.

        Each list has the starts of all parts, and the end of the last one.

        Few texts have secrets, so the text is split again here instead of storing its
        parts.
        """
        parts = _split(self.previous.text) if self.previous else []
        previous_starts = [0, *accumulate(map(len, parts))]
        _decode_parts(parts)
        return [0, *accumulate(map(len, parts))], previous_starts


def flatten(text: str) -> str:
    """Return the text with a space for the backslash of each simple escape."""
    if text.count("\\") > len(text) / _CHARACTERS_PER_BACKSLASH:
        for name in ("n", '"'):
            text = text.replace(f"\\{name}", _FLAT_STARTS[name])
    first, *others = text.split("\\")
    parts = [
        f"\\{part}"
        if (start := _FLAT_STARTS.get(part[:1])) is None
        else start + part[1:]
        for part in others
    ]
    return first + "".join(parts)


def hides_letters(text: str) -> bool:
    """Return whether a text has escapes that may stand for a letter or for nothing."""
    return _has_any(text, _HIDDEN) or _has_invisible(text)


def _has_any(text: str, patterns: dict[str, re.Pattern[str]]) -> bool:
    """Return whether one of the patterns matches, which begin with their key.

    A search for one character is many times faster than one for a set of them.
    """
    return any(sign in text and p.search(text) for sign, p in patterns.items())


def _has_invisible(text: str) -> bool:
    return not text.isascii() and any(c in text for c in _INVISIBLE)


def decode(text: str) -> DecodedText:
    """Return the text without any escapes, also nested ones."""
    current = DecodedText(text)
    for _ in range(_MAX_DEPTH):
        parts = _split(current.text)
        if len(parts) == 1:
            break
        _decode_parts(parts)
        if not (following := "".join(parts)):
            break
        current = DecodedText(following, current)
    return current


def _split(text: str) -> list[str]:
    """Split a text at its escapes, which are the items with an odd index."""
    if _has_any(text, _OTHER_ESCAPES) or _has_invisible(text):
        return _ESCAPE.split(text)
    return _BACKSLASH_ESCAPE.split(text)


def _decode_parts(parts: list[str]) -> None:
    """Replace the escapes among the parts of a text."""
    parts[1::2] = map(_decode_escape, parts[1::2])


@lru_cache(maxsize=1000)
def _decode_escape(escape: str) -> str:
    """Return the character that an escape stands for; "" for a colour code."""
    name, code = escape[1:2], escape[2:]
    if escape[0] == "&":
        return html.unescape(escape)
    if escape[0] == "%":
        return chr(int(escape[1:], 16))
    if escape[0] != "\\" or name in "0e":
        return ""
    if name == "u" or (name == "x" and len(escape) == _CODE_LENGTH):
        return chr(int(code, 16))
    return "" if name == "x" else _SPACES.get(name, name)
