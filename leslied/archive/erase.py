"""Erase lines from archive files. The other lines keep their offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from leslied.archive.format import ArchiveFrame, FrameKind
from leslied.archive.reader import ArchiveReader
from leslied.archive.writer import ArchiveWriter, FrameSpec
from leslied.failpoints import failpoint
from leslied.fs import TEMPORARY_SUFFIX, sync_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    Predicate = Callable[[bytes], bool]

_MAX_LINE_BYTES = 64 * 1024 * 1024
_SIDE_FILE = "beside"
"""Name of the metadata with the text of the log's side file."""
_NO_STAMP = [0, 0, 0, 0, 0]
"""Stamp for a frame whose lines were erased. It is the stamp of no log, so a rebuild
compares the log with the archived bytes, and reads the log again."""


class Line(NamedTuple):
    """A line with its offset."""

    offset: int
    data: bytes
    """The bytes, with the line end if it is complete."""

    @property
    def end(self) -> int:
        """Offset of the next line."""
        return self.offset + len(self.data)


def split_lines(chunks: Iterable[bytes], offset: int = 0) -> Iterator[Line]:
    """Yield the lines of the chunks; the first one is at the offset.

    A line that is too long is yielded in pieces, to bound the memory.
    """
    parts: list[bytes] = []
    length = 0
    for chunk in chunks:
        *complete_lines, last_piece = chunk.split(b"\n")
        pieces = [line + b"\n" for line in complete_lines]
        for piece in (*pieces, last_piece):
            parts.append(piece)
            length += len(piece)
            if piece.endswith(b"\n") or length > _MAX_LINE_BYTES:
                yield Line(offset, b"".join(parts))
                offset, parts, length = offset + length, [], 0
    if length:
        yield Line(offset, b"".join(parts))


def find_lines(path: Path, is_match: Predicate) -> Iterator[tuple[ArchiveFrame, Line]]:
    """Yield the lines for which the predicate is true, with their frames.

    A frame that is not a part of a log counts as one line. If the predicate is true for
    the text of the side file, the frame is yielded with an empty line. Raise
    ArchiveError if the file is damaged.
    """
    with ArchiveReader(path) as reader:
        for frame in reader.frames:
            if is_match(_encode_text(frame)):
                yield frame, Line(frame.offset, b"")
            for line in _iter_lines(reader, frame):
                if is_match(line.data):
                    yield frame, line


def is_erased(frame: ArchiveFrame) -> bool:
    """Return whether lines may have been erased from the frame's file."""
    return frame.metadata.get("stamp") == _NO_STAMP


def erase_lines(path: Path, is_match: Predicate) -> None:
    """Replace the lines for which the predicate is true by spaces, atomically.

    A document or spilled result for which it is true is omitted as a whole, and so is
    the text of a side file. If no frame remains, delete the file.
    """
    new_path = path.with_name(path.name + TEMPORARY_SUFFIX)
    new_path.unlink(missing_ok=True)
    crcs: dict[int, int] = {}
    with ArchiveReader(path) as reader, ArchiveWriter(new_path) as writer:
        for frame in reader.frames:
            lines = _iter_lines(reader, frame)
            if frame.kind == FrameKind.LOG:
                spec = _make_spec(frame, is_match, crcs.get(frame.generation, 0))
                new_frame = writer.append(spec, _erase(lines, is_match))
                crcs[frame.generation] = new_frame.running_crc
            elif frame.kind == FrameKind.TAIL:
                writer.append(_make_spec(frame, is_match), _erase(lines, is_match))
            elif not any(is_match(line.data) for line in lines):
                data = reader.read_frame(frame)
                writer.append(_make_spec(frame, is_match), data)
        writer.sync()
        has_frames = bool(writer.frames)
    failpoint("archive.erase")
    if has_frames:
        new_path.replace(path)
    else:
        new_path.unlink()
        path.unlink()
    sync_folder(path.parent)


def _iter_lines(reader: ArchiveReader, frame: ArchiveFrame) -> Iterator[Line]:
    """Yield the lines of a frame; one that is no part of a log counts as one line."""
    if frame.kind == FrameKind.LOG:
        return split_lines(reader.read_frame(frame), frame.offset)
    return iter([Line(frame.offset, b"".join(reader.read_frame(frame)))])


def _erase(lines: Iterable[Line], is_match: Predicate) -> Iterator[bytes]:
    """Yield the bytes of the lines, with spaces for those of lines that match."""
    for line in lines:
        if is_match(line.data):
            end = b"\n" if line.data.endswith(b"\n") else b""
            yield b" " * (len(line.data) - len(end)) + end
        else:
            yield line.data


def _make_spec(
    frame: ArchiveFrame, is_match: Predicate, crc_before: int = 0
) -> FrameSpec:
    """Return how to write a frame again, without a side file's text that matches."""
    metadata = dict(frame.metadata)
    if is_match(_encode_text(frame)):
        metadata.pop(_SIDE_FILE)
    if "stamp" in metadata:
        # A rebuild must not conclude from the stamp that the log has the same bytes.
        metadata["stamp"] = _NO_STAMP
    return FrameSpec(
        kind=FrameKind(frame.kind),
        generation=frame.generation,
        offset=frame.offset,
        length=frame.length,
        crc_before=crc_before,
        metadata=metadata,
    )


def _encode_text(frame: ArchiveFrame) -> bytes:
    """Return the text of the side file in a frame's metadata, as bytes."""
    return str(frame.metadata.get(_SIDE_FILE, "")).encode(errors="replace")
