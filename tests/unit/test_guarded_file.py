"""Reading and replacing the user's file: links, modes, concurrent changes."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from leslied import guarded_file
from leslied.errors import UserError
from leslied.guarded_file import LinkError, read_snapshot, replace_file

NAME = "AGENTS.md"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "project" / NAME
    path.parent.mkdir()
    return path


def get_mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def replace(file: Path, data: bytes | None) -> None:
    replace_file(read_snapshot(file.parent, NAME), data)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o664, 0o755, 0o444])
def test_a_replaced_file_keeps_its_mode(file: Path, mode: int):
    file.write_bytes(b"old")
    file.chmod(mode)

    replace(file, b"new")

    assert (file.read_bytes(), get_mode(file)) == (b"new", mode)


@pytest.mark.parametrize(
    ("folder_mode", "mode"), [(0o755, 0o644), (0o700, 0o600), (0o775, 0o664)]
)
def test_a_new_file_gets_the_mode_of_its_folder(
    file: Path, folder_mode: int, mode: int
):
    file.parent.chmod(folder_mode)

    replace(file, b"new")

    assert (file.read_bytes(), get_mode(file)) == (b"new", mode)


def test_no_temporary_file_remains_in_the_folder(file: Path):
    replace(file, b"new" * 5000)

    assert [*file.parent.iterdir()] == [file]


def test_replacing_the_content_with_none_deletes_the_file(file: Path):
    file.write_bytes(b"old")

    replace(file, None)

    assert not file.exists()


@pytest.mark.threat("P6")
def test_a_link_is_refused_and_its_target_named(file: Path, tmp_path: Path):
    """Links are never followed."""
    target = tmp_path / "elsewhere"
    target.write_bytes(b"precious")
    file.symlink_to(target)

    with pytest.raises(UserError, match=f"is a link to {target}"):
        read_snapshot(file.parent, NAME)

    assert target.read_bytes() == b"precious"


@pytest.mark.threat("P2", "P6")
def test_a_folder_that_is_swapped_for_a_link_after_reading_is_refused(
    file: Path, tmp_path: Path
):
    (tmp_path / "victim").mkdir()
    snapshot = read_snapshot(file.parent, NAME)
    file.parent.rename(tmp_path / "moved")
    file.parent.symlink_to(tmp_path / "victim")

    with pytest.raises(LinkError):
        replace_file(snapshot, b"new")

    assert list((tmp_path / "victim").iterdir()) == []


def test_a_folder_that_is_a_link_is_refused(file: Path, tmp_path: Path):
    (tmp_path / "link").symlink_to(file.parent)

    with pytest.raises(LinkError, match="link is a link to"):
        read_snapshot(tmp_path / "link", NAME)


def test_a_new_private_file_is_not_readable_by_others(file: Path):
    file.parent.chmod(0o755)
    replace_file(read_snapshot(file.parent, NAME), b"new", is_private=True)

    assert get_mode(file) == 0o600


@pytest.mark.threat("P6")
def test_the_other_name_of_a_hard_link_keeps_its_content(file: Path, tmp_path: Path):
    """A hard link in a project does not change a file outside of it."""
    target = tmp_path / "elsewhere"
    target.write_bytes(b"precious")
    os.link(target, file)

    replace(file, b"new")

    assert (target.read_bytes(), file.read_bytes()) == (b"precious", b"new")


def test_a_named_pipe_is_refused_without_blocking(file: Path):
    os.mkfifo(file)

    with pytest.raises(UserError, match="not a regular file"):
        read_snapshot(file.parent, NAME)


def test_a_folder_is_refused(file: Path):
    file.mkdir()

    with pytest.raises(UserError, match="not a regular file"):
        read_snapshot(file.parent, NAME)


def test_a_huge_file_is_refused(file: Path):
    with file.open("wb") as stream:
        stream.truncate(guarded_file.MAX_BYTES + 1)

    with pytest.raises(UserError, match="too many"):
        read_snapshot(file.parent, NAME)


@pytest.mark.fault("D8")
@pytest.mark.parametrize("data", [b"new", None])
def test_a_file_that_changed_since_it_was_read_is_not_replaced(
    file: Path, data: bytes | None
):
    """An edit between our read and our write is not lost."""
    file.write_bytes(b"old")
    snapshot = read_snapshot(file.parent, NAME)
    file.write_bytes(b"edited")

    with pytest.raises(UserError, match="Another program has just changed"):
        replace_file(snapshot, data)

    assert file.read_bytes() == b"edited"
    assert [*file.parent.iterdir()] == [file]


def test_a_file_that_was_created_since_the_read_is_not_replaced(file: Path):
    snapshot = read_snapshot(file.parent, NAME)
    file.write_bytes(b"theirs")

    with pytest.raises(UserError, match="Another program has just changed"):
        replace_file(snapshot, b"new")

    assert file.read_bytes() == b"theirs"


@pytest.mark.fault("D3", "D8")
def test_on_a_full_disk_the_old_file_remains(
    file: Path, monkeypatch: pytest.MonkeyPatch
):
    file.write_bytes(b"old")

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(guarded_file.os, "fsync", fail)

    with pytest.raises(OSError, match="No space"):
        replace(file, b"new")

    assert file.read_bytes() == b"old"
    assert [*file.parent.iterdir()] == [file]
