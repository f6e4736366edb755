"""Find, append, replace and remove the guide's block in the bytes of a file.

Tags count only at the start of a line, each alone on its line or both on the same one,
and outside code fences, because a file may mention the tag. Nothing is decoded: the
bytes around a block may be in any encoding that contains ASCII.
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
    """Position and version of a block, from its first `<` to its last `>`."""

    start: int
    end: int
    line: int
    version: str


def find_blocks(data: bytes) -> list[GuideBlock]:
    """Return all blocks in the file; raises UserError for an unpaired tag."""
    blocks: list[GuideBlock] = []
    opened: tuple[int, int, str] | None = None
    for line, at in _lines_outside_fences(data):
        if one_line := _ON_ONE_LINE.match(data, at):
            _refuse_unclosed(opened)
            end = data.rindex(_CLOSE, at, one_line.end()) + len(_CLOSE)
            blocks.append(_make_block((at, line, _read_version(one_line[1])), end))
        elif opening := _OPENING.match(data, at):
            _refuse_unclosed(opened)
            opened = at, line, _read_version(opening[1])
        elif _CLOSING.match(data, at):
            if opened is None:
                raise _make_unpaired_error(line, "ends", "start")
            blocks.append(_make_block(opened, at + len(_CLOSE)))
            opened = None
    _refuse_unclosed(opened)
    return blocks


def append_block(data: bytes, text: bytes) -> bytes:
    """Return the file with the block at its end, after a blank line.

    If the file does not end with a newline, the result does not either, so that
    `remove_block` can restore the original bytes.
    """
    newline = find_newline(data)
    text = text.replace(b"\n", newline)
    if data.endswith(b"\n") or data in (b"", BOM):
        return data + newline + text + newline
    return data + newline + newline + text


def replace_block(data: bytes, block: GuideBlock, text: bytes) -> bytes:
    """Return the file with `text` in place of the block, with the block's newlines."""
    old = data[block.start : block.end]
    newline = find_newline(old if b"\n" in old else data)
    return data[: block.start] + text.replace(b"\n", newline) + data[block.end :]


def remove_block(data: bytes, block: GuideBlock) -> bytes:
    """Return the file as it was before the block was appended."""
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
    """Return the newline that most lines end with."""
    return b"\r\n" if 2 * data.count(b"\r\n") > data.count(b"\n") else b"\n"


def _make_block(opened: tuple[int, int, str], end: int) -> GuideBlock:
    start, line, version = opened
    return GuideBlock(start=start, end=end, line=line, version=version)


def _read_version(attributes: bytes) -> str:
    """Return the value of the attribute `version`, empty if there is none."""
    for name, value in _ATTRIBUTE.findall(attributes):
        if name == b"version":
            unquoted: bytes = value[1:-1] if value[:1] in (b'"', b"'") else value
            return unquoted.decode(errors="replace")
    return ""


def _refuse_unclosed(opened: tuple[int, int, str] | None) -> None:
    if opened is not None:
        raise _make_unpaired_error(opened[1], "starts", "end")


def _make_unpaired_error(line: int, verb: str, missing_part: str) -> UserError:
    return UserError(
        f"A guide {verb} on line {line} but has no {missing_part}: "
        "nothing was changed.",
        f"Restore the missing tag or delete line {line}, then try again.",
    )


def _lines_outside_fences(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield number and position of each line outside of closed code fences.

    A fence that is never closed is ignored: it must not hide a block that was appended
    below it.
    """
    starts = list(_line_starts(data))
    fences = _Fences.find(data, starts)
    number = 0
    while number < len(starts):
        end = fences.find_end(number)
        if end is None:
            yield number + 1, starts[number]
        number = number + 1 if end is None else end + 1


def _line_starts(data: bytes) -> Iterator[int]:
    yield len(BOM) if data.startswith(BOM) else 0
    for newline in re.finditer(rb"\n", data):
        yield newline.end()


@dataclass(frozen=True, slots=True)
class _Fences:
    """Lines that look like a fence: number, marker, and whether it can close one."""

    numbers: list[int]
    markers: list[tuple[bytes, bool]]
    open_ended: dict[bytes, int]

    @classmethod
    def find(cls, data: bytes, starts: list[int]) -> _Fences:
        fences = cls([], [], {})
        for number, at in enumerate(starts):
            if fence := _FENCE.match(data, at):
                fences.numbers.append(number)
                fences.markers.append((fence[1], not fence[2].strip()))
        return fences

    def find_end(self, number: int) -> int | None:
        """Return the line that closes the fence opened on this line, or None."""
        at = bisect_left(self.numbers, number)
        if at == len(self.numbers) or self.numbers[at] != number:
            return None
        marker, _ = self.markers[at]
        # A search that failed once is not repeated: it keeps hostile files linear.
        if len(marker) >= self.open_ended.get(marker[:1], len(marker) + 1):
            return None
        for index in range(at + 1, len(self.numbers)):
            other, can_close = self.markers[index]
            if can_close and other.startswith(marker):
                return self.numbers[index]
        self.open_ended[marker[:1]] = len(marker)
        return None
