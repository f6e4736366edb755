"""Test the rules by which two paths are the same project."""

from __future__ import annotations

from typing import Any

import pytest

from leslied.model.project import Repository
from leslied.projects.identity import find_moves, follow_links

OLD = Repository(
    path="/old", directory_id="1:2", remote="example.org/app", root_commit="c1"
)


def make_repository(path: str = "/new", **fields: Any) -> Repository:
    return Repository(path=path, **{"root_commit": "c1", **fields})


def find(*others: Repository) -> dict[str, str]:
    """Return the moves among OLD, whose path does not exist, and the others."""
    paths = {repository.path for repository in others}
    return find_moves([OLD, *others], lambda path: path in paths)


def test_a_repository_with_the_same_git_directory_was_moved():
    assert find(make_repository(directory_id="1:2")) == {"/old": "/new"}


def test_a_repository_with_the_same_remote_was_moved():
    assert find(make_repository(remote="example.org/app")) == {"/old": "/new"}


def test_nothing_is_moved_while_the_old_path_exists():
    new = make_repository(remote="example.org/app")

    assert find_moves([OLD, new], lambda _: True) == {}


@pytest.mark.parametrize(
    "fields",
    [
        {"root_commit": "c2", "remote": "example.org/app", "directory_id": "1:2"},
        {"root_commit": "", "remote": "example.org/app", "directory_id": "1:2"},
        {"remote": "example.org/fork"},
        {},
    ],
)
def test_the_first_commit_and_the_remote_or_directory_must_be_the_same(
    fields: dict[str, str],
):
    assert find(make_repository(**fields)) == {}


def test_repositories_without_remote_and_id_are_not_the_same():
    old = Repository(path="/old", root_commit="c1")

    assert find_moves([old, make_repository()], lambda path: path == "/new") == {}


def test_of_two_clones_none_is_certain():
    clones = [make_repository(path, remote=OLD.remote) for path in ("/a", "/b")]

    assert find(*clones) == {}


def test_the_same_git_directory_decides_between_two_clones():
    moved = make_repository("/a", directory_id="1:2", remote=OLD.remote)
    clone = make_repository("/b", directory_id="1:3", remote=OLD.remote)

    assert find(moved, clone) == {"/old": "/a"}


def test_links_are_followed_to_the_last():
    assert follow_links("/a", {"/a": "/b", "/b": "/c"}) == "/c"


def test_a_path_without_a_link_stays():
    assert follow_links("/a", {"/b": "/c"}) == "/a"


def test_a_cycle_of_links_is_ignored():
    assert follow_links("/a", {"/a": "/b", "/b": "/a"}) == "/a"
