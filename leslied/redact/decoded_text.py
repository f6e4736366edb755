"""Texts as they read without escapes, colour codes and entities.

A secret may be percent-encoded, in JSON in JSON, or have colour codes inside. Rules
see the decoded text; what they find is mapped back to the original.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise

_MAX_DEPTH = 4
"""Number of times that a text is decoded, for JSON in JSON in a URL."""
_SAME_LENGTH_ESCAPES = tuple(
    (f"\\{name}", f" {character}")
    for name, character in (
        *(("n", "\n"), ("r", "\r"), ("t", "\t")),
        *(('"', '"'), ("'", "'"), ("`", "`")),
    )
)
_SIGN = re.compile(r"[\\%&\x1b^\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")
"""The first character of every escape."""
_ESCAPE = re.compile(
    r"(?:\\u00|\\x|%)(?P<code>[2-7][0-9a-fA-F]|0[9aAdD])"
    r"|\\u(?P<wide>00[01][0-9a-fA-F]|2192)|\\(?P<sign>[/=&:@$#\\\"'`-])"
    r"|\\(?P<space>[nrt])"
    r"|(?P<entity>&(?:#\d{2,3}|#[xX][0-9a-fA-F]{2}|quot|amp|lt|gt|apos|equals|colon"
    r"|sol|lowbar);)"
    r"|(?:\x1b|\\x1[bB]|\\033|\\e|\^\[)"
    r"(?:\[[0-?]{0,40}[ -/]{0,4}[@-~]|\][^\x07\x1b]{0,300}(?:\x07|\x1b\\)|[()][A-Z0-9])"
    r"|\x1b|[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]"
)


_OTHER_ESCAPE = re.compile(
    r"\\[u\\/x0e]|%[0-7][0-9a-fA-F]|&(?:#|quot|amp|lt|gt|apos|equals|colon|sol|low)"
    r"|[\x1b\u00ad\u200b-\u200f\u2060-\u2064\ufeff]|\^\["
)
"""An escape that is not replaced by as many characters."""
_SPACES = {"n": "\n", "r": "\r", "t": "\t"}


@dataclass(frozen=True, slots=True)
class DecodedText:
    """A text without escapes, and where its parts are in the original."""

    text: str
    starts: tuple[int, ...] = (0,)
    """Where each part begins in `text`, ascending."""
    original_starts: tuple[int, ...] = (0,)
    """Where each part begins in the original."""
    original_ends: tuple[int, ...] = ()
    """Where each part ends in the original; empty if the text is the original."""

    def find_original(self, start: int, end: int) -> tuple[int, int]:
        """Return the range of the original that reads as this range of the text."""
        if not self.original_ends:
            return start, end
        first = bisect_right(self.starts, start) - 1
        last = bisect_right(self.starts, end - 1) - 1
        return self._map(first, start, is_end=False), self._map(last, end, is_end=True)

    def _map(self, part: int, position: int, *, is_end: bool) -> int:
        offset = position - self.starts[part]
        start, end = self.original_starts[part], self.original_ends[part]
        following = self.starts[part + 1] if part + 1 < len(self.starts) else None
        length = (following if following is not None else len(self.text)) - (
            self.starts[part]
        )
        if end - start == length:
            return start + offset
        # The part is an escape: it belongs to the range as a whole.
        return end if is_end else start


def has_escapes(text: str) -> bool:
    """Return whether a text may have escapes."""
    return _SIGN.search(text) is not None


def flatten(text: str) -> DecodedText:
    """Return the text with a space for the backslash of each simple escape."""
    if "\\" not in text:
        return DecodedText(text)
    for escape, character in _SAME_LENGTH_ESCAPES:
        text = text.replace(escape, character)
    return DecodedText(text)


def hides_letters(text: str) -> bool:
    """Return whether a text has escapes that may stand for a letter or for nothing."""
    return _OTHER_ESCAPE.search(text) is not None


def decode_text(text: str) -> str:
    """Return the text of `decode`, which takes longer."""
    for _ in range(_MAX_DEPTH):
        following = _replace_escapes(text)
        if following == text:
            break
        text = following
    return text


def _replace_escapes(text: str) -> str:
    parts: list[str] = []
    position = 0
    for sign in _SIGN.finditer(text):
        start = sign.start()
        if start < position or not (match := _ESCAPE.match(text, start)):
            continue
        parts += (text[position:start], _decode_escape(match))
        position = match.end()
    parts.append(text[position:])
    return "".join(parts)


def decode(text: str) -> DecodedText:
    """Return the text without any escapes, also nested ones."""
    current = DecodedText(text)
    for _ in range(_MAX_DEPTH):
        following = _decode_once(current)
        if following is None:
            break
        current = following
    return current


def _decode_once(source: DecodedText) -> DecodedText | None:
    """Replace every escape by its character; return None if there is none."""
    parts: list[str] = []
    starts: list[int] = []
    original_starts: list[int] = []
    original_ends: list[int] = []
    position = length = 0

    def add(part: str, start: int, end: int) -> None:
        nonlocal length
        if not part:
            return
        first, last = source.find_original(start, end)
        parts.append(part)
        starts.append(length)
        original_starts.append(first)
        original_ends.append(last)
        length += len(part)

    for sign in _SIGN.finditer(source.text):
        if sign.start() < position:
            continue
        match = _ESCAPE.match(source.text, sign.start())
        if match is None:
            continue
        for start, end in _split(source, position, match.start()):
            add(source.text[start:end], start, end)
        add(_decode_escape(match), match.start(), match.end())
        position = match.end()
    if not position:
        return None
    for start, end in _split(source, position, len(source.text)):
        add(source.text[start:end], start, end)
    text = "".join(parts)
    if not text:
        return None
    return DecodedText(
        text, tuple(starts), tuple(original_starts), tuple(original_ends)
    )


def _split(source: DecodedText, start: int, end: int) -> list[tuple[int, int]]:
    """Split a range at the boundaries of the source's parts, so that offsets hold."""
    if start >= end:
        return []
    if not source.original_ends:
        return [(start, end)]
    first = bisect_right(source.starts, start)
    last = bisect_right(source.starts, end - 1)
    cuts = [start, *source.starts[first:last], end]
    return list(pairwise(cuts))


def _decode_escape(match: re.Match[str]) -> str:
    """Return the character that an escape stands for; "" for a colour code."""
    code = match["code"] or match["wide"]
    if code:
        return chr(int(code, 16))
    if match["space"]:
        return _SPACES[match["space"]]
    return match["sign"] or html.unescape(match["entity"] or "")
