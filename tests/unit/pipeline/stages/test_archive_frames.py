"""Test copying one source: only bytes that were read, each of them once."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from leslied.archive import ArchiveError, ArchiveReader, ArchiveWriter, FrameKind
from leslied.model.source import Cursor, Shape
from leslied.pipeline.stages.archive_frames import SourceCopier, add_spills
from leslied.store.ledgers.archive import ArchiveCursor, DueSource
from leslied.tail import ReadLimits
from tests.support.records import make_source


class CopierHarness:
    """Copies a log that was read up to its current end."""

    def __init__(self, folder: Path) -> None:
        self.log, self.file = folder / "a.jsonl", folder / "a.zst"
        self.bytes_read = 0

    def copy(
        self,
        shape: Shape = Shape.APPEND_LOG,
        archive_cursor: ArchiveCursor | None = None,
        **fields: int,
    ) -> int:
        """Copy what the cursor covers, by default everything."""
        data = self.log.read_bytes()
        cursor = Cursor(**{"offset": len(data), "crc": zlib.crc32(data), **fields})  # type: ignore[arg-type]
        due = DueSource(1, "claude-code", b"", 1, cursor, archive_cursor)
        source = make_source(self.log, shape)
        with ArchiveWriter(self.file) as writer:
            copier = SourceCopier(due, source, writer, ReadLimits())
            generation = copier.run()
        self.bytes_read += copier.bytes_read
        return generation

    def read_frames(self) -> list[tuple[FrameKind, int, int]]:
        """Return kind, generation and length of each frame."""
        with ArchiveReader(self.file) as reader:
            return [(f.kind, f.generation, f.length) for f in reader.frames]


@pytest.fixture
def copier(tmp_path: Path) -> CopierHarness:
    return CopierHarness(tmp_path)


def test_a_second_copy_adds_only_new_bytes(copier: CopierHarness):
    copier.log.write_bytes(b"one\n")
    copier.copy()
    copier.log.write_bytes(b"one\nmore\n")
    copier.copy()

    assert copier.read_frames() == [(FrameKind.LOG, 1, 4), (FrameKind.LOG, 1, 5)]
    assert copier.bytes_read == 9


def test_an_unchanged_log_adds_no_frame(copier: CopierHarness):
    copier.log.write_bytes(b"one\n")
    copier.copy()
    copier.copy()

    assert copier.read_frames() == [(FrameKind.LOG, 1, 4)]


def test_a_log_without_the_archived_bytes_starts_a_generation(copier: CopierHarness):
    copier.log.write_bytes(b"one\n")
    copier.copy()
    copier.log.write_bytes(b"other\n")

    assert copier.copy() == 2
    assert copier.read_frames() == [(FrameKind.LOG, 1, 4), (FrameKind.LOG, 2, 6)]


def test_bytes_that_are_not_those_that_were_read_are_not_copied(copier: CopierHarness):
    copier.log.write_bytes(b"one\n")

    with pytest.raises(ArchiveError):
        copier.copy(crc=1)


def test_an_incomplete_last_line_is_a_frame_of_its_own(copier: CopierHarness):
    copier.log.write_bytes(b"one\ntwo")
    copier.copy(offset=4, crc=zlib.crc32(b"one\n"), finished_size=7)

    assert copier.read_frames() == [(FrameKind.LOG, 1, 4), (FrameKind.TAIL, 1, 3)]


def test_a_changed_document_is_copied_completely(copier: CopierHarness):
    copier.log.write_bytes(b"{}")
    copier.copy(Shape.DOCUMENT)
    copier.log.write_bytes(b"{ }")
    copier.copy(Shape.DOCUMENT)

    assert copier.read_frames() == [
        (FrameKind.DOCUMENT, 1, 2),
        (FrameKind.DOCUMENT, 2, 3),
    ]


def test_a_spilled_result_is_a_frame_with_its_name(copier: CopierHarness):
    with ArchiveWriter(copier.file) as writer:
        add_spills(writer, 1, [('{"spill": "big.txt"}', "result")])

    assert copier.read_frames() == [(FrameKind.SPILL, 1, 6)]
