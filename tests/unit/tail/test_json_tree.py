"""Sessions kept as a tree of small files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from leslied import tail
from leslied.errors import SourceError
from leslied.model.source import Cursor, Pattern, Root, Shape, SourceRef, WatchDepth

BELOW = ("../../said/{}", "../../piece/{}")


class TreeHarness:
    """A session's file, and what was said below it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cursor = Cursor()
        self.put("session/project/s.json", {"title": "A title"})

    def put(self, name: str, value: object) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        return path

    def source(self) -> SourceRef:
        pattern = Pattern(glob="*/*.json", shape=Shape.JSON_TREE, child_folders=BELOW)
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


def test_an_entry_is_a_file_with_its_pieces_below_the_sessions_file(tree: TreeHarness):
    tree.put("said/s/m1.json", {"role": "user"})
    tree.put("piece/m1/p2.json", {"text": "two"})
    tree.put("piece/m1/p1.json", {"text": "one"})

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


def test_the_sessions_file_alone_comes_first(tree: TreeHarness):
    assert tree.read_new() == [{"top": {"title": "A title"}}]


def test_entries_come_in_the_order_of_their_names(tree: TreeHarness):
    for name in ("m3", "m1", "m2"):
        tree.put(f"said/s/{name}.json", {})

    assert [entry.get("name") for entry in tree.read_new()] == [None, "m1", "m2", "m3"]


def test_nothing_is_read_while_nothing_changes(tree: TreeHarness):
    tree.put("said/s/m1.json", {})
    tree.read_new()

    assert tree.read_new() == []


def test_a_new_file_is_read_with_the_one_before_it(tree: TreeHarness):
    for number in range(5):
        tree.put(f"said/s/m{number}.json", {})
    tree.read_new()
    tree.put("said/s/m5.json", {})

    assert [e.get("name") for e in tree.read_new()] == [None, "m3", "m4", "m5"]


@pytest.mark.parametrize("changed", ["said/s/m1.json", "piece/m1/p2.json"])
def test_a_change_of_the_newest_file_or_its_pieces_is_noticed(
    tree: TreeHarness, changed: str
):
    tree.put("said/s/m1.json", {})
    tree.put("piece/m1/p1.json", {})
    tree.read_new()
    path = tree.put(changed, {"text": "changed"})
    os.utime(path.parent, ns=(1, 10**18))

    assert "changed" in json.dumps(tree.read_new())


def test_what_is_no_json_spoils_nothing_else(tree: TreeHarness):
    tree.put("said/s/m1.json", '{"role": "us')
    tree.put("said/s/m2.json", {})
    tree.put("piece/m2/p1.json", "\x00\x00")

    _, first, second = tree.read_new()

    assert first["file"] == '{"role": "us'
    assert second["below"][0]["file"] == "\x00\x00"


def test_a_piece_too_large_is_told_and_not_read(tree: TreeHarness):
    tree.put("said/s/m1.json", {})
    tree.put("piece/m1/p1.json", {"text": "x" * 300})

    _, entry = tree.read_new(line=200)

    assert "too large" in entry["below"][0]["file"]


def test_large_trees_come_in_pieces(tree: TreeHarness):
    for number in range(10):
        tree.put(f"said/s/m{number}.json", {"text": "x" * 100})

    chunks = list(tail.read(tree.source(), Cursor(), tail.ReadLimits(chunk=300)))

    assert len(chunks) > 3
    assert sum(len(chunk.entries) for chunk in chunks) == 11


def test_reading_goes_on_after_any_piece(tree: TreeHarness):
    for number in range(10):
        tree.put(f"said/s/m{number}.json", {"text": "x" * 100})
    limits = tail.ReadLimits(chunk=300)
    first, *_ = tail.read(tree.source(), Cursor(), limits)

    rest = list(tail.read(tree.source(), first.cursor, limits))

    names = [
        json.loads(entry.data).get("name")
        for chunk in [first, *rest]
        for entry in chunk.entries
    ]
    assert {f"m{number}" for number in range(10)} <= set(names)


def test_a_session_that_vanishes_is_a_sentence(tree: TreeHarness):
    source = tree.source()
    source.path.unlink()

    with pytest.raises(SourceError, match="cannot be opened"):
        list(tail.read(source, Cursor(), tail.ReadLimits()))
