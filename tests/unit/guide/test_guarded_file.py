"""The file: never through a link, whole or not at all, as open as it was."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from leslied.errors import UserError
from leslied.guide import guarded_file, read_snapshot, replace_file

NAME = "AGENTS.md"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "project" / NAME
    path.parent.mkdir()
    return path


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def replace(file: Path, data: bytes | None) -> None:
    replace_file(read_snapshot(file.parent, NAME), data)


@pytest.mark.parametrize("wanted", [0o600, 0o640, 0o644, 0o664, 0o755, 0o444])
def test_the_mode_is_kept(file: Path, wanted: int):
    file.write_bytes(b"old")
    file.chmod(wanted)

    replace(file, b"new")

    assert (file.read_bytes(), mode(file)) == (b"new", wanted)


@pytest.mark.parametrize(
    ("folder", "wanted"), [(0o755, 0o644), (0o700, 0o600), (0o775, 0o664)]
)
def test_a_new_file_is_as_open_as_its_folder(file: Path, folder: int, wanted: int):
    file.parent.chmod(folder)

    replace(file, b"new")

    assert (file.read_bytes(), mode(file)) == (b"new", wanted)


def test_nothing_but_the_file_is_left_in_the_folder(file: Path):
    replace(file, b"new" * 5000)

    assert [*file.parent.iterdir()] == [file]


def test_a_file_that_becomes_nothing_is_gone(file: Path):
    file.write_bytes(b"old")

    replace(file, None)

    assert not file.exists()


def test_a_link_is_refused_and_told_where_it_leads(file: Path, tmp_path: Path):
    """P6: never through a link."""
    target = tmp_path / "elsewhere"
    target.write_bytes(b"precious")
    file.symlink_to(target)

    with pytest.raises(UserError, match=f"is a link to {target}"):
        read_snapshot(file.parent, NAME)

    assert target.read_bytes() == b"precious"


def test_a_link_to_a_file_beside_it_names_the_way(file: Path):
    file.symlink_to("CLAUDE.md")

    with pytest.raises(UserError) as caught:
        read_snapshot(file.parent, NAME)

    assert caught.value.hint == "To write there: leslied init --file CLAUDE.md"


def test_another_name_of_the_same_file_keeps_its_bytes(file: Path, tmp_path: Path):
    """P6: a hard link planted in a project does not lead out of it."""
    target = tmp_path / "elsewhere"
    target.write_bytes(b"precious")
    os.link(target, file)

    replace(file, b"new")

    assert (target.read_bytes(), file.read_bytes()) == (b"precious", b"new")


def test_a_pipe_is_refused_without_waiting(file: Path):
    os.mkfifo(file)

    with pytest.raises(UserError, match="no plain file"):
        read_snapshot(file.parent, NAME)


def test_a_folder_is_refused(file: Path):
    file.mkdir()

    with pytest.raises(UserError, match="no plain file"):
        read_snapshot(file.parent, NAME)


def test_a_huge_file_is_refused(file: Path):
    with file.open("wb") as stream:
        stream.truncate(guarded_file.MAX_BYTES + 1)

    with pytest.raises(UserError, match="too many"):
        read_snapshot(file.parent, NAME)


@pytest.mark.parametrize("wanted", [b"new", None])
def test_a_file_changed_meanwhile_is_left_alone(file: Path, wanted: bytes | None):
    """D8: somebody's edit between our look and our write is not lost."""
    file.write_bytes(b"old")
    paper = read_snapshot(file.parent, NAME)
    file.write_bytes(b"edited")

    with pytest.raises(UserError, match="changed by somebody else"):
        replace_file(paper, wanted)

    assert file.read_bytes() == b"edited"
    assert [*file.parent.iterdir()] == [file]


def test_a_file_that_appears_meanwhile_is_left_alone(file: Path):
    paper = read_snapshot(file.parent, NAME)
    file.write_bytes(b"theirs")

    with pytest.raises(UserError, match="changed by somebody else"):
        replace_file(paper, b"new")

    assert file.read_bytes() == b"theirs"


def test_a_full_disk_leaves_the_old_file(file: Path, monkeypatch: pytest.MonkeyPatch):
    file.write_bytes(b"old")

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(guarded_file.os, "fsync", fail)

    with pytest.raises(OSError, match="No space"):
        replace(file, b"new")

    assert file.read_bytes() == b"old"
    assert [*file.parent.iterdir()] == [file]
