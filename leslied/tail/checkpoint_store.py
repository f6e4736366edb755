"""Read sessions stored as a journal that is replaced by checkpoints.

The source is a file that names the current generation. The agent calls a checkpoint a
generation; that has nothing to do with the generation of a cursor. The folder of a
generation has a manifest, which lists the chunks with the session's history up to a
sequence number, and names the segment of the journal that continues it. Chunks are
named by a hash of their content. The agent deletes old generations, segments and
chunks.

A read continues with the segment that it knows. When there is a new generation, its
chunks are read only if a part of the journal was missed; a chunk may repeat entries
that were read before. The version of the format is not checked: entries of a newer
version are left to the decoder, and a source that cannot be read does not stop others.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from leslied.errors import SourceError
from leslied.tail.files import open_regular, read_at
from leslied.tail.json_files import (
    SUFFIX,
    EntryBuffer,
    add_to_stamp,
    encode_text,
    list_names,
    load_json,
    load_json_or_error,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leslied.model.source import Chunk, Cursor, FileStamp, SourceRef
    from leslied.tail.limits import ReadLimits

_SEGMENT_SUFFIX = ".jsonl"
_DIGEST_LENGTH = 12
"""Characters of a chunk's name that the cursor keeps."""


class _StorePosition(msgspec.Struct):
    """How far a source was read."""

    generation: str = ""
    segment: str = ""
    """The name of the segment of the journal, without its suffix."""
    offset: int = 0
    """Bytes of the segment that were read."""
    sequence: int = -1
    """Number of the last record of the journal that was read."""
    chunks: list[str] = msgspec.field(default_factory=list)
    """Beginnings of the names of all chunks of the history that were read."""


class _Record(msgspec.Struct):
    """The only field of a journal record that is parsed here."""

    sequence: int = -1


@dataclass(slots=True)
class _StoreReader:
    """One read of a source."""

    buffer: EntryBuffer
    position: _StorePosition
    is_complete: bool = True
    """False if a file was missing that the agent may have replaced meanwhile."""

    @property
    def source(self) -> SourceRef:
        return self.buffer.source

    @property
    def limits(self) -> ReadLimits:
        return self.buffer.limits

    @property
    def folder(self) -> Path:
        return self.source.path.parent

    def add(self, kind: bytes, data: bytes) -> None:
        self.buffer.add(b'{"%b":%b}' % (kind, data))

    def iter_full_chunks(self) -> Iterator[Chunk]:
        """Yield a chunk if there are enough entries for one."""
        if self.buffer.is_full():
            yield self.buffer.make_chunk(self.position)


def stamp_store(path: Path, stamp: FileStamp) -> FileStamp:
    """Return the stamp of a session's file and the newest segment of its journal."""
    folder = path.parent / "journal"
    newest = max(list_names(folder, path.parent, _SEGMENT_SUFFIX), default="")
    return add_to_stamp(stamp, [folder, folder / (newest + _SEGMENT_SUFFIX)])


def read(source: SourceRef, cursor: Cursor, limits: ReadLimits) -> Iterator[Chunk]:
    """Yield the records of the journal, and the entries that only a checkpoint has.

    Raise SourceError if there is no generation that can be read.
    """
    position = (
        msgspec.json.decode(cursor.anchor, type=_StorePosition)
        if cursor.anchor
        else _StorePosition()
    )
    reader = _StoreReader(EntryBuffer(source, limits, cursor), position)
    if position.segment:
        yield from _read_segment(reader)
    generation = _find_generation(reader)
    if generation != position.generation:
        yield from _read_generation(reader, generation)
        yield from _read_segment(reader)
    stamp = source.stamp if reader.is_complete else None
    yield reader.buffer.make_chunk(position, stamp)


def _find_generation(reader: _StoreReader) -> str:
    """Return the name of the current generation; by default, that of the newest."""
    data = load_json(reader.source.path, reader.source.root, reader.limits)
    name = _as_object(msgspec.json.decode(data)).get("generation")
    if isinstance(name, str) and name.isalnum() and name.isascii():
        return name
    names = list_names(reader.folder / "generations", reader.source.root)
    return max((name for name in names if name.isdigit()), default="")


def _read_generation(reader: _StoreReader, generation: str) -> Iterator[Chunk]:
    """Yield the states of a generation, and those chunks that were not read before."""
    position, root = reader.position, reader.source.root
    folder = reader.folder / "generations" / generation
    data = load_json(folder / "manifest.json", root, reader.limits)
    manifest = _as_object(msgspec.json.decode(data))
    states = {
        kind: load_json_or_error(folder / f"{kind}-state.json", root, reader.limits)
        for kind in ("runtime", "projection")
    }
    reader.add(b"runtime", states["runtime"])
    if manifest.get("snapshot_sequence") != position.sequence:
        for name in _list_chunks(manifest):
            if _read_chunk(reader, name, generation):
                yield from reader.iter_full_chunks()
    reader.add(b"projection", states["projection"])
    if reader.is_complete:
        _move_to_segment(position, generation, manifest)


def _list_chunks(manifest: dict[str, Any]) -> list[str]:
    """Return the names of the chunks with the history, in its order."""
    names = _as_object(manifest.get("projection_state")).get("chunks")
    return [str(name) for name in names] if isinstance(names, list) else []


def _move_to_segment(
    position: _StorePosition, generation: str, manifest: dict[str, Any]
) -> None:
    """Move to the segment of the journal that continues a generation.

    If it is the current segment, keep the offset. Drop the digests of chunks that the
    manifest does not name any more.
    """
    path = str(_as_object(manifest.get("recovery_journal_segment")).get("path"))
    segment = path.rpartition("/")[2].removesuffix(_SEGMENT_SUFFIX)
    sequence = manifest.get("snapshot_sequence")
    position.generation = generation
    position.sequence = sequence if isinstance(sequence, int) else -1
    if segment != position.segment:
        position.segment, position.offset = segment, 0
    digests = {name[:_DIGEST_LENGTH] for name in _list_chunks(manifest)}
    position.chunks = [digest for digest in position.chunks if digest in digests]


def _read_chunk(reader: _StoreReader, name: str, generation: str) -> bool:
    """Add the entries of a chunk of the history.

    Return False if it was read before or is gone. `generation` is the one that names
    the chunk.
    """
    digest = name[:_DIGEST_LENGTH]
    # A name with a `/` could lead to another folder.
    if digest in reader.position.chunks or not name.isalnum():
        return False
    path = reader.folder / "chunks" / (name + SUFFIX)
    data = load_json_or_error(path, reader.source.root, reader.limits)
    is_list = data.startswith(b"[")
    if not is_list and _find_generation(reader) != generation:
        # The agent has deleted the chunk after another checkpoint.
        reader.is_complete = False
        return False
    items = msgspec.json.decode(data, type=list[msgspec.Raw]) if is_list else [data]
    for item in items:
        reader.add(b"history", bytes(item))
    reader.position.chunks.append(digest)
    return True


def _read_segment(reader: _StoreReader) -> Iterator[Chunk]:
    """Yield the complete lines of the current segment; it may be deleted already."""
    position = reader.position
    path = reader.folder / "journal" / (position.segment + _SEGMENT_SUFFIX)
    while True:
        try:
            data = _read_lines(path, reader)
        except SourceError:
            return
        if not data:
            return
        for line in data.split(b"\n")[:-1]:
            _add_record(reader, line)
            position.offset += len(line) + 1
        yield from reader.iter_full_chunks()


def _read_lines(path: Path, reader: _StoreReader) -> bytes:
    """Return the complete lines in the next `limits.chunk` bytes after the position.

    If no line ends there, look further. Return b"" if no complete line follows.
    """
    offset, length = reader.position.offset, reader.limits.chunk
    with open_regular(path, reader.source.root) as fd:
        size = os.fstat(fd).st_size
        while True:
            data = read_at(fd, length, offset)
            end = data.rfind(b"\n") + 1
            if end or offset + length >= size:
                return data[:end]
            length *= 2


def _add_record(reader: _StoreReader, line: bytes) -> None:
    """Add a line of the journal; of one that is not JSON, only the beginning."""
    if not line.strip():
        return
    try:
        record = msgspec.json.decode(line, type=_Record)
        # The first call does not check the values of the fields that it skips.
        msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        text = line[: reader.limits.head].decode(errors="replace")
        reader.add(b"journal", encode_text(text))
        return
    reader.position.sequence = record.sequence
    reader.add(b"journal", line)


def _as_object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
