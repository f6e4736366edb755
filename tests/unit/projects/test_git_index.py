"""Test which files Git tracks, against repositories that the real `git` made."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from leslied.projects import git_index
from leslied.projects.git_index import list_tracked_files
from tests.support.git import git, make_repository

pytestmark = pytest.mark.threat("S8")

TRACKED = [".leslie/INDEX.md", ".leslie/threads/thread-1/.meta/transcripts/ä b.txt"]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = make_repository(tmp_path / "repo")
    add_files(folder, *TRACKED, ".github/x", ".leslie-not/x", "src/deep/er/main.py")
    return folder


def add_files(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    git(folder, "add", "-A")


@pytest.mark.parametrize("version", ["2", "4"])
def test_every_version_of_the_index_is_read(repository: Path, version: str):
    git(repository, "update-index", "--index-version", version)

    assert list_tracked_files(repository, ".leslie") == TRACKED


def test_an_entry_with_extended_flags_is_read(repository: Path):
    (repository / ".leslie/a").write_text("x")
    git(repository, "add", "-N", ".leslie/a")

    assert list_tracked_files(repository, ".leslie") == [
        *TRACKED[:1],
        ".leslie/a",
        *TRACKED[1:],
    ]


def test_an_index_with_long_object_ids_is_read(tmp_path: Path):
    git(tmp_path, "init", "-q", "--object-format=sha256", "repo")
    add_files(tmp_path / "repo", *TRACKED, "z")

    assert list_tracked_files(tmp_path / "repo", ".leslie") == TRACKED


def test_a_split_index_is_read(repository: Path):
    git(repository, "update-index", "--split-index")
    add_files(repository, ".leslie/zz")

    assert list_tracked_files(repository, ".leslie") == [*TRACKED, ".leslie/zz"]


def test_a_linked_working_tree_has_its_own_index(repository: Path, tmp_path: Path):
    git(repository, "commit", "-q", "-m", "files")
    git(repository, "worktree", "add", "-q", str(tmp_path / "tree"))
    add_files(tmp_path / "tree", ".leslie/zz")

    assert list_tracked_files(tmp_path / "tree", ".leslie") == [*TRACKED, ".leslie/zz"]
    assert list_tracked_files(repository, ".leslie") == TRACKED


def test_the_folder_may_be_a_repository_of_its_own(repository: Path, tmp_path: Path):
    outer = make_repository(tmp_path / "outer")
    git(repository, "commit", "-q", "-m", "files")
    git(outer, "submodule", "--quiet", "add", str(repository), "inner")

    assert f"inner/{TRACKED[0]}" in list_tracked_files(outer, "inner")


def test_files_before_the_folder_do_not_hide_it(
    repository: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(git_index, "_FIRST_BYTES", 100)

    assert list_tracked_files(repository, ".leslie") == TRACKED


def test_nothing_is_tracked_without_a_repository(tmp_path: Path):
    assert list_tracked_files(tmp_path, ".leslie") == []


def test_links_and_pipes_are_not_read(repository: Path, tmp_path: Path):
    index = repository / ".git/index"
    index.rename(tmp_path / "index")
    index.symlink_to(tmp_path / "index")
    assert list_tracked_files(repository, ".leslie") == []

    index.unlink()
    os.mkfifo(index)
    assert list_tracked_files(repository, ".leslie") == []


def test_a_damaged_index_does_no_harm(repository: Path):
    index = repository / ".git/index"
    original = index.read_bytes()
    numbers = random.Random(1)
    for version in ("2", "4"):
        git(repository, "update-index", "--index-version", version)
        original = index.read_bytes()
        for _ in range(300):
            damaged = bytearray(original[: numbers.randrange(len(original))])
            for _ in range(numbers.randrange(4)):
                damaged[numbers.randrange(len(damaged) or 1) : 0] = numbers.randbytes(3)
            index.write_bytes(damaged)

            list_tracked_files(repository, ".leslie")
        index.write_bytes(original)


def test_a_count_that_is_too_large_ends_with_the_file(repository: Path):
    index = repository / ".git/index"
    data = index.read_bytes()
    index.write_bytes(data[:8] + b"\xff\xff\xff\xff" + data[12:])

    assert list_tracked_files(repository, ".leslie") == TRACKED
