"""Appending frames: whole and on disk, or not there; a torn end is made anew."""

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
from leslied.archive import format as form
from tests.support.records import list_modes

PIECES = (b"one\n" * 3, b"two\n", b"three\n" * 5)
WHOLE = b"".join(PIECES)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "archive" / make_file_name("agent", b"/logs/a.jsonl")


def add(writer: ArchiveWriter, data: bytes, **fields) -> None:
    """The bytes continue the file's last frame."""
    last = writer.find_last_frame(FrameKind.LOG)
    start = last.source_end if last else 0
    before = last.running_crc if last else 0
    known = {"kind": FrameKind.LOG, "generation": 1, "offset": start}
    label = FrameSpec(**{**known, "length": len(data), "crc_before": before, **fields})
    writer.append(label, [data])


def fill(path: Path, *pieces: bytes) -> None:
    with ArchiveWriter(path) as writer:
        for piece in pieces:
            add(writer, piece, metadata={"path": "a"})
        writer.sync()


def finish(path: Path) -> None:
    """What the file lacks of WHOLE is archived."""
    with ArchiveWriter(path) as writer:
        last = writer.find_last_frame(FrameKind.LOG)
        add(writer, WHOLE[last.source_end if last else 0 :])


def read(path: Path) -> bytes:
    with ArchiveReader(path) as reader:
        assert not reader.damaged_offsets
        return b"".join(
            data
            for frames in reader.list_frames_by_generation().values()
            for frame in frames
            for data in reader.read_frame(frame)
        )


def test_frames_give_back_their_bytes(path: Path):
    fill(path, *PIECES)

    assert read(path) == WHOLE
    with ArchiveReader(path) as reader:
        assert [frame.length for frame in reader.frames] == list(map(len, PIECES))
        assert reader.frames[-1].running_crc == zlib.crc32(WHOLE)
        assert reader.frames[0].metadata == {"path": "a"}


def test_only_the_owner_can_look(path: Path, tmp_path: Path):
    os.umask(0o022)
    fill(path, b"x\n")

    assert list_modes([path]) == {0o600}
    folders = [path.parent, path.parents[1], path.parents[2]]
    assert list_modes(folders) == {0o700}
    assert list_files(tmp_path / "archive") == [path]


def test_a_file_cut_anywhere_keeps_its_whole_frames_and_is_completed(path: Path):
    """E3."""
    fill(path, *PIECES)
    data = path.read_bytes()
    with ArchiveReader(path) as reader:
        ends = [0, *(frame.end for frame in reader.frames)]
    lengths = [0, 12, 16, 46]

    for cut in range(len(data) + 1):
        path.write_bytes(data[:cut])
        whole = sum(end <= cut for end in ends) - 1

        with ArchiveReader(path) as reader:
            assert len(reader.frames) == whole
            assert not reader.damaged_offsets
        assert read(path) == WHOLE[: lengths[whole]]
        with ArchiveWriter(path) as writer:
            assert writer.size == path.stat().st_size == ends[whole]
        finish(path)
        assert read(path) == WHOLE


def test_a_file_cut_anywhere_and_filled_with_zeros_is_completed(path: Path):
    """E3: the file's length reached the disk, its last bytes did not."""
    fill(path, *PIECES)
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
        path.write_bytes(data[:cut] + bytes(len(data) - cut + 100))
        if cut > last.file_offset:
            path.write_bytes(data[:cut] + bytes(len(data) - cut))
        with ArchiveWriter(path) as writer:
            kept = len(writer.frames)
        finish(path)

        assert kept in (2, 3)
        assert read(path)[: len(WHOLE)] == WHOLE


def test_a_frame_that_was_not_finished_is_gone(path: Path):
    """A kill between the data and the header that vouches for it."""
    fill(path, *PIECES)
    size = path.stat().st_size
    with path.open("ab") as file:
        file.write(bytes(form.HEADER_BYTES) + b"{}" + b"compressed, in part")

    with ArchiveWriter(path) as writer:
        assert writer.size == size
    assert path.stat().st_size == size


def test_bytes_that_are_not_what_they_should_be_change_nothing(path: Path):
    fill(path, *PIECES)
    before = path.read_bytes()

    with ArchiveWriter(path) as writer:
        for label in ({"crc_after": 1}, {"length": 3}, {"length": 30}):
            with pytest.raises(ArchiveError, match="changed while"):
                add(writer, b"abcd\n", **label)

    assert path.read_bytes() == before


def test_an_error_of_the_log_leaves_the_archive_as_it_was(path: Path):
    fill(path, *PIECES)
    before = path.read_bytes()

    def broken():
        yield b"abc"
        raise RuntimeError

    label = FrameSpec(kind=FrameKind.LOG, generation=1, offset=46, length=9)
    with ArchiveWriter(path) as writer, pytest.raises(RuntimeError):
        writer.append(label, broken())

    assert path.read_bytes() == before


def test_a_newer_form_is_refused_and_not_touched(path: Path):
    """E7."""
    fill(path, *PIECES)
    data = bytearray(path.read_bytes())
    data[4:6] = (form.FORMAT_VERSION + 1).to_bytes(2, "big")
    path.write_bytes(data)

    with pytest.raises(ArchiveVersionError, match="newer leslied") as told:
        ArchiveWriter(path)

    assert "Update leslied" in told.value.hint
    assert path.read_bytes() == data


def test_a_damaged_frame_is_never_cut_away(path: Path):
    """E4: only what was never finished may go."""
    fill(path, *PIECES)
    data = bytearray(path.read_bytes())
    with ArchiveReader(path) as reader:
        places = [frame.file_offset + 13 for frame in reader.frames]
    for place in places:
        flipped = bytearray(data)
        flipped[place] ^= 4
        path.write_bytes(flipped)

        with ArchiveWriter(path) as writer:
            assert len(writer.frames) == 2

        assert path.read_bytes() == flipped


def test_frames_after_a_damaged_one_are_found(path: Path):
    fill(path, PIECES[0])
    data = bytearray(path.read_bytes())
    data[13] ^= 1
    path.write_bytes(data)
    with ArchiveWriter(path) as writer:
        add(writer, WHOLE, generation=2)

    with ArchiveReader(path) as reader:
        assert reader.damaged_offsets == [0]
        (frame,) = reader.frames
        assert b"".join(reader.read_frame(frame)) == WHOLE


def test_a_huge_file_is_streamed(path: Path):
    """400 MB go in and come out; memory grows by less than a tenth of that."""
    piece = os.urandom(1 << 16) * 16
    label = FrameSpec(kind=FrameKind.LOG, generation=1, length=400 * len(piece))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    with ArchiveWriter(path) as writer:
        writer.append(label, (piece for _ in range(400)))
    with ArchiveReader(path) as reader:
        total = sum(map(len, reader.read_frame(reader.frames[0])))

    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert total == 400 * len(piece)
    assert grown < 40 * 1024
