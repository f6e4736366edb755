"""Frames are appended completely or not at all; an unfinished end is truncated."""

from __future__ import annotations

import os
import resource
import zlib
from pathlib import Path

import pytest

from leslied.archive import (
    ArchiveError,
    ArchiveReader,
    ArchiveVersionError,
    ArchiveWriter,
    FrameKind,
    FrameSpec,
    list_files,
    make_file_name,
)
from leslied.archive import format as archive_format
from tests.support.archives import write_newer_format
from tests.support.records import list_modes

CHUNKS = (b"one\n" * 3, b"two\n", b"three\n" * 5)
WHOLE = b"".join(CHUNKS)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "archive" / make_file_name("agent", b"/logs/a.jsonl")


def append_log_frame(writer: ArchiveWriter, data: bytes, **fields) -> None:
    """Append a LOG frame that continues the last one."""
    last = writer.find_last_frame(FrameKind.LOG)
    start = last.source_end if last else 0
    crc_before = last.running_crc if last else 0
    defaults = {
        "kind": FrameKind.LOG,
        "generation": 1,
        "offset": start,
        "length": len(data),
        "crc_before": crc_before,
    }
    writer.append(FrameSpec(**{**defaults, **fields}), [data])


def write_frames(path: Path, *chunks: bytes) -> None:
    with ArchiveWriter(path) as writer:
        for chunk in chunks:
            append_log_frame(writer, chunk, metadata={"path": "a"})
        writer.sync()


def append_missing_bytes(path: Path) -> None:
    """Append the bytes of WHOLE that the archive file lacks."""
    with ArchiveWriter(path) as writer:
        last = writer.find_last_frame(FrameKind.LOG)
        append_log_frame(writer, WHOLE[last.source_end if last else 0 :])


def read_archive(path: Path) -> bytes:
    with ArchiveReader(path) as reader:
        assert not reader.damaged_offsets
        return b"".join(
            data
            for frames in reader.list_frames_by_generation().values()
            for frame in frames
            for data in reader.read_frame(frame)
        )


def test_appended_bytes_are_read_back_unchanged(path: Path):
    write_frames(path, *CHUNKS)

    assert read_archive(path) == WHOLE
    with ArchiveReader(path) as reader:
        assert [frame.length for frame in reader.frames] == list(map(len, CHUNKS))
        assert reader.frames[-1].running_crc == zlib.crc32(WHOLE)
        assert reader.frames[0].metadata == {"path": "a"}


def test_files_and_folders_are_private(path: Path, tmp_path: Path):
    os.umask(0o022)
    write_frames(path, b"x\n")

    assert list_modes([path]) == {0o600}
    folders = [path.parent, path.parents[1], path.parents[2]]
    assert list_modes(folders) == {0o700}
    assert list_files(tmp_path / "archive") == [path]


@pytest.mark.fault("E3")
def test_a_file_truncated_anywhere_retains_complete_frames_and_can_be_continued(
    path: Path,
):
    write_frames(path, *CHUNKS)
    data = path.read_bytes()
    with ArchiveReader(path) as reader:
        frame_ends = [0, *(frame.end for frame in reader.frames)]
    # Length of the log in the first 0, 1, 2 and 3 frames.
    lengths = [0, 12, 16, 46]

    for cut in range(len(data) + 1):
        path.write_bytes(data[:cut])
        complete_frames = sum(end <= cut for end in frame_ends) - 1

        with ArchiveReader(path) as reader:
            assert len(reader.frames) == complete_frames
            assert not reader.damaged_offsets
        assert read_archive(path) == WHOLE[: lengths[complete_frames]]
        with ArchiveWriter(path) as writer:
            assert writer.size == path.stat().st_size == frame_ends[complete_frames]
        append_missing_bytes(path)
        assert read_archive(path) == WHOLE


@pytest.mark.fault("E3")
def test_a_file_that_ends_in_zeros_can_be_continued(path: Path):
    """The file's length reached the disk, its last bytes did not."""
    write_frames(path, *CHUNKS)
    data = path.read_bytes()
    with ArchiveReader(path) as reader:
        last = reader.frames[-1]

    for cut in (
        last.file_offset,
        last.file_offset + 1,
        last.body_offset,
        last.end - 20,
        last.end - 17,
    ):
        zero_count = len(data) - cut
        if cut == last.file_offset:
            # Without a header, the zeros need not end where the frame ended.
            zero_count += 100
        path.write_bytes(data[:cut] + bytes(zero_count))
        with ArchiveWriter(path) as writer:
            frame_count = len(writer.frames)
        append_missing_bytes(path)

        assert frame_count in (2, 3)
        assert read_archive(path)[: len(WHOLE)] == WHOLE


def test_opening_truncates_an_unfinished_frame(path: Path):
    """The process was killed after writing the data and before the header."""
    write_frames(path, *CHUNKS)
    size = path.stat().st_size
    with path.open("ab") as file:
        file.write(bytes(archive_format.HEADER_BYTES) + b"{}" + b"compressed, in part")

    with ArchiveWriter(path) as writer:
        assert writer.size == size
    assert path.stat().st_size == size


def test_bytes_with_an_unexpected_length_or_checksum_are_not_appended(path: Path):
    write_frames(path, *CHUNKS)
    before = path.read_bytes()

    with ArchiveWriter(path) as writer:
        for fields in ({"crc_after": 1}, {"length": 3}, {"length": 30}):
            with pytest.raises(ArchiveError, match="changed while"):
                append_log_frame(writer, b"abcd\n", **fields)

    assert path.read_bytes() == before


def test_an_error_while_reading_the_log_leaves_the_archive_unchanged(path: Path):
    write_frames(path, *CHUNKS)
    before = path.read_bytes()

    def read_and_fail():
        yield b"abc"
        raise RuntimeError

    spec = FrameSpec(kind=FrameKind.LOG, generation=1, offset=len(WHOLE), length=9)
    with ArchiveWriter(path) as writer, pytest.raises(RuntimeError):
        writer.append(spec, read_and_fail())

    assert path.read_bytes() == before


@pytest.mark.fault("E7")
def test_a_newer_format_is_refused_and_not_changed(path: Path):
    write_frames(path, *CHUNKS)
    data = write_newer_format(path)

    with pytest.raises(ArchiveVersionError, match="newer leslied") as raised:
        ArchiveWriter(path)

    assert "Update leslied" in raised.value.hint
    assert path.read_bytes() == data


@pytest.mark.fault("E4")
def test_a_damaged_frame_is_never_truncated(path: Path):
    """Only an unfinished frame may be truncated."""
    write_frames(path, *CHUNKS)
    data = bytearray(path.read_bytes())
    with ArchiveReader(path) as reader:
        # A byte in the middle of each header.
        positions = [frame.file_offset + 13 for frame in reader.frames]
    for position in positions:
        damaged = bytearray(data)
        damaged[position] ^= 4
        path.write_bytes(damaged)

        with ArchiveWriter(path) as writer:
            assert len(writer.frames) == 2

        assert path.read_bytes() == damaged


def test_frames_after_a_damaged_one_can_be_read(path: Path):
    write_frames(path, CHUNKS[0])
    data = bytearray(path.read_bytes())
    data[13] ^= 1
    path.write_bytes(data)
    with ArchiveWriter(path) as writer:
        append_log_frame(writer, WHOLE, generation=2)

    with ArchiveReader(path) as reader:
        assert reader.damaged_offsets == [0]
        (frame,) = reader.frames
        assert b"".join(reader.read_frame(frame)) == WHOLE


@pytest.mark.parametrize("kind", [FrameKind.LOG, FrameKind.TAIL, FrameKind.DOCUMENT])
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_masking_changes_no_other_byte_of_a_frame(
    path: Path, kind: FrameKind, end: bytes
):
    data = b"one\ntwo secret\nthree" + end
    spec = FrameSpec(kind=kind, generation=1, length=len(data))

    with ArchiveWriter(path) as writer:
        pieces = [data[:6], data[6:]]
        writer.append(spec, pieces, lambda text: text.replace(b"secret", b"******"))

    assert read_archive(path) == data.replace(b"secret", b"******")


def test_a_huge_file_is_streamed(path: Path):
    """Writing and reading 400 MB needs less than a tenth of that in memory."""
    chunk = os.urandom(1 << 16) * 16
    spec = FrameSpec(kind=FrameKind.LOG, generation=1, length=400 * len(chunk))
    peak_before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    with ArchiveWriter(path) as writer:
        writer.append(spec, (chunk for _ in range(400)))
    with ArchiveReader(path) as reader:
        bytes_read = sum(map(len, reader.read_frame(reader.frames[0])))

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert bytes_read == 400 * len(chunk)
    assert peak - peak_before < 40 * 1024
