"""An archive file with any damage is repaired while the log exists."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from leslied.archive import FrameKind
from tests.support.archives import (
    CheckHarness,
    flip_byte,
    list_frame_kinds,
    read_archive,
)
from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder

pytestmark = pytest.mark.fault("E3", "E4")

SPILL = f"-home-dev-app/{SESSION}/tool-results/big.txt"
ZEROS_STEP = 7
LARGE_STEP = 997
"""Step between the flipped bytes of a large file; a prime, to meet all its parts."""


@pytest.fixture
def archive(
    claude: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> Iterator[CheckHarness]:
    # Thousands of repairs take minutes if each waits for the disk.
    monkeypatch.setattr(os, "fsync", lambda _: None)
    with CheckHarness(claude) as harness:
        yield harness


@pytest.fixture
def small_file(claude: ClaudeHome, archive: CheckHarness) -> Path:
    """Archive a small log in two frames, with a spilled result between them."""
    builder = ClaudeLogBuilder()
    spill = claude.log(SPILL)
    spill.write_text("the whole text")
    notice = f"<persisted-output>\nOutput too large. Full output saved to: {spill}\n"
    claude.write(builder.call("Bash", {}, "t1"), builder.result("t1", notice))
    archive.archive()
    claude.write(builder.prompt("two"))
    path = archive.archive()
    kinds = [FrameKind.LOG, FrameKind.SPILL, FrameKind.LOG]
    assert list_frame_kinds(path) == kinds
    return path


def test_every_flipped_byte_is_repaired(archive: CheckHarness, small_file: Path):
    content, size = read_archive(small_file), small_file.stat().st_size

    for offset in range(size):
        flip_byte(small_file, offset)
        report = archive.check()

        assert (report.repaired, report.errors) == (1, {}), offset
        assert read_archive(small_file) == content, offset


def test_a_file_that_is_truncated_anywhere_is_repaired(
    archive: CheckHarness, small_file: Path
):
    content, size = read_archive(small_file), small_file.stat().st_size

    for end in reversed(range(size)):
        os.truncate(small_file, end)
        report = archive.check()

        assert report.errors == {}, end
        assert read_archive(small_file) == content, end


def test_a_file_that_ends_in_zeros_is_repaired(archive: CheckHarness, small_file: Path):
    """After a power loss, a file can have its size but not its last bytes."""
    content, size = read_archive(small_file), small_file.stat().st_size

    for end in range(size - 1, -1, -ZEROS_STEP):
        os.truncate(small_file, end)
        os.truncate(small_file, size)
        report = archive.check()

        assert report.errors == {}, end
        assert read_archive(small_file) == content, end


def test_flipped_bytes_of_a_large_file_are_repaired(
    claude: ClaudeHome, archive: CheckHarness
):
    builder = ClaudeLogBuilder()
    for number in range(20):
        texts = [f"{number} {index} {index**7}" for index in range(100)]
        claude.write(*map(builder.prompt, texts))
        path = archive.archive()
    content, size = read_archive(path), path.stat().st_size

    for offset in range(0, size, LARGE_STEP):
        flip_byte(path, offset)
        report = archive.check()

        assert (report.repaired, report.errors) == (1, {}), offset
        assert read_archive(path) == content, offset
