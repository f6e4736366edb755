"""Find, append, replace and remove the guide's block in the bytes of a file.

A file may also mention the tags. They count only outside code fences, and only if each
is alone on its line, or if one line begins with the opening tag and ends with the
closing one. Nothing is decoded: the bytes around a block may be in any encoding that
contains ASCII.
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
_LINE_END = rb"[ \t]*\r?(?=\n|\Z)"
_OPENING = re.compile(_TAG + _LINE_END)
_CLOSING = re.compile(re.escape(_CLOSE) + _LINE_END)
_ON_ONE_LINE = re.compile(_TAG + rb"[^\n]*" + re.escape(_CLOSE) + _LINE_END)
_ATTRIBUTE = re.compile(rb"([\w:.-]+)[ \t]*=[ \t]*(" + _VALUE + rb")")
_FENCE = re.compile(rb" {0,3}(`{3,}(?=[^`\n]*(?:\n|\Z))|~{3,})([^\n]*)")

_OpenTag = tuple[int, int, str]
"""Position, line number and version of an opening tag."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuideBlock:
    """Position and version of a block, from its first `<` to its last `>`."""

    start: int
    end: int
    line: int
    """Number of the block's first line, from 1."""
    version: str


def find_blocks(data: bytes) -> list[GuideBlock]:
    """Return all blocks in the file; raise UserError for an unpaired tag."""
    blocks: list[GuideBlock] = []
    open_tag: _OpenTag | None = None
    for line, at in _iter_lines_outside_fences(data):
        if one_line_block := _ON_ONE_LINE.match(data, at):
            _check_closed(open_tag)
            end = data.rindex(_CLOSE, at, one_line_block.end()) + len(_CLOSE)
            version = _parse_version(one_line_block[1])
            blocks.append(_make_block((at, line, version), end))
        elif opening := _OPENING.match(data, at):
            _check_closed(open_tag)
            open_tag = at, line, _parse_version(opening[1])
        elif _CLOSING.match(data, at):
            if open_tag is None:
                raise _make_unpaired_error(line, "ends", "start")
            blocks.append(_make_block(open_tag, at + len(_CLOSE)))
            open_tag = None
    _check_closed(open_tag)
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
    newline = _find_block_newline(data, block)
    return data[: block.start] + text.replace(b"\n", newline) + data[block.end :]


def remove_block(data: bytes, block: GuideBlock) -> bytes:
    """Return the file as it was before the block was appended.

    The blank line above the block is removed too, unless it separates other text.
    """
    before, after = data[: block.start], data[block.end :]
    newline = _find_block_newline(data, block)
    if not after and before.endswith(newline + newline):
        return before[: -2 * len(newline)]
    _, _, below = after.partition(b"\n")
    above = before.removesuffix(newline)
    has_blank_above = above.endswith(b"\n") or above in (b"", BOM)
    if has_blank_above and (not below or below.startswith((b"\n", b"\r\n"))):
        before = above
    return before + below


def find_newline(data: bytes) -> bytes:
    """Return the newline that most lines end with."""
    return b"\r\n" if 2 * data.count(b"\r\n") > data.count(b"\n") else b"\n"


def _find_block_newline(data: bytes, block: GuideBlock) -> bytes:
    """Return the newline of the block, or of the file if the block is one line."""
    block_data = data[block.start : block.end]
    return find_newline(block_data if b"\n" in block_data else data)


def _make_block(open_tag: _OpenTag, end: int) -> GuideBlock:
    start, line, version = open_tag
    return GuideBlock(start=start, end=end, line=line, version=version)


def _parse_version(attributes: bytes) -> str:
    """Return the value of the attribute `version`, empty if there is none."""
    for name, value in _ATTRIBUTE.findall(attributes):
        if name == b"version":
            unquoted: bytes = value[1:-1] if value[:1] in (b'"', b"'") else value
            return unquoted.decode(errors="replace")
    return ""


def _check_closed(open_tag: _OpenTag | None) -> None:
    """Raise UserError if a tag is still open."""
    if open_tag is not None:
        _, line, _ = open_tag
        raise _make_unpaired_error(line, "starts", "end")


def _make_unpaired_error(line: int, verb: str, missing_part: str) -> UserError:
    return UserError(
        f"A guide {verb} on line {line} but has no {missing_part}: "
        "nothing was changed.",
        f"Restore the missing tag or delete line {line}, then try again.",
    )


def _iter_lines_outside_fences(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the number, from 1, and the position of each line outside of code fences.

    A fence that is never closed is ignored: it must not hide a block that was appended
    below it.
    """
    starts = list(_iter_line_starts(data))
    fences = _Fences.find(data, starts)
    index = 0
    while index < len(starts):
        closing_index = fences.find_end(index)
        if closing_index is None:
            yield index + 1, starts[index]
            index += 1
        else:
            index = closing_index + 1


def _iter_line_starts(data: bytes) -> Iterator[int]:
    yield len(BOM) if data.startswith(BOM) else 0
    for newline in re.finditer(rb"\n", data):
        yield newline.end()


@dataclass(frozen=True, slots=True)
class _Fences:
    """All lines that look like a fence.

    `line_indexes` are the indexes of these lines, from 0. `markers` are their backticks
    or tildes, and whether the line can close a fence. `unclosed_lengths` maps a fence
    character to the length of a marker for which `find_end` found no closing line.
    Because `find_end` is called for the lines in order, a later marker of at least that
    length has no closing line, either.
    """

    line_indexes: list[int]
    markers: list[tuple[bytes, bool]]
    unclosed_lengths: dict[bytes, int]

    @classmethod
    def find(cls, data: bytes, starts: list[int]) -> _Fences:
        """Return the fences of a file; `starts` are the positions of its lines."""
        fences = cls([], [], {})
        for line_index, start in enumerate(starts):
            # Only a marker without words after it can close a fence.
            if fence := _FENCE.match(data, start):
                fences.line_indexes.append(line_index)
                fences.markers.append((fence[1], not fence[2].strip()))
        return fences

    def find_end(self, line_index: int) -> int | None:
        """Return the index of the line that closes the fence opened on this line.

        Return None if this line is not a fence or no line closes it.
        """
        opening = bisect_left(self.line_indexes, line_index)
        if (
            opening == len(self.line_indexes)
            or self.line_indexes[opening] != line_index
        ):
            return None
        marker, _ = self.markers[opening]
        # A search that failed is not repeated: hostile files would take quadratic time.
        if len(marker) >= self.unclosed_lengths.get(marker[:1], len(marker) + 1):
            return None
        for closing in range(opening + 1, len(self.line_indexes)):
            closing_marker, can_close = self.markers[closing]
            if can_close and closing_marker.startswith(marker):
                return self.line_indexes[closing]
        self.unclosed_lengths[marker[:1]] = len(marker)
        return None
