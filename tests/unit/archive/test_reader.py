"""Archived bytes come back as they were, or with a sentence about what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.archive import (
    ArchiveError,
    ArchiveReader,
    ArchiveVersionError,
    ArchiveWriter,
    FrameKind,
    FrameSpec,
    load_manifest,
    save_manifest,
)
from tests.support.records import list_modes


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.zst"


def append_frame(
    path: Path, kind: FrameKind, data: bytes, generation: int = 1, offset: int = 0
):
    label = FrameSpec(kind=kind, generation=generation, offset=offset, length=len(data))
    with ArchiveWriter(path) as writer:
        writer.append(label, [data])


def read(path: Path) -> dict[int, bytes]:
    with ArchiveReader(path) as reader:
        return {
            number: b"".join(
                piece for frame in frames for piece in reader.read_frame(frame)
            )
            for number, frames in reader.list_frames_by_generation().items()
        }


def test_every_generation_has_its_own_bytes(path: Path):
    append_frame(path, FrameKind.LOG, b"a\n")
    append_frame(path, FrameKind.LOG, b"b\n", offset=2)
    append_frame(path, FrameKind.LOG, b"c\n", generation=2)

    assert read(path) == {1: b"a\nb\n", 2: b"c\n"}


def test_an_unended_line_counts_until_it_is_ended(path: Path):
    append_frame(path, FrameKind.LOG, b"a\n")
    append_frame(path, FrameKind.TAIL, b"half", offset=2)
    before = read(path)
    append_frame(path, FrameKind.LOG, b"half a line\n", offset=2)

    assert before == {1: b"a\nhalf"}
    assert read(path) == {1: b"a\nhalf a line\n"}


def test_spilled_results_are_no_part_of_the_log(path: Path):
    append_frame(path, FrameKind.LOG, b"a\n")
    append_frame(path, FrameKind.SPILL, b"long text")

    assert read(path) == {1: b"a\n"}


def test_any_flipped_bit_is_detected_and_named(path: Path):
    """E4."""
    append_frame(path, FrameKind.LOG, b"one line\n" * 3)
    append_frame(path, FrameKind.LOG, b"another\n", offset=27)
    data = path.read_bytes()

    for place in range(len(data)):
        flipped = bytearray(data)
        flipped[place] ^= 1 << place % 8
        path.write_bytes(flipped)
        try:
            with ArchiveReader(path) as reader:
                told = reader.find_damage()
                whole = len(reader.frames)
        except ArchiveVersionError:
            continue

        assert told, place
        assert all(str(path) in sentence for sentence in told)
        assert whole >= 1


def test_damaged_data_raise_a_sentence_with_the_place(path: Path):
    append_frame(path, FrameKind.LOG, b"one line\n" * 3)
    data = bytearray(path.read_bytes())
    data[-6] ^= 1
    path.write_bytes(data)

    with (
        ArchiveReader(path) as reader,
        pytest.raises(ArchiveError, match=r"bytes 0 to 27"),
    ):
        list(reader.read_frame(reader.frames[0]))


def test_a_healthy_file_has_nothing_to_tell(path: Path):
    append_frame(path, FrameKind.LOG, b"a\n")

    with ArchiveReader(path) as reader:
        assert reader.find_damage() == []


def test_a_file_that_is_not_there_is_a_sentence(path: Path):
    with pytest.raises(ArchiveError, match="cannot be opened"):
        ArchiveReader(path)


def test_the_manifest_is_whole_private_and_versioned(tmp_path: Path):
    assert load_manifest(tmp_path, int).sessions == []

    save_manifest(tmp_path, {"key_id": "k"}, [1, 2])

    found = load_manifest(tmp_path, int)
    assert (found.form, found.key_id, found.sessions) == (1, "k", [1, 2])
    assert list_modes([tmp_path / "manifest.json"]) == {0o600}
    (tmp_path / "manifest.json").write_text('{"form": 9}')
    with pytest.raises(ArchiveVersionError):
        load_manifest(tmp_path, int)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(ArchiveError, match="cannot be read"):
        load_manifest(tmp_path, int)
