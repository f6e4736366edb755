"""Writing a damaged archive file again, with the bytes of its source."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leslied.archive import (
    ArchiveReader,
    ArchiveRepair,
    ArchiveWriter,
    FrameKind,
    FrameSpec,
)
from leslied.errors import SourceError
from tests.support.archives import flip_byte

pytestmark = pytest.mark.fault("E4")
LOG = b"first line\nsecond line\nthird line\n"
ENDS = (11, 23, 34)
"""Where the lines end."""


class Original:
    """A log in memory."""

    mask = None

    def __init__(self, data: bytes | None, spills: dict[str, bytes] | None = None):
        self.data, self.spills = data, spills or {}

    def read(self, start: int, end: int, *, is_erased: bool) -> Iterator[bytes]:
        assert not is_erased
        if self.data is None:
            raise SourceError("gone")
        yield self.data[start:end]

    def read_spill(self, name: Any) -> bytes:
        try:
            return self.spills[name]
        except KeyError:
            raise SourceError("gone") from None


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Archive file with one frame for each line, and a result after the second."""
    path = tmp_path / "a.zst"
    with ArchiveWriter(path) as writer:
        start, crc = 0, 0
        for end in ENDS:
            spec = FrameSpec(
                kind=FrameKind.LOG,
                generation=1,
                offset=start,
                length=end - start,
                crc_before=crc,
            )
            crc = writer.append(spec, [LOG[start:end]]).running_crc
            if end == ENDS[1]:
                metadata = {"spill": "big"}
                spec = FrameSpec(
                    kind=FrameKind.SPILL, generation=1, length=4, metadata=metadata
                )
                writer.append(spec, [b"text"])
            start = end
    return path


def repair(
    path: Path, original: Original, *, drops_regions: bool = False
) -> tuple[ArchiveRepair, Path]:
    """Repair the file; return what was done, and the path of the new file."""
    new_path = path.with_name("new.zst")
    with ArchiveReader(path) as reader, ArchiveWriter(new_path) as writer:
        result = ArchiveRepair(reader, writer, original, drops_regions)
        result.run()
    return result, new_path


def get_frame_offset(path: Path, number: int, *, in_body: bool) -> int:
    with ArchiveReader(path) as reader:
        frame = reader.frames[number]
        return frame.body_offset + 12 if in_body else frame.file_offset + 20


def read_log(path: Path) -> bytes:
    with ArchiveReader(path) as reader:
        (frames,) = reader.list_frames_by_generation().values()
        return b"".join(data for frame in frames for data in reader.read_frame(frame))


def test_an_undamaged_file_is_copied_byte_for_byte(path: Path):
    result, new_path = repair(path, Original(None))

    assert new_path.read_bytes() == path.read_bytes()
    assert (result.restored, result.remaining) == (0, [])


@pytest.mark.parametrize("number", [0, 1, 3])
def test_a_damaged_frame_is_written_from_the_log(path: Path, number: int):
    data = path.read_bytes()
    flip_byte(path, get_frame_offset(path, number, in_body=True))

    result, new_path = repair(path, Original(LOG))

    assert (result.restored, result.remaining) == (1, [])
    assert new_path.read_bytes() == data


def test_a_damaged_result_is_written_from_the_store(path: Path):
    data = path.read_bytes()
    flip_byte(path, get_frame_offset(path, 2, in_body=True))

    _, new_path = repair(path, Original(LOG, {"big": b"text"}))

    assert new_path.read_bytes() == data


@pytest.mark.parametrize("other", [None, LOG.replace(b"second", b"others")])
def test_a_frame_that_the_log_does_not_have_is_kept_as_it_is(
    path: Path, other: bytes | None
):
    flip_byte(path, get_frame_offset(path, 1, in_body=True))

    result, new_path = repair(path, Original(other))

    assert new_path.read_bytes() == path.read_bytes()
    assert result.restored == 0
    assert len(result.remaining) == 1


@pytest.mark.parametrize("number", [0, 1])
def test_lines_of_a_frame_whose_header_is_damaged_are_restored_in_their_place(
    path: Path, number: int
):
    flip_byte(path, get_frame_offset(path, number, in_body=False))

    result, new_path = repair(path, Original(LOG), drops_regions=True)

    assert read_log(new_path) == LOG
    assert (result.restored, result.remaining) == (1, [])


def test_a_damaged_region_is_kept_unless_the_caller_drops_regions(path: Path):
    flip_byte(path, get_frame_offset(path, 1, in_body=False))

    result, new_path = repair(path, Original(LOG))

    assert read_log(new_path) == LOG
    assert len(result.remaining) == 1


def test_a_damaged_region_is_kept_if_the_log_is_another_one(path: Path):
    flip_byte(path, get_frame_offset(path, 0, in_body=False))

    result, new_path = repair(path, Original(LOG[::-1]), drops_regions=True)

    assert len(result.remaining) == 1
    assert new_path.stat().st_size == path.stat().st_size


def test_a_region_at_the_end_is_left_to_the_caller(path: Path):
    flip_byte(path, get_frame_offset(path, 3, in_body=False))

    result, new_path = repair(path, Original(LOG), drops_regions=True)

    assert len(result.open_regions) == 1
    assert result.last_frame
    assert result.last_frame.source_end == ENDS[1]
    assert read_log(new_path) == LOG[: ENDS[1]]
