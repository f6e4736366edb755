"""Decode archived bytes again and commit their records, for a rebuild."""

from __future__ import annotations

import base64
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from msgspec import structs

from leslied import archive, tail
from leslied.archive import ArchiveError, ArchiveVersionError, FrameKind
from leslied.errors import SourceError
from leslied.model.source import Cursor, FileStamp, Shape, SourceRef
from leslied.pipeline.ingest.batch import IngestReport
from leslied.tail.files import iter_range, open_regular

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leslied.archive import ArchiveFrame
    from leslied.model.decoded_chunk import DecodedChunk, DecodedEntry
    from leslied.model.record import Record
    from leslied.model.source import Chunk, RawEntry
    from leslied.pipeline.ingest.stage import Ingest


_CHUNK_BYTES = 1 << 20


class ArchiveReplay:
    """Reader that feeds one agent's archive files to its ingest.

    Archived bytes are decoded as if the original log were growing again.
    """

    def __init__(self, ingest: Ingest, scratch_file: Path) -> None:
        self._ingest = ingest
        self._source_reader = ingest.make_source_reader()
        self._scratch_file = scratch_file
        self.report = IngestReport()
        self._last_cursor: Cursor | None = None
        self.errors: list[str] = []
        """Damage that was found; the caller may empty the list."""

    def replay(self, source: SourceRef, reader: archive.ArchiveReader) -> Cursor | None:
        """Commit everything in the archive file; return the cursor at its end.

        Return None if nothing could be read. Damage is added to `errors`, and readable
        entries after it are committed, too.
        """
        self._last_cursor = None
        try:
            chunks = self.read(source, reader)
            self.report += self._ingest.commit(self._source_reader.make_batches(chunks))
        finally:
            self._scratch_file.unlink(missing_ok=True)
        return self._last_cursor

    def read(
        self, source: SourceRef, reader: archive.ArchiveReader
    ) -> Iterator[DecodedChunk]:
        """Yield the decoded chunks of every generation; save the cursor of the last.

        The caller deletes the scratch file afterwards.
        """
        spills = _ArchivedSpills(reader, self.errors)
        state = self._source_reader.load_state(source, Cursor())
        state |= _load_side_file_state(reader)
        for generation, frames in reader.list_frames_by_generation().items():
            last, is_undamaged = self._restore_generation(reader, frames)
            if last is None:
                continue
            if archive.is_erased(last):
                self._restore_erased_lines(source.path)
            stamp = _parse_stamp(last) if is_undamaged else None
            for chunk in self._read_chunks(
                source, generation, is_final=last.kind == FrameKind.TAIL
            ):
                attributed = _attribute_chunk(chunk, source, stamp)
                decoded, state = self._source_reader.decode(source, attributed, state)
                self._last_cursor = decoded.cursor
                yield spills.restore(decoded)
            # Of a decoder's state, only the folder is valid in the next generation.
            state = {"cwd": state.get("cwd", "")}

    def _read_chunks(
        self, source: SourceRef, generation: int, *, is_final: bool
    ) -> Iterable[Chunk]:
        """Read the scratch file as if it were the source."""
        status = self._scratch_file.stat()
        stamp = FileStamp(status.st_dev, status.st_ino, status.st_size, 0, 0)
        path, root = self._scratch_file, self._scratch_file.parent
        ref = structs.replace(source, path=path, root=root, stamp=stamp)
        limits = self._ingest.limits
        return tail.read(ref, Cursor(generation=generation), limits, is_final=is_final)

    def _restore_generation(
        self, reader: archive.ArchiveReader, frames: list[ArchiveFrame]
    ) -> tuple[ArchiveFrame | None, bool]:
        """Write a generation's bytes to the scratch file, with blanks for lost ones.

        Return the last frame that was written, and whether the archive is undamaged.
        """
        last: ArchiveFrame | None = None
        is_undamaged = not reader.damaged_offsets
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        with os.fdopen(os.open(self._scratch_file, flags, 0o600), "wb") as file:
            for frame in frames:
                if frame.offset != file.tell():
                    is_undamaged = False
                    self._fill_gap(file, reader, frame)
                try:
                    file.writelines(reader.read_frame(frame))
                except ArchiveError as error:
                    is_undamaged = False
                    self.errors.append(error.message)
                    file.seek(frame.offset)
                    file.truncate()
                else:
                    last = frame
        return last, is_undamaged

    def _fill_gap(
        self, file: BinaryIO, reader: archive.ArchiveReader, frame: ArchiveFrame
    ) -> None:
        """Write blank lines for the bytes before a frame, so that it keeps its offset.

        Frames of a log end at the end of a line, and decoders skip blank lines.
        """
        start = file.tell()
        self.errors.append(
            f"{reader.path}: bytes {start} to {frame.offset} of generation "
            f"{frame.generation} are gone."
        )
        while (length := min(frame.offset - file.tell(), _CHUNK_BYTES)) > 0:
            file.write(b" " * (length - 1) + b"\n")

    def _restore_erased_lines(self, log: Path) -> None:
        """Copy the log to the scratch file, if the two differ only in erased lines.

        How a line is decoded may depend on erased lines before it. Tombstones keep the
        erased lines themselves from being stored again.
        """
        size = self._scratch_file.stat().st_size
        with suppress(SourceError), open_regular(log) as log_fd:
            with self._scratch_file.open("rb") as scratch:
                pairs = zip(
                    archive.split_lines(iter_range(log_fd, 0, size, _CHUNK_BYTES)),
                    archive.split_lines(scratch),
                    strict=False,
                )
                end = 0
                for line, archived_line in pairs:
                    is_erased = not archived_line.data.strip()
                    if line.end != archived_line.end or not (
                        is_erased or line.data == archived_line.data
                    ):
                        return
                    end = line.end
            if end == size:
                with self._scratch_file.open("wb") as scratch:
                    scratch.writelines(iter_range(log_fd, 0, size, _CHUNK_BYTES))


class _ArchivedSpills:
    """Archived tool results whose original files may be gone."""

    def __init__(self, reader: archive.ArchiveReader, errors: list[str]) -> None:
        self._reader = reader
        self._errors = errors
        self._frames: dict[Any, ArchiveFrame] = {
            frame.metadata.get("spill"): frame
            for frame in reader.frames
            if frame.kind == FrameKind.SPILL
        }

    def restore(self, chunk: DecodedChunk) -> DecodedChunk:
        """Return the chunk with the archived text of its spilled tool results."""
        if not self._frames:
            return chunk
        return replace(chunk, entries=tuple(map(self._restore_entry, chunk.entries)))

    def _restore_entry(self, entry: DecodedEntry) -> DecodedEntry:
        records = tuple(map(self._restore_record, entry.records))
        return structs.replace(entry, records=records)

    def _restore_record(self, record: Record) -> Record:
        """Return a tool result with its archived spill, if there is one."""
        frame = self._frames.get(record.metadata.get("spill"))
        if frame is None or record.spilled or record.type != "tool_result":
            return record
        try:
            data = b"".join(self._reader.read_frame(frame))
        except ArchiveError as error:
            self._errors.append(error.message)
            return record
        return structs.replace(record, spilled=data.decode(errors="surrogatepass"))


def _load_side_file_state(reader: archive.ArchiveReader) -> dict[str, Any]:
    """Return the newest archived text of the log's side file, as decoder state.

    Return {} if no text was archived.
    """
    texts = [
        frame.metadata["beside"]
        for frame in reader.frames
        if "beside" in frame.metadata
    ]
    return {"beside": str(texts[-1])} if texts else {}


def _attribute_chunk(chunk: Chunk, source: SourceRef, stamp: FileStamp | None) -> Chunk:
    """Return the chunk as if it had been read from the log itself."""

    def attribute(entry: RawEntry) -> RawEntry:
        return structs.replace(entry, source=source)

    is_last = chunk.cursor.stamp is not None
    cursor = replace(chunk.cursor, stamp=stamp if is_last else None)
    return replace(chunk, entries=tuple(map(attribute, chunk.entries)), cursor=cursor)


def list_archived_sources(folder: Path) -> list[tuple[Path, SourceRef]]:
    """Return each archive file with its source, in the order they were first read.

    Omit files without a readable frame.
    """
    ordered: list[tuple[int, Path, SourceRef]] = []
    for path in archive.list_files(folder):
        try:
            with archive.ArchiveReader(path) as reader:
                frames = [f for f in reader.frames if f.kind != FrameKind.SPILL]
        except ArchiveVersionError:
            raise
        except ArchiveError:
            continue
        if frames:
            order = int(frames[0].metadata.get("order", 0))
            ordered.append((order, path, restore_source(frames[-1])))
    ordered.sort(key=lambda item: item[:2])
    return [(path, source) for _, path, source in ordered]


def restore_source(frame: ArchiveFrame) -> SourceRef:
    """Return the source as it was when the frame was written."""
    return SourceRef(
        agent=str(frame.metadata["agent"]),
        path=_decode_path(frame.metadata["path"]),
        root=_decode_path(frame.metadata["root"]),
        shape=Shape(frame.metadata["shape"]),
        stamp=_parse_stamp(frame),
    )


def _parse_stamp(frame: ArchiveFrame) -> FileStamp:
    return FileStamp(*frame.metadata["stamp"])


def _decode_path(text: str) -> Path:
    return Path(os.fsdecode(base64.b64decode(text)))
