"""Repairing an archive file from its log: atomic, verified, without forgotten lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.archive import ArchiveError, ArchiveReader, ArchiveWriter
from leslied.errors import SourceError
from leslied.pipeline.maintenance import archive_repair
from leslied.pipeline.maintenance.archive_repair import (
    ArchivedOriginal,
    ArchiveFolderRepair,
    repair_file,
)
from leslied.store.forgotten import Forgotten, ForgottenItems, digest_line
from leslied.tail import ReadLimits
from tests.support.archives import CheckHarness, flip_byte, read_archive
from tests.support.claude import ADAPTER, ClaudeHome, ClaudeLogBuilder
from tests.support.golden import make_environment
from tests.support.records import make_source

pytestmark = pytest.mark.fault("E4")
HEADER = 20
"""Offset in a frame of a byte of its header."""


@pytest.fixture
def forgotten(claude: ClaudeHome) -> Forgotten:
    return Forgotten(claude.store_path)


@pytest.fixture
def path(claude: ClaudeHome) -> Path:
    """Archive a log in two frames, and return the archive file."""
    builder = ClaudeLogBuilder()
    with CheckHarness(claude) as archive:
        claude.write(builder.prompt("one"), builder.answer("1"))
        archive.archive()
        claude.write(builder.prompt("two"), builder.answer("2"))
        return archive.archive()


@pytest.fixture
def original(claude: ClaudeHome, path: Path, forgotten: Forgotten) -> ArchivedOriginal:
    return ArchivedOriginal(log=make_source(claude.log()), forgotten=forgotten)


@pytest.fixture
def folder_repair(claude: ClaudeHome, forgotten: Forgotten) -> ArchiveFolderRepair:
    roots = tuple(ADAPTER.roots(make_environment(claude.home), []))
    return ArchiveFolderRepair(
        folder=claude.store_path.parent / "archive",
        roots={ADAPTER.name: roots},
        forgotten=forgotten,
        list_spills=lambda *_: [],
        mask=None,
        limits=ReadLimits(),
    )


def flip_body(path: Path) -> None:
    """Damage the compressed data of the last frame."""
    flip_byte(path, path.stat().st_size - 6)


def test_a_repaired_file_replaces_the_damaged_one(
    path: Path, original: ArchivedOriginal
):
    content = read_archive(path)
    flip_body(path)

    result = repair_file(path, original)

    assert (result.restored, result.remaining) == (1, [])
    assert read_archive(path) == content
    assert list(path.parent.iterdir()) == [path]


def test_a_copy_that_cannot_be_verified_does_not_replace_the_file(
    path: Path, original: ArchivedOriginal, monkeypatch: pytest.MonkeyPatch
):
    flip_body(path)
    damaged = path.read_bytes()
    sync = ArchiveWriter.sync

    def sync_and_damage(writer: ArchiveWriter) -> None:
        sync(writer)
        flip_body(writer.path)

    monkeypatch.setattr(archive_repair.ArchiveWriter, "sync", sync_and_damage)

    with pytest.raises(ArchiveError, match="cannot be verified"):
        repair_file(path, original)
    assert path.read_bytes() == damaged
    assert list(path.parent.iterdir()) == [path]


def test_a_file_without_a_log_is_not_changed(path: Path, forgotten: Forgotten):
    flip_body(path)
    before = path.stat()

    result = repair_file(path, ArchivedOriginal(log=None, forgotten=forgotten))

    assert (result.restored, len(result.remaining)) == (0, 1)
    assert path.stat() == before


def test_forgotten_lines_are_read_as_spaces_from_files_that_have_them_erased(
    claude: ClaudeHome, original: ArchivedOriginal, forgotten: Forgotten
):
    log = claude.log().read_bytes()
    line = log[: log.index(b"\n")]
    forgotten.add(ForgottenItems(line_digests=[digest_line(line)]))

    data = b"".join(original.read(0, len(log), is_erased=True))

    assert data == b" " * len(line) + log[len(line) :]
    with pytest.raises(SourceError, match="forgotten"):
        list(original.read(0, len(log), is_erased=False))


def test_a_damaged_folder_is_repaired_and_the_repair_reported(
    path: Path, folder_repair: ArchiveFolderRepair
):
    content = read_archive(path)
    flip_body(path)

    folder_repair.run()

    assert folder_repair.messages == [
        f"Restored 1 damaged part of {path} from the log."
    ]
    assert folder_repair.damage_without_log == []
    assert read_archive(path) == content


def test_damage_in_a_folder_is_lost_only_without_the_log(
    claude: ClaudeHome, path: Path, folder_repair: ArchiveFolderRepair
):
    flip_body(path)
    claude.log().unlink()

    folder_repair.run()

    assert len(folder_repair.damage_without_log) == 1
    assert str(path) in folder_repair.damage_without_log[0]


def test_the_log_of_a_file_without_a_readable_frame_is_found_by_name(
    path: Path, folder_repair: ArchiveFolderRepair
):
    with ArchiveReader(path) as reader:
        offsets = [frame.file_offset for frame in reader.frames]
    for offset in offsets:
        flip_byte(path, offset + HEADER)

    folder_repair.run()

    assert folder_repair.damage_without_log == []
    assert len(folder_repair.messages) == 1
