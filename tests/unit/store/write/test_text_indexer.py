"""The index that a second process builds is complete, whatever happens to it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from leslied.errors import StoreUnusable
from leslied.model.query import AllOf, Query, Term
from leslied.queries.search import SearchResult, search_entries
from leslied.store import Store, StoreReader
from leslied.store.fts_text import UNINDEXED_FROM
from leslied.store.write import text_indexer
from tests.support.clock import FakeClock
from tests.support.records import StoreHarness, make_call, make_prompt, make_record


@pytest.fixture
def harness(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as harness:
        yield harness


def find_records(harness: StoreHarness, words: str) -> list[int]:
    """Check the index; return the ids of the records that contain these words."""
    harness.execute("INSERT INTO record_text (record_text) VALUES ('integrity-check')")
    query = "SELECT rowid FROM record_text WHERE record_text MATCH ?"
    return [record_id for (record_id,) in harness.execute(query, words)]


def is_marked(harness: StoreHarness) -> bool:
    return harness.execute("SELECT 1 FROM meta WHERE key = ?", UNINDEXED_FROM) == [(1,)]


def kill_indexer(harness: StoreHarness) -> None:
    indexer = harness.store._indexer
    assert indexer is not None
    pid = indexer._process.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    indexer._process.join()


def list_files(harness: StoreHarness) -> list[str]:
    return sorted(path.name for path in harness.path.parent.glob("store.db.*"))


def search(harness: StoreHarness, word: str) -> SearchResult:
    query = Query(words=AllOf((Term(word),)))
    with StoreReader(harness.path) as reader:
        return search_entries(
            reader, query, "newest", 9, stop_cutoff_us=0, redact=lambda text: text
        )


def test_the_index_is_in_the_store_after_the_load(harness: StoreHarness):
    with harness.store.bulk_load(is_large=True):
        harness.commit(make_prompt("red apple", "1"), make_call("Bash", "c"))
        harness.commit(make_prompt("green apple", "2"))

    assert find_records(harness, "apple") == [1, 3]
    assert find_records(harness, "bash ls") == [2]
    assert not is_marked(harness)
    assert list_files(harness) == []


def test_later_entries_are_added_to_the_copied_index(harness: StoreHarness):
    harness.commit(make_record("no text", type="unknown"))
    with harness.store.bulk_load(is_large=True):
        harness.commit(make_prompt("red apple", "1"))

    harness.commit(make_prompt("green apple", "2"))

    assert find_records(harness, "apple") == [2, 3]


def test_a_store_with_an_index_indexes_by_itself(harness: StoreHarness):
    harness.commit(make_prompt("red apple", "1"))

    with harness.store.bulk_load(is_large=True):
        harness.commit(make_prompt("green apple", "2"))
        records = find_records(harness, "apple")

    assert records == [1, 2]


@pytest.mark.parametrize("count", [1, 3])
def test_records_are_indexed_if_the_second_process_dies(
    harness: StoreHarness, monkeypatch: pytest.MonkeyPatch, count: int
):
    monkeypatch.setattr(text_indexer, "_RECORDS_PER_COMMIT", 2)
    with harness.store.bulk_load(is_large=True):
        harness.commit(*(make_prompt(f"apple {n}", str(n)) for n in range(count)))
        kill_indexer(harness)
        harness.commit(make_prompt("apple", "last"))

    assert find_records(harness, "apple") == [*range(1, count + 2)]
    assert not is_marked(harness)
    assert list_files(harness) == []


def test_what_was_read_before_an_error_is_indexed(harness: StoreHarness):
    with (
        suppress(KeyboardInterrupt),
        harness.store.bulk_load(is_large=True),
    ):
        harness.commit(make_prompt("apple", "1"))
        raise KeyboardInterrupt

    assert find_records(harness, "apple") == [1]
    assert not is_marked(harness)


def test_records_of_a_killed_sync_are_indexed_when_the_store_is_opened(
    harness: StoreHarness, clock: FakeClock
):
    harness.commit(make_prompt("apple", "1"))
    harness.execute("INSERT INTO record_text (record_text) VALUES ('delete-all')")
    harness.execute("INSERT INTO meta VALUES (?, '1')", UNINDEXED_FROM)
    harness.path.with_name("store.db.index-7").touch()
    harness.store.close()

    harness.store = Store(harness.path, clock)

    assert find_records(harness, "apple") == [1]
    assert not is_marked(harness)
    assert list_files(harness) == []


def test_records_are_indexed_if_the_load_and_the_second_process_fail(
    harness: StoreHarness,
):
    with (
        suppress(KeyboardInterrupt),
        harness.store.bulk_load(is_large=True),
    ):
        harness.commit(make_prompt("apple", "1"))
        kill_indexer(harness)
        raise KeyboardInterrupt

    harness.commit(make_prompt("apple", "2"))

    assert find_records(harness, "apple") == [1, 2]
    assert not is_marked(harness)


def test_a_store_whose_index_cannot_be_completed_is_unusable(harness: StoreHarness):
    harness.commit(make_prompt("apple", "1"))
    harness.execute("INSERT INTO meta VALUES (?, '1')", UNINDEXED_FROM)
    harness.execute("DROP TABLE record_text")
    harness.execute("CREATE VIEW record_text AS SELECT 1")

    with pytest.raises(StoreUnusable):
        text_indexer.index_missing_texts(harness.store._db, harness.path)

    assert not harness.store._db.in_transaction


def test_a_search_during_a_first_sync_says_that_entries_are_missing(
    harness: StoreHarness,
):
    with harness.store.bulk_load(is_large=True):
        harness.commit(make_prompt("apple", "1"))
        during = search(harness, "apple")

    after = search(harness, "apple")

    assert not during.hits
    assert "first sync is not finished" in during.notes[0]
    assert [hit.snippet for hit in after.hits] == ["apple"]
    assert after.notes == ()
