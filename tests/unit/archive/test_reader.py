"""Archived bytes are read back unchanged, and damage is reported."""

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
    spec = FrameSpec(kind=kind, generation=generation, offset=offset, length=len(data))
    with ArchiveWriter(path) as writer:
        writer.append(spec, [data])


def read_generations(path: Path) -> dict[int, bytes]:
    """Return the archived bytes of each generation."""
    with ArchiveReader(path) as reader:
        return {
            generation: b"".join(
                chunk for frame in frames for chunk in reader.read_frame(frame)
            )
            for generation, frames in reader.list_frames_by_generation().items()
        }


def test_bytes_are_grouped_by_generation(path: Path):
    append_frame(path, FrameKind.LOG, b"a\n")
    append_frame(path, FrameKind.LOG, b"b\n", offset=2)
    append_frame(path, FrameKind.LOG, b"c\n", generation=2)

    assert read_generations(path) == {1: b"a\nb\n", 2: b"c\n"}


def test_an_incomplete_line_is_replaced_by_the_complete_one(path: Path):
    append_frame(path, FrameKind.LOG, b"a\n")
    append_frame(path, FrameKind.TAIL, b"half", offset=2)
    before = read_generations(path)
    append_frame(path, FrameKind.LOG, b"half a line\n", offset=2)

    assert before == {1: b"a\nhalf"}
    assert read_generations(path) == {1: b"a\nhalf a line\n"}


def test_spilled_results_are_not_part_of_the_log(path: Path):
    append_frame(path, FrameKind.LOG, b"a\n")
    append_frame(path, FrameKind.SPILL, b"long text")

    assert read_generations(path) == {1: b"a\n"}


@pytest.mark.fault("E4")
def test_any_flipped_bit_is_detected_and_reported(path: Path):
    append_frame(path, FrameKind.LOG, b"one line\n" * 3)
    append_frame(path, FrameKind.LOG, b"another\n", offset=27)
    data = path.read_bytes()

    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 1 << position % 8
        path.write_bytes(damaged)
        with ArchiveReader(path) as reader:
            messages = reader.find_damage()
            frame_count = len(reader.frames)

        assert messages, position
        assert all(str(path) in message for message in messages)
        assert frame_count >= 1


def test_reading_a_damaged_frame_raises_an_error_with_its_position(path: Path):
    append_frame(path, FrameKind.LOG, b"one line\n" * 3)
    data = bytearray(path.read_bytes())
    data[-6] ^= 1
    path.write_bytes(data)

    with (
        ArchiveReader(path) as reader,
        pytest.raises(ArchiveError, match=r"bytes 0 to 27"),
    ):
        list(reader.read_frame(reader.frames[0]))


def test_no_damage_is_reported_for_an_intact_file(path: Path):
    append_frame(path, FrameKind.LOG, b"a\n")

    with ArchiveReader(path) as reader:
        assert reader.find_damage() == []


def test_opening_a_missing_file_raises_an_error(path: Path):
    with pytest.raises(ArchiveError, match="cannot be opened"):
        ArchiveReader(path)


def test_the_manifest_is_private(tmp_path: Path):
    assert load_manifest(tmp_path, int).sessions == []

    save_manifest(tmp_path, {"key_id": "k"}, [1, 2])

    manifest = load_manifest(tmp_path, int)
    assert (manifest.form, manifest.key_id, manifest.sessions) == (1, "k", [1, 2])
    assert list_modes([tmp_path / "manifest.json"]) == {0o600}


@pytest.mark.parametrize("form", [2, 9])
def test_the_manifest_of_a_newer_version_is_refused(tmp_path: Path, form: int):
    (tmp_path / "manifest.json").write_text(f'{{"form": {form}}}')

    with pytest.raises(ArchiveVersionError):
        load_manifest(tmp_path, int)


def test_a_damaged_manifest_is_refused(tmp_path: Path):
    (tmp_path / "manifest.json").write_text("{")

    with pytest.raises(ArchiveError, match="cannot be read"):
        load_manifest(tmp_path, int)
