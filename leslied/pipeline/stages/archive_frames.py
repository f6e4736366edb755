"""Copy the bytes of one source into frames of its archive file."""

from __future__ import annotations

import base64
import os
import zlib
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from leslied import archive, tail
from leslied.model.source import Shape
from leslied.pipeline.stage import Report
from leslied.tail.document import read_document
from leslied.tail.files import iter_range, open_regular

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from leslied.archive import ArchiveFrame, ArchiveWriter
    from leslied.model.source import Cursor, SourceRef
    from leslied.pipeline.ingest.decode import Mask
    from leslied.store.ledgers.archive import DueSource


class ArchiverReport(Report, kw_only=True):
    """Counts and errors of one run."""

    sources: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    excluded: int = 0
    missing: int = 0
    """Sources that no longer exist below a root."""

    event = "archive.write"

    @property
    def counts(self) -> Mapping[str, int]:
        """Return the numbers to log."""
        if not self.bytes_written:
            return {}
        return {"logs": self.sources, "bytes": self.bytes_written}


class SourceCopier(Struct):
    """Copier of one source's new bytes; its generations are those of the archive."""

    due: DueSource
    ref: SourceRef
    writer: ArchiveWriter
    limits: tail.ReadLimits
    mask: Mask | None = None
    """Replaces secrets by as many bytes, so that positions in the log stay valid."""
    bytes_read: int = 0

    def run(self) -> int:
        """Append all bytes up to the cursor; return their generation in the archive.

        Raise ArchiveError if the bytes do not match the cursor's checksum: the log was
        rewritten and must be read again first.
        """
        with open_regular(self.ref.path, self.ref.root) as fd:
            if self.ref.shape is Shape.DOCUMENT:
                return self._add_document(fd)
            generation = self._add_lines(fd)
            self._add_tail(fd, generation)
            return generation

    def _add_document(self, fd: int) -> int:
        """Append the whole document, unless the newest frame has it; see `run`."""
        cursor = self.due.cursor
        last = self.writer.find_last_frame(archive.FrameKind.DOCUMENT)
        if last and (last.length, last.running_crc) == (cursor.offset, cursor.crc):
            return last.generation
        generation = max(cursor.generation, last.generation + 1 if last else 1)
        spec = self._make_spec(
            archive.FrameKind.DOCUMENT,
            generation,
            offset=0,
            length=cursor.offset,
            crc_before=0,
            crc_after=cursor.crc,
        )
        data = read_document(fd, self.limits)
        self.bytes_read += len(data)
        self.writer.append(spec, [data], self.mask)
        return generation

    def _add_lines(self, fd: int) -> int:
        """Append the lines after the last frame, or all if they do not continue it."""
        cursor = self.due.cursor
        last = self._find_last_frame()
        if last and last.source_end <= cursor.offset:
            start, crc, generation = last.source_end, last.running_crc, last.generation
            if (start, crc) == (cursor.offset, cursor.crc):
                return generation
            try:
                return self._add_range(fd, generation, start, crc)
            except archive.ArchiveError as error:
                # With an archive cursor, the log was rewritten after it was read, and
                # waits for the next read. Without one, the frame is of an older log.
                if self.due.archive_cursor and self.due.archive_cursor.offset >= 0:
                    raise error from None
        newest = self.writer.find_last_frame(*archive.FrameKind)
        generation = max(cursor.generation, newest.generation + 1 if newest else 1)
        return self._add_range(fd, generation, 0, 0)

    def _find_last_frame(self) -> ArchiveFrame | None:
        """Return the frame to continue, or None for a generation without frames."""
        archive_cursor = self.due.archive_cursor
        if archive_cursor is None:
            newest = self.writer.find_last_frame(*archive.FrameKind)
            generation = newest.generation if newest else 0
        elif archive_cursor.generation == self.due.cursor.generation:
            generation = archive_cursor.number
        else:
            return None
        return self.writer.find_last_frame(archive.FrameKind.LOG, generation=generation)

    def _add_range(self, fd: int, generation: int, start: int, crc: int) -> int:
        """Append the lines from `start` to the cursor; return the generation.

        `crc` is the checksum of the lines before `start`.
        """
        end = self.due.cursor.offset
        if end > start:
            spec = self._make_spec(
                archive.FrameKind.LOG,
                generation,
                offset=start,
                length=end - start,
                crc_before=crc,
                crc_after=self.due.cursor.crc,
            )
            self.writer.append(spec, self._read(fd, start, end), self.mask)
        return generation

    def _add_tail(self, fd: int, generation: int) -> None:
        """Append an incomplete last line if it was read as final."""
        start, end = self.due.cursor.offset, self.due.cursor.finished_size
        length = end - start
        if length > 0:
            spec = self._make_spec(
                archive.FrameKind.TAIL,
                generation,
                offset=start,
                length=length,
                crc_before=0,
                crc_after=None,
            )
            self.writer.append(spec, self._read(fd, start, end), self.mask)

    def _make_spec(
        self,
        kind: archive.FrameKind,
        generation: int,
        *,
        offset: int,
        length: int,
        crc_before: int,
        crc_after: int | None,
    ) -> archive.FrameSpec:
        metadata = _describe_source(self.ref, self.due.cursor, self.due.first_placement)
        if self.ref.side_file:
            from leslied.pipeline.ingest.decode import mask_text  # noqa: PLC0415

            text = tail.read_side_file(self.ref)
            metadata["beside"] = mask_text(text, self.mask)
        return archive.FrameSpec(
            kind=kind,
            generation=generation,
            offset=offset,
            length=length,
            crc_before=crc_before,
            crc_after=crc_after,
            metadata=metadata,
        )

    def _read(self, fd: int, start: int, end: int) -> Iterator[bytes]:
        for data in iter_range(fd, start, end, self.limits.chunk):
            self.bytes_read += len(data)
            yield data


def _describe_source(
    ref: SourceRef, cursor: Cursor, first_placement: int
) -> dict[str, Any]:
    """Return the metadata needed to decode the bytes again without the file."""
    stamp = cursor.stamp or ref.stamp
    return {
        "agent": ref.agent,
        "path": _encode_path(ref.path),
        "root": _encode_path(ref.root),
        "shape": ref.shape.value,
        "stamp": [stamp.dev, stamp.inode, stamp.size, stamp.mtime_ns, stamp.ctime_ns],
        "order": first_placement,
    }


def _encode_path(path: Path) -> str:
    """Return a path as Base64, because JSON cannot hold arbitrary bytes."""
    return base64.b64encode(os.fsencode(path)).decode()


def add_spills(
    writer: ArchiveWriter, generation: int, spills: list[tuple[str, str]]
) -> None:
    """Append the tool results that the agent stored in separate files, each once."""
    archived = {
        (frame.metadata.get("spill"), frame.crc)
        for frame in writer.frames
        if frame.kind == archive.FrameKind.SPILL
    }
    for metadata, text in spills:
        name, data = parse_spill(metadata, text)
        if (name, zlib.crc32(data)) in archived:
            continue
        spec = archive.FrameSpec(
            kind=archive.FrameKind.SPILL,
            generation=generation,
            length=len(data),
            metadata={"spill": name},
        )
        writer.append(spec, [data])


def parse_spill(metadata: str, text: str) -> tuple[Any, bytes]:
    """Return the name of a spilled result and the bytes to archive."""
    name = msgspec.json.decode(metadata).get("spill")
    return name, text.encode(errors="surrogatepass")
