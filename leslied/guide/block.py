"""The block in the bytes of a file: found, put in, replaced, taken out.

A block counts only where its tags stand at the start of a line, each alone on it or
both on one, and outside code fences: a file may well talk about the tag. Nothing here
decodes: the bytes around a block may be in any encoding that contains ASCII.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leslied.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

BOM = b"\xef\xbb\xbf"
_CLOSE = b"</leslie_system_guide>"
_VALUE = rb"""(?:"[^"\n]*"|'[^'\n]*'|[^\s"'<>]+)"""
_TAG = rb"<leslie_system_guide((?:[ \t]+[\w:.-]+[ \t]*=[ \t]*" + _VALUE + rb")*)[ \t]*>"
_REST = rb"[ \t]*\r?(?=\n|\Z)"
_OPENING = re.compile(_TAG + _REST)
_CLOSING = re.compile(re.escape(_CLOSE) + _REST)
_ON_ONE_LINE = re.compile(_TAG + rb"[^\n]*" + re.escape(_CLOSE) + _REST)
_ATTRIBUTE = re.compile(rb"([\w:.-]+)[ \t]*=[ \t]*(" + _VALUE + rb")")
_FENCE = re.compile(rb" {0,3}(`{3,}(?=[^`\n]*(?:\n|\Z))|~{3,})([^\n]*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class GuideBlock:
    """A whole block: from the `<` of its start to the `>` of its end."""

    start: int
    end: int
    line: int
    version: str


def find_blocks(data: bytes) -> list[GuideBlock]:
    """Every block in the file; a start without an end, or an end alone, is refused."""
    found: list[GuideBlock] = []
    opened: tuple[int, int, str] | None = None
    for line, at in _lines_outside_fences(data):
        if whole := _ON_ONE_LINE.match(data, at):
            _refuse_unclosed(opened)
            end = data.rindex(_CLOSE, at, whole.end()) + len(_CLOSE)
            found.append(_make_block((at, line, _read_version(whole[1])), end))
        elif opening := _OPENING.match(data, at):
            _refuse_unclosed(opened)
            opened = at, line, _read_version(opening[1])
        elif _CLOSING.match(data, at):
            if opened is None:
                raise _make_unpaired_error(line, "ends", "start")
            found.append(_make_block(opened, at + len(_CLOSE)))
            opened = None
    _refuse_unclosed(opened)
    return found


def append_block(data: bytes, text: bytes) -> bytes:
    """The file with the block at its end, after a blank line.

    A file without a newline at its end goes on without one: that is how `take_out`
    knows what to give back.
    """
    newline = find_newline(data)
    text = text.replace(b"\n", newline)
    if data.endswith(b"\n") or data in (b"", BOM):
        return data + newline + text + newline
    return data + newline + newline + text


def replace_block(data: bytes, block: GuideBlock, text: bytes) -> bytes:
    """The file with another text in the block's place, with the block's newlines."""
    old = data[block.start : block.end]
    newline = find_newline(old if b"\n" in old else data)
    return data[: block.start] + text.replace(b"\n", newline) + data[block.end :]


def remove_block(data: bytes, block: GuideBlock) -> bytes:
    """The file as if the block had never been appended."""
    before, after = data[: block.start], data[block.end :]
    old = data[block.start : block.end]
    newline = find_newline(old if b"\n" in old else data)
    if not after and before.endswith(newline + newline):
        return before[: -2 * len(newline)]
    _, _, below = after.partition(b"\n")
    above = before.removesuffix(newline)
    was_blank = above.endswith(b"\n") or above in (b"", BOM)
    if was_blank and (not below or below.startswith((b"\n", b"\r\n"))):
        before = above
    return before + below


def find_newline(data: bytes) -> bytes:
    """What most lines end with."""
    return b"\r\n" if 2 * data.count(b"\r\n") > data.count(b"\n") else b"\n"


def _make_block(opened: tuple[int, int, str], end: int) -> GuideBlock:
    start, line, version = opened
    return GuideBlock(start=start, end=end, line=line, version=version)


def _read_version(attributes: bytes) -> str:
    """The value of `version` itself, not of a text that looks like it."""
    for name, value in _ATTRIBUTE.findall(attributes):
        if name == b"version":
            bare: bytes = value[1:-1] if value[:1] in (b'"', b"'") else value
            return bare.decode(errors="replace")
    return ""


def _refuse_unclosed(opened: tuple[int, int, str] | None) -> None:
    if opened is not None:
        raise _make_unpaired_error(opened[1], "starts", "end")


def _make_unpaired_error(line: int, has: str, lacks: str) -> UserError:
    return UserError(
        f"A guide {has} on line {line} and has no {lacks}: nothing was changed.",
        f"Put its other tag back, or delete line {line}; then try again.",
    )


def _lines_outside_fences(data: bytes) -> Iterator[tuple[int, int]]:
    """Number and position of each line that no closed code fence holds.

    A fence that is never closed holds nothing: half of a pair must not hide the block
    that was appended below it.
    """
    starts = list(_line_starts(data))
    fences = _Fences.find(data, starts)
    number = 0
    while number < len(starts):
        end = fences.close(number)
        if end is None:
            yield number + 1, starts[number]
        number = number + 1 if end is None else end + 1


def _line_starts(data: bytes) -> Iterator[int]:
    yield len(BOM) if data.startswith(BOM) else 0
    for newline in re.finditer(rb"\n", data):
        yield newline.end()


@dataclass(frozen=True, slots=True)
class _Fences:
    """Every line that looks like a fence: its number, its mark, and if it can close."""

    numbers: list[int]
    marks: list[tuple[bytes, bool]]
    open_ended: dict[bytes, int]

    @classmethod
    def find(cls, data: bytes, starts: list[int]) -> _Fences:
        found = cls([], [], {})
        for number, at in enumerate(starts):
            if fence := _FENCE.match(data, at):
                found.numbers.append(number)
                found.marks.append((fence[1], not fence[2].strip()))
        return found

    def close(self, number: int) -> int | None:
        """The line that closes the fence which opens on this one."""
        at = bisect_left(self.numbers, number)
        if at == len(self.numbers) or self.numbers[at] != number:
            return None
        mark, _ = self.marks[at]
        # What nothing below closes, is not looked for again: hostile files stay cheap.
        if len(mark) >= self.open_ended.get(mark[:1], len(mark) + 1):
            return None
        for below in range(at + 1, len(self.numbers)):
            other, can_close = self.marks[below]
            if can_close and other.startswith(mark):
                return self.numbers[below]
        self.open_ended[mark[:1]] = len(mark)
        return None
