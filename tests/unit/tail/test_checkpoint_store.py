"""Test reading journals that are replaced by checkpoints."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from leslied import tail
from leslied.errors import SourceError
from leslied.model.source import Cursor, Pattern, Root, Shape, SourceRef

PATTERN = Pattern(
    glob="*/CURRENT", shape=Shape.CHECKPOINT_STORE, members="journal/*.jsonl"
)


class StoreHarness:
    """Write and read a session as an agent with checkpoints does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = Root(path=folder, patterns=(PATTERN,))
        self.cursor = Cursor()
        self.sequence = 0
        self.segment = ""

    @property
    def session(self) -> Path:
        return self.folder / "s"

    def write(self, name: str, text: str) -> Path:
        path = self.session / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def append(self, *texts: str) -> None:
        """Append records to the journal."""
        with (self.session / "journal" / f"{self.segment}.jsonl").open("a") as file:
            for text in texts:
                self.sequence += 1
                record = {"sequence": self.sequence, "text": text}
                file.write(json.dumps(record) + "\n")

    def checkpoint(self, **chunks: list[str]) -> str:
        """Write a generation with these chunks, and start a new segment."""
        generation = f"{self.sequence + 1:04}"
        for name, texts in chunks.items():
            self.write(f"chunks/{name}.json", json.dumps(texts))
        manifest = {
            "snapshot_sequence": self.sequence,
            "projection_state": {"chunks": list(chunks)},
            "recovery_journal_segment": {"path": f"journal/{generation}.jsonl"},
        }
        folder = f"generations/{generation}"
        self.write(f"{folder}/manifest.json", json.dumps(manifest))
        self.write(f"{folder}/runtime-state.json", "{}")
        self.write(f"{folder}/projection-state.json", "{}")
        self.write(f"journal/{generation}.jsonl", "")
        self.write("CURRENT", json.dumps({"generation": generation}))
        self.segment = generation
        return generation

    def source(self) -> SourceRef:
        (source,) = tail.discover("x", [self.root]).sources
        return source

    def read_entries(self, **limits: int) -> list[dict[str, Any]]:
        """Return the new entries, and keep the cursor after them."""
        entries = []
        source = self.source()
        for chunk in tail.read(source, self.cursor, tail.ReadLimits(**limits)):
            entries += [json.loads(entry.data) for entry in chunk.entries]
            self.cursor = chunk.cursor
        return entries

    def read(self, **limits: int) -> list[str]:
        """Return the texts of the new entries of the history and the journal."""
        entries = self.read_entries(**limits)
        texts = [e.get("history") or e.get("journal") for e in entries]
        return [t["text"] if isinstance(t, dict) else t for t in texts if t]


@pytest.fixture
def store(tmp_path: Path) -> StoreHarness:
    harness = StoreHarness(tmp_path)
    harness.checkpoint()
    return harness


def test_the_states_surround_the_history(store: StoreHarness):
    store.sequence = 5
    store.checkpoint(aaa=["one"])
    store.append("two")

    assert [next(iter(entry)) for entry in store.read_entries()] == [
        "runtime",
        "history",
        "projection",
        "journal",
    ]


def test_each_record_of_the_journal_is_read_once(store: StoreHarness):
    store.append("one")
    first = store.read()
    store.append("two", "three")

    assert first == ["one"]
    assert store.read() == ["two", "three"]
    assert store.read() == []


def test_chunks_repeat_nothing_if_the_journal_was_read(store: StoreHarness):
    store.append("one")
    store.read()
    store.append("two")
    store.checkpoint(aaa=["one", "two"])
    store.append("three")

    assert store.read() == ["two", "three"]


def test_chunks_have_what_a_deleted_segment_had(store: StoreHarness):
    store.append("one")
    store.read()
    old_segment = store.segment
    store.append("two")
    store.checkpoint(aaa=["one", "two"])
    (store.session / "journal" / f"{old_segment}.jsonl").unlink()

    assert store.read() == ["one", "two"]


def test_a_chunk_that_was_read_is_not_read_again(store: StoreHarness):
    store.sequence = 5
    store.checkpoint(aaa=["one"], bbb=["two"])
    store.read()
    store.sequence = 9
    store.checkpoint(aaa=["one"], ccc=["two", "three"])

    assert store.read() == ["two", "three"]


def test_chunks_are_read_in_the_order_of_the_manifest(store: StoreHarness):
    store.sequence = 5
    store.checkpoint(zzz=["one"], aaa=["two"])

    assert store.read() == ["one", "two"]


def test_an_incomplete_record_is_read_later(store: StoreHarness):
    path = store.session / "journal" / f"{store.segment}.jsonl"
    path.write_text('{"sequence": 1, "te')
    first = store.read()
    path.write_text('{"sequence": 1, "text": "one"}\n')

    assert first == []
    assert store.read() == ["one"]


def test_a_damaged_record_is_read_as_text(store: StoreHarness):
    path = store.session / "journal" / f"{store.segment}.jsonl"
    path.write_text('{"sequence": 1, \n{"sequence": 2, "text": "two"}\n')

    assert store.read() == ['{"sequence": 1, ', "two"]


def test_without_a_known_pointer_the_newest_generation_is_read(store: StoreHarness):
    store.sequence = 5
    store.checkpoint(aaa=["one"])
    store.write("CURRENT", '{"version": 2}')

    assert store.read() == ["one"]


def test_a_chunk_that_stays_missing_is_reported(store: StoreHarness):
    store.sequence = 5
    store.checkpoint(aaa=["one"], bbb=["two"])
    (store.session / "chunks" / "aaa.json").unlink()

    assert store.read() == ["cannot be opened: No such file or directory", "two"]
    assert tail.is_unchanged(store.source(), store.cursor)


def test_a_long_record_is_read_with_small_limits(store: StoreHarness):
    store.append("x" * 500, "y")

    assert store.read(chunk=10) == ["x" * 500, "y"]


def test_a_read_in_chunks_can_stop_after_each_of_them(store: StoreHarness):
    store.sequence = 5
    store.checkpoint(aaa=["one"], bbb=["two"])
    store.append("three", "four")
    texts = []
    for _ in range(9):
        chunks = tail.read(store.source(), store.cursor, tail.ReadLimits(chunk=1))
        chunk = next(iter(chunks))
        entries = [json.loads(entry.data) for entry in chunk.entries]
        texts += [e.get("history") or e.get("journal") for e in entries]
        store.cursor = chunk.cursor

    names = [t["text"] if isinstance(t, dict) else t for t in texts if t]
    assert names == ["one", "two", "three", "four"]


def test_a_new_record_changes_the_stamp(store: StoreHarness):
    store.read()
    before = tail.is_unchanged(store.source(), store.cursor)
    store.append("one")

    assert before
    assert not tail.is_unchanged(store.source(), store.cursor)


def test_a_changed_journal_is_a_change_of_its_session(store: StoreHarness):
    path = store.session / "journal" / f"{store.segment}.jsonl"

    source = tail.find_source("x", [store.root], path)

    assert source is not None
    assert source.path == store.session / "CURRENT"


def test_a_session_without_a_generation_cannot_be_read(store: StoreHarness):
    shutil.rmtree(store.session / "generations")

    with pytest.raises(SourceError):
        store.read()
