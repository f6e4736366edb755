"""Versions of a newer decoder update those of an older one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from leslied.model.record import Record, Usage
from leslied.store.write.record_versions import make_pending_records
from leslied.store.write.revised_versions import RevisedVersions
from tests.support.clock import FakeClock
from tests.support.records import StoreHarness, make_chunk, make_record, make_result


@pytest.fixture
def harness(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as harness:
        yield harness


def revise(harness: StoreHarness, *records: Record, version: int = 2) -> set[int]:
    """Decode records again; return the numbers of the changed entries."""
    versions = RevisedVersions(harness.store._db, 0, version)
    for record in records:
        chunk = make_chunk(record, decoder_version=version)
        (pending,) = make_pending_records(chunk, chunk.entries[0], 1, 0)
        versions.load([pending.entry_id])
        versions.add(pending)
        versions.flush()
    return versions.changed_entries


def get(harness: StoreHarness, columns: str) -> tuple:
    return harness.execute(f"SELECT {columns} FROM record WHERE is_current")[0]


def test_a_record_that_is_the_same_only_gets_the_new_version(harness: StoreHarness):
    harness.commit(make_record("one", "1"))

    assert revise(harness, make_record("one", "1")) == set()
    assert get(harness, "content, decoder_version") == ("one", 2)


def test_what_a_digest_ignores_is_updated_in_place(harness: StoreHarness):
    harness.commit(make_record("one", "1"))

    changed = revise(harness, make_record("one", "1", model="m", parent_id="0"))

    assert changed == {1}
    assert get(harness, "id, model, parent_id") == (1, "m", "0")


def test_making_a_version_current_again_does_not_count_as_a_change(
    harness: StoreHarness,
):
    harness.commit(make_record("one", "1"), make_record("two", "1"))

    changed = revise(harness, make_record("one", "1"), make_record("two", "1"))

    assert changed == set()
    assert get(harness, "content") == ("two",)


def test_usage_may_decrease_but_copies_in_one_log_are_merged(harness: StoreHarness):
    harness.commit(make_record("one", "1", usage=Usage(9, 9)))

    revise(
        harness,
        make_record("one", "1", usage=Usage(5, 1)),
        make_record("one", "1", usage=Usage(1, 2)),
    )

    assert get(harness, "usage") == ("5 2 0 0",)


def test_a_record_that_another_log_revised_is_only_merged(harness: StoreHarness):
    harness.commit(make_record("one", "1"))
    revise(harness, make_record("one", "1", model="first"))

    assert revise(harness, make_record("one", "1", model="second")) == set()
    assert get(harness, "model") == ("first",)


def test_a_result_keeps_its_text_if_its_file_is_gone(harness: StoreHarness):
    harness.commit(make_result("cut", "c", spilled="whole text"))

    revise(harness, make_result("cut", "c"))

    assert get(harness, "spilled") == ("whole text",)


def test_search_follows_a_result_whose_file_is_found_now(harness: StoreHarness):
    harness.commit(make_result("cut", "c", spilled="before"))

    revise(harness, make_result("cut", "c", spilled="after"))

    found = [len(harness.search(word)) for word in ("before", "after")]
    assert found == [0, 1]


def test_a_repeat_replaces_what_an_older_decoder_made_of_it(harness: StoreHarness):
    harness.commit(make_record("old", "1", is_repeat=True))

    revise(harness, make_record("new", "1", is_repeat=True))

    assert get(harness, "content") == ("new",)


def test_a_repeat_does_not_replace_an_original_of_the_same_decoder(
    harness: StoreHarness,
):
    harness.commit(make_record("original", "1"))

    revise(harness, make_record("new", "1"), make_record("n…", "1", is_repeat=True))

    assert get(harness, "content") == ("new",)
