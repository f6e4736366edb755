"""Read commits from a Git repository, to find the first one.

Loose objects and packs are read with a bound on every size; hashes are not verified.
"""

from __future__ import annotations

import os
import re
import struct
import zlib
from bisect import bisect_left
from contextlib import ExitStack
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Self

from leslied.fs import READ_FLAGS

if TYPE_CHECKING:
    from pathlib import Path

MAX_COMMITS = 200_000
"""Length of the history after which the first commit counts as unknown."""
_MAX_COMMIT_BYTES = 1_000_000
_MAX_DELTA_DEPTH = 50
_MAX_PACKS = 1000
_HEADER_BYTES = 64
"""More than a pack's object header has: type, size, and the base of a delta."""
_INDEX_MAGIC = b"\xfftOc\0\0\0\x02"
_FAN_OUT_END = 8 + 4 * 256
_LARGE_OFFSET = 0x8000_0000
_COMMIT, _OFFSET_DELTA, _REFERENCE_DELTA = 1, 6, 7
_PARENT = re.compile(rb"parent ([0-9a-f]{40,64})$")


class ObjectError(Exception):
    """An object is missing or damaged."""


class Walk(NamedTuple):
    """How far the history was followed."""

    commit: str
    """The last commit that was reached."""
    commits: int
    """Number of commits that were read."""
    is_first: bool
    """Whether the commit has no parent."""


def walk_first_parents(git_dir: Path, commit: str, limit: int) -> Walk:
    """Follow first parents from a commit, at most `limit` commits.

    Raise ObjectError if a commit cannot be read, as at the end of a shallow clone.
    """
    with ObjectReader(git_dir) as reader:
        for count in range(1, limit + 1):
            parent = _find_first_parent(reader.read_commit(commit))
            if not parent:
                return Walk(commit, count, is_first=True)
            commit = parent
    return Walk(commit, limit, is_first=False)


def _find_first_parent(data: bytes) -> str:
    """Return the id of the first parent, or "" if the commit has none."""
    for line in data.split(b"\n"):
        match = _PARENT.match(line)
        if match:
            return match[1].decode()
        if not line or line.startswith(b"author "):
            break
    return ""


class ObjectReader:
    """Reader of a repository's commits; use it as a context manager."""

    def __init__(self, git_dir: Path) -> None:
        self._folder = git_dir / "objects"
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def read_commit(self, object_id: str) -> bytes:
        """Return a commit's text; raise ObjectError if it cannot be read."""
        try:
            loose = self._read_loose(object_id)
            return loose or self._read_packed(bytes.fromhex(object_id), 0)
        except (OSError, ValueError, IndexError, zlib.error, struct.error) as error:
            raise ObjectError(f"{object_id}: {error}") from error

    def _read_loose(self, object_id: str) -> bytes:
        """Return the text of a commit that has a file of its own, else b""."""
        try:
            path = self._folder / object_id[:2] / object_id[2:]
            fd = os.open(path, READ_FLAGS)
        except FileNotFoundError:
            return b""
        with os.fdopen(fd, "rb") as file:
            data = _inflate(file.read(_MAX_COMMIT_BYTES), _MAX_COMMIT_BYTES)
        header, _, body = data.partition(b"\0")
        if not header.startswith(b"commit "):
            raise ObjectError(f"{object_id} is not a commit")
        return body

    def _read_packed(self, object_id: bytes, depth: int) -> bytes:
        for pack in self._packs:
            offset = pack.find(object_id)
            if offset is not None:
                return self._read_at(pack, offset, depth)
        raise ObjectError(f"{object_id.hex()} is missing")

    def _read_at(self, pack: _Pack, offset: int, depth: int) -> bytes:
        """Return the object at an offset of a pack; apply deltas to their base."""
        if depth > _MAX_DELTA_DEPTH:
            raise ObjectError("too many deltas")
        header = os.pread(pack.data_fd, _HEADER_BYTES, offset)
        kind, size, position = _parse_header(header)
        if kind == _OFFSET_DELTA:
            distance, position = _parse_distance(header, position)
            base = self._read_at(pack, offset - distance, depth + 1)
        elif kind == _REFERENCE_DELTA:
            end = position + pack.id_bytes
            base = self._read_packed(header[position:end], depth + 1)
            position = end
        elif kind == _COMMIT:
            base = b""
        else:
            raise ObjectError("not a commit")
        # Compressed data is at most slightly larger than the data itself.
        packed = os.pread(pack.data_fd, size + size // 100 + 128, offset + position)
        data = _inflate(packed, size)
        return data if kind == _COMMIT else _apply_delta(base, data)

    @cached_property
    def _packs(self) -> list[_Pack]:
        paths = sorted((self._folder / "pack").glob("*.idx"))[:_MAX_PACKS]
        return [_Pack(path, self._stack) for path in paths]


class _Pack:
    """One pack and its index, version 2."""

    def __init__(self, index: Path, stack: ExitStack) -> None:
        self._fd = os.open(index, READ_FLAGS)
        stack.callback(os.close, self._fd)
        self.data_fd = os.open(index.with_suffix(".pack"), READ_FLAGS)
        stack.callback(os.close, self.data_fd)
        head = os.pread(self._fd, _FAN_OUT_END, 0)
        if not head.startswith(_INDEX_MAGIC):
            raise ObjectError(f"{index} has an unknown version")
        self._fan_out = (0, *struct.unpack_from(">256I", head, 8))
        count = self._fan_out[-1]
        # The index ends with two checksums; the offsets of large packs precede them.
        size = os.fstat(self._fd).st_size
        self.id_bytes = 32 if size >= _FAN_OUT_END + count * 40 + 64 else 20

    def find(self, object_id: bytes) -> int | None:
        """Return the offset of an object in the pack, or None."""
        first, end = self._fan_out[object_id[0]], self._fan_out[object_id[0] + 1]
        number = bisect_left(range(end), object_id, lo=first, key=self._read_id)
        is_present = number < end and self._read_id(number) == object_id
        return self._get_offset(number) if is_present else None

    def _read_id(self, number: int) -> bytes:
        position = _FAN_OUT_END + number * self.id_bytes
        return os.pread(self._fd, self.id_bytes, position)

    def _get_offset(self, number: int) -> int:
        """Return the offset in the pack of the object at this place in the index."""
        count = self._fan_out[-1]
        offsets = _FAN_OUT_END + count * (self.id_bytes + 4)
        offset = self._read_number(">I", offsets + 4 * number)
        if offset < _LARGE_OFFSET:
            return offset
        large = offset - _LARGE_OFFSET
        return self._read_number(">Q", offsets + 4 * count + 8 * large)

    def _read_number(self, form: str, position: int) -> int:
        data = os.pread(self._fd, struct.calcsize(form), position)
        return int(struct.unpack(form, data)[0])


def _inflate(data: bytes, size: int) -> bytes:
    """Decompress at most `size` bytes."""
    if size > _MAX_COMMIT_BYTES:
        raise ObjectError("too large")
    return zlib.decompressobj().decompress(data, max(size, 1))


def _parse_header(data: bytes) -> tuple[int, int, int]:
    """Return type, size and the length of the header of an object in a pack."""
    kind, size, shift, position = (data[0] >> 4) & 7, data[0] & 15, 4, 1
    while data[position - 1] & 0x80:
        size |= (data[position] & 0x7F) << shift
        shift += 7
        position += 1
    if size > _MAX_COMMIT_BYTES:
        raise ObjectError("too large")
    return kind, size, position


def _parse_distance(data: bytes, position: int) -> tuple[int, int]:
    """Return how far before a delta its base is, and the position after the number."""
    value = data[position] & 0x7F
    while data[position] & 0x80:
        position += 1
        value = ((value + 1) << 7) | (data[position] & 0x7F)
    if not value:
        raise ObjectError("a delta is its own base")
    return value, position + 1


def _parse_size(data: bytes, position: int) -> tuple[int, int]:
    """Return the size at a position of a delta, and the position after it."""
    size = shift = 0
    while True:
        size |= (data[position] & 0x7F) << shift
        shift += 7
        position += 1
        if not data[position - 1] & 0x80:
            return size, position


def _apply_delta(base: bytes, delta: bytes) -> bytes:
    """Return the object that a delta makes of its base."""
    _, position = _parse_size(delta, 0)
    size, position = _parse_size(delta, position)
    result = bytearray()
    while position < len(delta) and len(result) <= _MAX_COMMIT_BYTES:
        operation = delta[position]
        position += 1
        if operation & 0x80:
            numbers = [0] * 7
            for bit in range(7):
                if operation & (1 << bit):
                    numbers[bit] = delta[position]
                    position += 1
            start = int.from_bytes(numbers[:4], "little")
            length = int.from_bytes(numbers[4:], "little") or 0x10000
            result += base[start : start + length]
        else:
            result += delta[position : position + operation]
            position += operation
    if len(result) != size:
        raise ObjectError("a delta is damaged")
    return bytes(result)
