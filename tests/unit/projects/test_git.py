"""Test which repository a folder belongs to, and what identifies a repository."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from leslied.projects.git import (
    GitRepository,
    find_git_dir,
    find_repository,
    get_directory_id,
    normalize_remote,
    read_head,
    read_remote,
)
from tests.support.git import git, make_repository


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repo", remote="git@Example.org:team/app.git")


def test_a_subfolder_belongs_to_the_repository_above_it(repository: Path):
    folder = repository / "src" / "web"

    assert find_repository(str(folder)) == GitRepository(repository, repository)


def test_a_linked_working_tree_belongs_to_its_repository(
    repository: Path, tmp_path: Path
):
    tree = tmp_path / "tree"
    git(repository, "worktree", "add", "-q", str(tree))

    assert find_repository(str(tree / "src")) == GitRepository(tree, repository)


def test_a_working_tree_of_a_bare_repository_belongs_to_it(
    repository: Path, tmp_path: Path
):
    bare, tree = tmp_path / "app.git", tmp_path / "tree"
    git(tmp_path, "clone", "-q", "--bare", str(repository), str(bare))
    git(bare, "worktree", "add", "-q", str(tree))

    assert find_repository(str(tree)) == GitRepository(tree, bare)


@pytest.mark.threat("P1")
def test_a_repository_that_does_not_name_the_working_tree_does_not_own_it(
    repository: Path, tmp_path: Path
):
    git(repository, "worktree", "add", "-q", str(tmp_path / "tree"))
    forged = tmp_path / "forged"
    forged.mkdir()
    shutil.copy(tmp_path / "tree" / ".git", forged)

    assert find_repository(str(forged)) == GitRepository(forged, forged)


def test_a_submodule_is_a_repository_of_its_own(repository: Path, tmp_path: Path):
    library = make_repository(tmp_path / "library")
    git(repository, "submodule", "--quiet", "add", str(library), "lib")

    submodule = repository / "lib"
    assert find_repository(str(submodule)) == GitRepository(submodule, submodule)
    git_dir = find_git_dir(submodule)
    assert git_dir == repository / ".git" / "modules" / "lib"
    assert read_head(git_dir) == git(submodule, "rev-parse", "HEAD")


@pytest.mark.threat("P1")
@pytest.mark.parametrize("folder", ["", "relative", "/a\0b", "/a/../b", "/nowhere/x"])
def test_an_invalid_folder_has_no_repository(folder: str):
    assert find_repository(folder) is None


@pytest.mark.threat("P1")
@pytest.mark.parametrize("content", [b"", b"\xff\0", b"gitdir: ", b"gitdir: /a\0b"])
def test_a_damaged_git_file_marks_a_repository_of_its_own(
    tmp_path: Path, content: bytes
):
    (tmp_path / ".git").write_bytes(content)

    assert find_repository(str(tmp_path)) == GitRepository(tmp_path, tmp_path)


@pytest.mark.threat("P1")
def test_pipes_and_links_are_not_read(tmp_path: Path):
    git_dir = tmp_path / ".git"
    git_dir.mkdir()
    os.mkfifo(git_dir / "HEAD")
    (tmp_path / "other").write_text('[remote "origin"]\n\turl = https://x.org/a\n')
    (git_dir / "config").symlink_to(tmp_path / "other")

    assert read_head(git_dir) == ""
    assert read_remote(git_dir) == ""


@pytest.mark.parametrize(
    "url",
    [
        "git@Example.org:team/app.git",
        "ssh://git@example.org:22/team/app",
        "https://ann:secret@example.org/team/app.git/",
        "https://example.org/team/app",
    ],
)
def test_all_addresses_of_a_remote_are_the_same_without_secrets(url: str):
    assert normalize_remote(url) == "example.org/team/app"


def test_the_remote_of_a_repository_is_origin(repository: Path):
    git(repository, "remote", "add", "backup", "/srv/backup.git")

    assert read_remote(repository / ".git") == "example.org/team/app"


def test_without_an_origin_only_a_single_remote_is_chosen(tmp_path: Path):
    repository = make_repository(tmp_path / "repo")
    git(repository, "remote", "add", "a", "https://example.org/a")
    only_one = read_remote(repository / ".git")
    git(repository, "remote", "add", "b", "https://example.org/b")

    assert only_one == "example.org/a"
    assert read_remote(repository / ".git") == ""


def test_the_head_is_found_in_packed_refs(repository: Path):
    git(repository, "pack-refs", "--all")

    assert read_head(repository / ".git") == git(repository, "rev-parse", "HEAD")


def test_a_detached_head_is_read(repository: Path):
    git(repository, "checkout", "-q", "--detach", "HEAD")

    assert read_head(repository / ".git") == git(repository, "rev-parse", "HEAD")


@pytest.mark.threat("P1")
def test_a_ref_outside_of_the_refs_is_not_followed(tmp_path: Path):
    (tmp_path / "HEAD").write_text("ref: refs/../../secret\n")

    assert read_head(tmp_path) == ""


def test_refs_that_name_each_other_have_no_commit(tmp_path: Path):
    (tmp_path / "refs").mkdir()
    (tmp_path / "HEAD").write_text("ref: refs/a\n")
    (tmp_path / "refs" / "a").write_text("ref: refs/a\n")

    assert read_head(tmp_path) == ""


def test_a_moved_git_directory_keeps_its_id(repository: Path, tmp_path: Path):
    before = get_directory_id(repository / ".git")
    repository.rename(tmp_path / "moved")

    assert get_directory_id(tmp_path / "moved" / ".git") == before
    assert get_directory_id(repository / ".git") == ""


def test_the_git_directory_of_a_bare_repository_is_its_folder(tmp_path: Path):
    bare = tmp_path / "app.git"
    git(tmp_path, "init", "-q", "--bare", str(bare))

    assert find_git_dir(bare) == bare
    assert find_git_dir(tmp_path) is None
