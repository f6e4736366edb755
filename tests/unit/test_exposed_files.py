"""Find and repair files that other users can access."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from leslied.exposed_files import find_exposed_files
from leslied.fs import make_missing_folders

pytestmark = pytest.mark.threat("S7")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    path.mkdir(mode=0o700)
    return path


def write(path: Path, mode: int) -> Path:
    make_missing_folders(path.parent)
    path.write_text("x")
    path.chmod(mode)
    return path


def get_mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("mode", [0o601, 0o640, 0o644, 0o666, 0o755])
def test_an_exposed_file_is_found_at_any_depth(folder: Path, mode: int):
    write(folder / "private", 0o600)
    file = write(folder / "a" / "b" / "exposed", mode)

    assert list(find_exposed_files(folder, ["."])) == [file]
    assert get_mode(file) == mode


def test_an_exposed_folder_is_found(folder: Path):
    folder.chmod(0o755)

    assert list(find_exposed_files(folder, ["."])) == [folder]


def test_repairing_keeps_the_rights_of_the_owner(folder: Path):
    file, script = write(folder / "a", 0o444), write(folder / "b", 0o775)
    list(find_exposed_files(folder, ["."], repair=True))

    assert [get_mode(file), get_mode(script)] == [0o400, 0o700]
    assert not list(find_exposed_files(folder, ["."]))


def test_links_and_files_with_several_names_keep_their_modes(
    folder: Path, tmp_path: Path
):
    victim = write(tmp_path / "victim", 0o644)
    (folder / "link").symlink_to(victim)
    os.link(victim, folder / "hard")
    os.mkfifo(folder / "pipe")
    write(tmp_path / "elsewhere" / "file", 0o644)
    (folder / "folder").symlink_to(tmp_path / "elsewhere")

    names = [".", "folder/file", "link", "missing/file"]
    assert not list(find_exposed_files(folder, names, repair=True))
    assert get_mode(victim) == 0o644
    assert get_mode(tmp_path / "elsewhere" / "file") == 0o644
