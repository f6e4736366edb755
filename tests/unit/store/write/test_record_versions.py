"""Versions of entries: new ones are queued, the last one added is current."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from leslied.model.record import Record
from leslied.store.write.record_versions import (
    PendingRecord,
    RecordVersions,
    make_pending_records,
)
from tests.support.clock import FakeClock
from tests.support.records import StoreHarness, make_chunk, make_prompt, make_record


@pytest.fixture
def harness(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as harness:
        yield harness


def make_pending(record: Record, occurrence: int = 0) -> PendingRecord:
    chunk = make_chunk(record)
    (pending,) = make_pending_records(chunk, chunk.entries[0], 1, occurrence)
    return pending


def add(harness: StoreHarness, *records: Record) -> list[tuple[int, bool]]:
    """Add records in one go, and write them; return what `add` returned."""
    pending = [make_pending(record) for record in records]
    versions = RecordVersions(harness.store._db, 0)
    versions.load({item.entry_id for item in pending})
    results = [versions.add(item) for item in pending]
    versions.write()
    return results


def list_versions(harness: StoreHarness) -> list[tuple[int, str, int]]:
    return harness.execute("SELECT entry, content, is_current FROM record ORDER BY id")


def test_a_changed_entry_gets_a_new_version_with_the_same_number(harness: StoreHarness):
    results = add(harness, make_record("one", "1"), make_record("two", "1"))

    assert results == [(1, True), (1, True)]
    assert list_versions(harness) == [(1, "one", 0), (1, "two", 1)]


def test_a_stored_version_becomes_current_again(harness: StoreHarness):
    add(harness, make_record("one", "1"), make_record("two", "1"))

    results = add(harness, make_record("one", "1"))

    assert results == [(1, True)]
    assert list_versions(harness) == [(1, "one", 1), (1, "two", 0)]


def test_a_repeat_does_not_replace_its_original(harness: StoreHarness):
    add(harness, make_record("original", "1"))

    results = add(harness, make_record("orig…", "1", is_repeat=True))

    assert results == [(1, False)]
    assert list_versions(harness) == [(1, "original", 1)]


def test_an_entry_without_a_current_version_gets_one_again(harness: StoreHarness):
    add(harness, make_record("one", "1"))
    harness.execute("UPDATE record SET is_current = 0")

    results = add(harness, make_record("one", "1", is_repeat=True))

    assert results == [(1, True)]
    assert list_versions(harness) == [(1, "one", 1)]


def test_equal_lines_without_a_native_id_differ_by_their_occurrence():
    first, second = (make_pending(make_prompt("hi"), n) for n in (1, 2))

    assert first.entry_id != second.entry_id
    assert first.prepared == second.prepared
