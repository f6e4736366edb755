"""Test reading sessions stored as a tree of small JSON files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from leslied import tail
from leslied.errors import SourceError
from leslied.model.source import Cursor, Pattern, Root, Shape, SourceRef, WatchDepth

CHILD_FOLDERS = ("../../message/{}", "../../part/{}")


class TreeHarness:
    """Write and read a session's file with its messages and parts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cursor = Cursor()
        self.write("session/project/s.json", {"title": "A title"})

    def write(self, name: str, value: object) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        return path

    def source(self) -> SourceRef:
        pattern = Pattern(
            glob="*/*.json", shape=Shape.JSON_TREE, child_folders=CHILD_FOLDERS
        )
        root = Root(
            path=self.folder / "session", patterns=(pattern,), watch=WatchDepth.NONE
        )
        (source,) = tail.discover("x", [root]).sources
        return source

    def read_new(self, **limits: int) -> list[dict[str, Any]]:
        source = self.source()
        if tail.is_unchanged(source, self.cursor):
            return []
        chunks = list(tail.read(source, self.cursor, tail.ReadLimits(**limits)))
        self.cursor = chunks[-1].cursor
        return [json.loads(entry.data) for chunk in chunks for entry in chunk.entries]


@pytest.fixture
def tree(tmp_path: Path) -> TreeHarness:
    return TreeHarness(tmp_path)


def test_an_entry_is_a_message_with_its_parts_and_its_session(tree: TreeHarness):
    tree.write("message/s/m1.json", {"role": "user"})
    tree.write("part/m1/p2.json", {"text": "two"})
    tree.write("part/m1/p1.json", {"text": "one"})

    _, entry = tree.read_new()

    assert entry == {
        "top": {"title": "A title"},
        "name": "m1",
        "file": {"role": "user"},
        "below": [
            {"name": "p1", "file": {"text": "one"}},
            {"name": "p2", "file": {"text": "two"}},
        ],
    }


def test_the_sessions_file_is_the_first_entry(tree: TreeHarness):
    assert tree.read_new() == [{"top": {"title": "A title"}}]


def test_entries_are_sorted_by_name(tree: TreeHarness):
    for name in ("m3", "m1", "m2"):
        tree.write(f"message/s/{name}.json", {})

    assert [entry.get("name") for entry in tree.read_new()] == [None, "m1", "m2", "m3"]


def test_nothing_is_read_while_nothing_changes(tree: TreeHarness):
    tree.write("message/s/m1.json", {})
    tree.read_new()

    assert tree.read_new() == []


def test_a_new_message_is_read_with_the_two_before_it(tree: TreeHarness):
    for number in range(5):
        tree.write(f"message/s/m{number}.json", {})
    tree.read_new()
    tree.write("message/s/m5.json", {})

    assert [e.get("name") for e in tree.read_new()] == [None, "m3", "m4", "m5"]


@pytest.mark.parametrize("file_name", ["message/s/m1.json", "part/m1/p2.json"])
def test_a_change_of_the_newest_message_or_its_parts_is_detected(
    tree: TreeHarness, file_name: str
):
    tree.write("message/s/m1.json", {})
    tree.write("part/m1/p1.json", {})
    tree.read_new()
    path = tree.write(file_name, {"text": "changed"})
    os.utime(path.parent, ns=(1, 10**18))

    assert "changed" in json.dumps(tree.read_new())


def test_invalid_json_does_not_affect_other_files(tree: TreeHarness):
    tree.write("message/s/m1.json", '{"role": "us')
    tree.write("message/s/m2.json", {})
    tree.write("part/m2/p1.json", "\x00\x00")

    _, first, second = tree.read_new()

    assert first["file"] == '{"role": "us'
    assert second["below"][0]["file"] == "\x00\x00"


def test_a_part_that_is_too_large_is_replaced_by_the_reason(tree: TreeHarness):
    tree.write("message/s/m1.json", {})
    tree.write("part/m1/p1.json", {"text": "x" * 300})

    _, entry = tree.read_new(line=200)

    assert "too large" in entry["below"][0]["file"]


def test_large_trees_are_read_in_chunks(tree: TreeHarness):
    for number in range(10):
        tree.write(f"message/s/m{number}.json", {"text": "x" * 100})

    chunks = list(tail.read(tree.source(), Cursor(), tail.ReadLimits(chunk=300)))

    assert len(chunks) > 3
    assert sum(len(chunk.entries) for chunk in chunks) == 11


def test_reading_continues_after_any_chunk(tree: TreeHarness):
    for number in range(10):
        tree.write(f"message/s/m{number}.json", {"text": "x" * 100})
    limits = tail.ReadLimits(chunk=300)
    chunks = list(tail.read(tree.source(), Cursor(), limits))

    for number, last_chunk in enumerate(chunks, 1):
        later_chunks = tail.read(tree.source(), last_chunk.cursor, limits)

        names = {
            json.loads(entry.data).get("name")
            for chunk in [*chunks[:number], *later_chunks]
            for entry in chunk.entries
        }
        assert names == {None, *(f"m{number}" for number in range(10))}


def test_a_session_that_disappears_raises_a_readable_error(tree: TreeHarness):
    source = tree.source()
    source.path.unlink()

    with pytest.raises(SourceError, match="cannot be opened"):
        list(tail.read(source, Cursor(), tail.ReadLimits()))


@pytest.mark.threat("P5")
@pytest.mark.parametrize(
    "link", ["message", "message/s", "message/s/m1.json", "part", "part/m1"]
)
def test_a_link_that_leads_out_of_the_tree_is_not_read(tmp_path: Path, link: str):
    tree, outside = TreeHarness(tmp_path / "tree"), TreeHarness(tmp_path / "outside")
    outside.write("message/s/m1.json", {"text": "secret"})
    outside.write("part/m1/p1.json", {"text": "secret"})
    if link.startswith("part"):
        tree.write("message/s/m1.json", {"text": "mine"})
    (tree.folder / link).parent.mkdir(parents=True, exist_ok=True)
    (tree.folder / link).symlink_to(outside.folder / link)

    entries = tree.read_new()

    assert entries
    assert "secret" not in json.dumps(entries)
