"""Test the search for the first commit of a repository, without the git program."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.projects.git import read_head
from leslied.projects.git_objects import ObjectError, Walk, walk_first_parents
from tests.support.git import get_root_commit, git, make_repository


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repo", commits=5)


def walk(repository: Path, limit: int = 100) -> Walk:
    git_dir = repository / ".git"
    return walk_first_parents(git_dir, read_head(git_dir), limit)


def test_the_first_commit_is_found_in_loose_objects(repository: Path):
    assert walk(repository) == Walk(get_root_commit(repository), 5, is_first=True)


def test_the_first_commit_is_found_in_a_pack(repository: Path):
    git(repository, "repack", "-adq")

    assert walk(repository) == Walk(get_root_commit(repository), 5, is_first=True)


def test_the_first_commit_is_found_in_a_pack_with_deltas(repository: Path):
    text = "\n".join(f"line {number} of a long message" for number in range(200))
    for number in range(20):
        message = f"{text}\n{number}"
        git(repository, "commit", "-q", "--allow-empty", "-m", message)
    git(repository, "repack", "-adfq", "--depth=50", "--window=50")
    packs = git(repository, "rev-parse", "--git-path", "objects/pack")
    (index,) = (repository / packs).glob("*.idx")
    listing = git(repository, "verify-pack", "-v", str(index))

    assert "chain length" in listing
    assert walk(repository).commit == get_root_commit(repository)


def test_first_parents_are_followed_through_merges(repository: Path):
    git(repository, "checkout", "-q", "--orphan", "other")
    git(repository, "commit", "-q", "--allow-empty", "-m", "unrelated")
    git(repository, "checkout", "-q", "main")
    merge = ("merge", "-q", "--allow-unrelated-histories", "-m", "merge", "other")
    git(repository, *merge)

    assert walk(repository).commit == get_root_commit(repository)


def test_a_repository_with_long_ids_is_read(tmp_path: Path):
    git(tmp_path, "init", "-q", "--object-format=sha256", "repo")
    repository = tmp_path / "repo"
    for number in range(3):
        git(repository, "commit", "-q", "--allow-empty", "-m", str(number))
    git(repository, "repack", "-adq")

    assert walk(repository).commit == get_root_commit(repository)


def test_a_walk_ends_at_its_limit_and_can_be_continued(repository: Path):
    first = walk(repository, limit=3)

    assert (first.commits, first.is_first) == (3, False)
    rest = walk_first_parents(repository / ".git", first.commit, 3)
    assert rest == Walk(get_root_commit(repository), 2, is_first=True)


def test_the_first_commit_of_a_shallow_clone_is_unknown(
    repository: Path, tmp_path: Path
):
    clone = tmp_path / "clone"
    url = f"file://{repository}"
    git(tmp_path, "clone", "-q", "--depth", "2", url, str(clone))

    with pytest.raises(ObjectError):
        walk(clone)


@pytest.mark.threat("P1")
@pytest.mark.parametrize("position", [0, 8, 600, 1032, 1060, -30])
def test_a_damaged_pack_index_raises_no_error_but_an_object_error(
    repository: Path, position: int
):
    git(repository, "repack", "-adq")
    root_commit = get_root_commit(repository)
    (index,) = (repository / ".git/objects/pack").glob("*.idx")
    data = bytearray(index.read_bytes())
    data[position : position + 8] = b"\xff" * 8
    index.chmod(0o600)
    index.write_bytes(data)

    try:
        result = walk(repository)
    except ObjectError:
        return
    assert result.commit == root_commit


@pytest.mark.threat("P1")
def test_damaged_pack_data_raises_one_kind_of_error(repository: Path):
    git(repository, "repack", "-adq")
    (pack,) = (repository / ".git/objects/pack").glob("*.pack")
    data = bytearray(pack.read_bytes())
    pack.chmod(0o600)
    for position in range(12, len(data) - 20, 7):
        damaged = data.copy()
        damaged[position] ^= 0xFF
        pack.write_bytes(damaged)
        try:
            walk(repository)
        except ObjectError:
            continue


@pytest.mark.threat("P1")
def test_an_object_that_is_not_a_commit_is_refused(repository: Path):
    tree = git(repository, "rev-parse", "HEAD^{tree}")

    with pytest.raises(ObjectError):
        walk_first_parents(repository / ".git", tree, 5)
