"""Test reading sessions stored as folders of events."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from leslied import tail
from leslied.errors import SourceError
from leslied.model.source import Cursor, Pattern, Root, Shape, SourceRef

PATTERN = Pattern(
    glob="*/state.json",
    shape=Shape.EVENT_TREE,
    child_folders=("events", "subagents"),
    members="**/*.json",
)


class TreeHarness:
    """Write and read a session with its events and subagents."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = Root(path=folder, patterns=(PATTERN,))
        self.cursor = Cursor()
        self.write("s/state.json", {"status": "running"})

    def write(self, name: str, value: object, age: int = 0) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        if age:
            os.utime(path, (10**9 - age, 10**9 - age))
        return path

    def source(self) -> SourceRef:
        (source,) = tail.discover("x", [self.root]).sources
        return source

    def read(self, **limits: int) -> list[dict[str, Any]]:
        """Return the new entries, and keep the cursor after them."""
        entries = []
        source = self.source()
        for chunk in tail.read(source, self.cursor, tail.ReadLimits(**limits)):
            entries += [json.loads(entry.data) for entry in chunk.entries]
            self.cursor = chunk.cursor
        return entries


@pytest.fixture
def tree(tmp_path: Path) -> TreeHarness:
    return TreeHarness(tmp_path)


def list_events(entries: list[dict[str, Any]]) -> list[str]:
    return ["/".join([*e["path"], e["name"]]) for e in entries if "name" in e]


def test_events_are_read_in_the_order_of_their_names(tree: TreeHarness):
    tree.write("s/events/e-2.json", {"n": 2}, age=9)
    tree.write("s/events/e-1.json", {"n": 1}, age=1)

    assert tree.read() == [
        {"path": [], "state": {"status": "running"}, "name": "e-1", "event": {"n": 1}},
        {"path": [], "state": {"status": "running"}, "name": "e-2", "event": {"n": 2}},
        {"path": [], "state": {"status": "running"}},
    ]


def test_each_event_is_read_once_and_a_state_again_when_it_changes(tree: TreeHarness):
    tree.write("s/events/e-1.json", {"n": 1})
    tree.read()
    tree.write("s/events/e-2.json", {"n": 2})

    assert tree.read() == [{"path": [], "name": "e-2", "event": {"n": 2}}]

    tree.write("s/state.json", {"status": "finished"})

    assert tree.read() == [{"path": [], "state": {"status": "finished"}}]
    assert tree.read() == []


def test_events_of_subagents_follow_the_call_that_started_them(tree: TreeHarness):
    tree.write("s/events/e-1.json", {"n": 1}, age=9)
    tree.write("s/events/e-2.json", {"n": 2}, age=1)
    tree.write("s/subagents/a/state.json", {})
    tree.write("s/subagents/a/events/e-1.json", {"n": 1}, age=5)
    tree.write("s/subagents/a/subagents/b/state.json", {})
    tree.write("s/subagents/a/subagents/b/events/e-1.json", {"n": 1}, age=4)

    assert list_events(tree.read()) == ["e-1", "a/e-1", "a/b/e-1", "e-2"]


def test_a_subagent_without_a_state_is_read_later(tree: TreeHarness):
    tree.write("s/subagents/a/events/e-1.json", {"n": 1})
    entries = tree.read()
    tree.write("s/subagents/a/state.json", {})

    assert list_events(entries) == []
    assert list_events(tree.read()) == ["a/e-1"]


def test_an_event_that_is_being_written_is_read_later(tree: TreeHarness):
    tree.write("s/events/e-1.json", '{"n": ')
    entries = tree.read()

    assert list_events(entries) == []
    assert not tail.is_unchanged(tree.source(), tree.cursor)

    tree.write("s/events/e-1.json", {"n": 1})

    assert list_events(tree.read()) == ["e-1"]


def test_a_damaged_event_before_another_one_is_read_as_text(tree: TreeHarness):
    tree.write("s/events/e-1.json", '{"n": ')
    tree.write("s/events/e-2.json", {"n": 2})

    assert [entry.get("event") for entry in tree.read()] == ['{"n":', {"n": 2}, None]


def test_a_state_that_is_being_written_is_ignored(tree: TreeHarness):
    tree.write("s/state.json", "")
    tree.write("s/events/e-1.json", {"n": 1})

    assert tree.read() == [{"path": [], "name": "e-1", "event": {"n": 1}}]


def test_a_read_in_chunks_can_stop_after_each_of_them(tree: TreeHarness):
    for number in range(5):
        tree.write(f"s/events/e-{number}.json", {"n": number})
    names = []
    for _ in range(6):
        chunks = tail.read(tree.source(), tree.cursor, tail.ReadLimits(chunk=1))
        chunk = next(iter(chunks))
        names += list_events([json.loads(entry.data) for entry in chunk.entries])
        tree.cursor = chunk.cursor

    assert names == [f"e-{number}" for number in range(5)]


def test_a_new_event_of_a_subagent_changes_the_stamp(tree: TreeHarness):
    tree.write("s/subagents/a/state.json", {})
    tree.write("s/subagents/a/events/e-1.json", {"n": 1})
    tree.read()
    before = tail.is_unchanged(tree.source(), tree.cursor)
    tree.write("s/subagents/a/events/e-2.json", {"n": 2})

    assert before
    assert not tail.is_unchanged(tree.source(), tree.cursor)


def test_a_changed_event_is_a_change_of_its_session(tree: TreeHarness):
    path = tree.write("s/subagents/a/events/e-1.json", {"n": 1})

    source = tail.find_source("x", [tree.root], path)

    assert source is not None
    assert source.path == tree.folder / "s" / "state.json"
    assert tail.find_source("x", [tree.root], tree.write("s/other.txt", "")) is None
    assert tail.find_source("x", [tree.root], tree.write("other.json", "")) is None


def test_a_link_out_of_the_root_is_not_followed(tree: TreeHarness, tmp_path: Path):
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (outside / "e-1.json").write_text('{"n": 1}')
    (tree.folder / "s" / "events").symlink_to(outside)

    assert list_events(tree.read()) == []


def test_a_session_without_a_state_cannot_be_read(tree: TreeHarness):
    source = tree.source()
    source.path.unlink()

    with pytest.raises(SourceError):
        list(tail.read(source, Cursor(), tail.ReadLimits()))
