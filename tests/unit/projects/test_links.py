"""Test the file with the user's links between projects."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.errors import UserError
from leslied.projects.links import (
    ProjectLinks,
    add_link,
    load_links,
    remove_link,
    save_links,
)


def test_saved_links_are_loaded(tmp_path: Path):
    links = ProjectLinks(links={"/old": "/new"}, separate=["/a"])
    save_links(tmp_path / "data" / "links.json", links)

    assert load_links(tmp_path / "data" / "links.json") == links


def test_there_are_no_links_without_a_file(tmp_path: Path):
    assert load_links(tmp_path / "links.json") == ProjectLinks()


@pytest.mark.parametrize("text", ["", "[]", '{"links": 1}', "\udcff"])
def test_an_invalid_file_is_explained(tmp_path: Path, text: str):
    path = tmp_path / "links.json"
    path.write_bytes(text.encode(errors="surrogateescape"))

    with pytest.raises(UserError, match="cannot be read"):
        load_links(path)


def test_a_new_link_replaces_the_old_one():
    links = ProjectLinks(links={"/old": "/a"}, separate=["/old"])

    add_link(links, "/old", "/b")

    assert links == ProjectLinks(links={"/old": "/b"})


def test_a_link_back_is_refused():
    links = ProjectLinks(links={"/a": "/b", "/b": "/c"})

    with pytest.raises(UserError, match="already part of"):
        add_link(links, "/c", "/a")


def test_a_project_is_not_linked_to_itself():
    with pytest.raises(UserError):
        add_link(ProjectLinks(), "/a", "/a")


def test_a_link_is_removed():
    links = ProjectLinks(links={"/old": "/new"})

    remove_link(links, "/old", is_automatic=False)

    assert links == ProjectLinks()


def test_a_removed_automatic_link_is_not_made_again():
    links = ProjectLinks()

    remove_link(links, "/old", is_automatic=True)

    assert links.separate == ["/old"]


def test_a_missing_link_cannot_be_removed():
    with pytest.raises(UserError, match="not linked"):
        remove_link(ProjectLinks(), "/old", is_automatic=False)
