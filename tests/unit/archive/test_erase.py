"""Erased lines are gone from archive files; the others stay where they were."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.archive import (
    ArchiveReader,
    ArchiveWriter,
    FrameKind,
    FrameSpec,
    erase_lines,
    find_lines,
    is_erased,
    split_lines,
)
from leslied.archive import erase as erase_module

STAMP = [1, 2, 3, 4, 5]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "archive" / "a.zst"


def write(path: Path, *frames: tuple[FrameKind, int, int, bytes], **metadata) -> None:
    with ArchiveWriter(path) as writer:
        for kind, generation, offset, data in frames:
            spec = FrameSpec(
                kind=kind,
                generation=generation,
                offset=offset,
                length=len(data),
                metadata={"stamp": STAMP, **metadata},
            )
            writer.append(spec, [data])


def read(path: Path) -> list[tuple[int, int, int, bytes]]:
    with ArchiveReader(path) as reader:
        assert reader.find_damage() == []
        return [
            (f.kind, f.generation, f.offset, b"".join(reader.read_frame(f)))
            for f in reader.frames
        ]


def has_x(line: bytes) -> bool:
    return b"x" in line


def test_lines_are_replaced_by_spaces(path: Path):
    write(
        path,
        (FrameKind.LOG, 1, 0, b"one\ntwo x\n"),
        (FrameKind.LOG, 1, 10, b"x\nthree\n"),
        (FrameKind.TAIL, 1, 18, b"tail x"),
    )
    erase_lines(path, has_x)

    assert read(path) == [
        (FrameKind.LOG, 1, 0, b"one\n     \n"),
        (FrameKind.LOG, 1, 10, b" \nthree\n"),
        (FrameKind.TAIL, 1, 18, b"      "),
    ]
    assert b"two" not in path.read_bytes()


def test_all_generations_are_searched(path: Path):
    write(path, (FrameKind.LOG, 1, 0, b"x\n"), (FrameKind.LOG, 2, 0, b"a\nx\n"))
    found = [(frame.generation, line.offset) for frame, line in find_lines(path, has_x)]
    erase_lines(path, has_x)

    assert found == [(1, 0), (2, 2)]
    assert [data for *_, data in read(path)] == [b" \n", b"a\n \n"]


def test_documents_and_separate_results_are_omitted(path: Path):
    write(
        path,
        (FrameKind.DOCUMENT, 1, 0, b"{x}"),
        (FrameKind.DOCUMENT, 2, 0, b"{}"),
        (FrameKind.SPILL, 2, 0, b"x"),
        (FrameKind.SPILL, 2, 0, b"y"),
    )
    erase_lines(path, has_x)

    assert [data for *_, data in read(path)] == [b"{}", b"y"]


def test_a_file_without_remaining_frames_is_deleted(path: Path):
    write(path, (FrameKind.DOCUMENT, 1, 0, b"x"))
    erase_lines(path, has_x)

    assert list(path.parent.iterdir()) == []


def test_a_matching_side_file_is_removed_from_the_metadata(path: Path):
    write(path, (FrameKind.LOG, 1, 0, b"a\n"), beside="x", agent="box")
    found = list(find_lines(path, has_x))
    erase_lines(path, has_x)
    with ArchiveReader(path) as reader:
        (frame,) = reader.frames

    assert len(found) == 1
    assert frame.metadata == {"stamp": [0] * 5, "agent": "box"}
    assert is_erased(frame)


def test_checksums_continue_over_the_remaining_bytes(path: Path):
    write(path, (FrameKind.LOG, 1, 0, b"x\n"), (FrameKind.LOG, 1, 2, b"a\n"))
    erase_lines(path, has_x)
    with ArchiveReader(path) as reader:
        first, second = reader.frames

    assert first.running_crc == first.crc
    assert second.running_crc != second.crc


def test_lines_are_split_across_chunks():
    lines = list(split_lines([b"a", b"b\nc", b"", b"\n\nd"], 10))

    assert [(line.offset, line.data) for line in lines] == [
        (10, b"ab\n"),
        (13, b"c\n"),
        (15, b"\n"),
        (16, b"d"),
    ]


def test_a_very_long_line_is_split_to_bound_the_memory(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(erase_module, "_MAX_LINE_BYTES", 5)
    lines = list(split_lines([b"abc"] * 5))

    assert b"".join(line.data for line in lines) == b"abc" * 5
    # A line is split after the chunk with which it exceeds the limit.
    assert max(len(line.data) for line in lines) == 6
    assert lines[-1].end == 15
