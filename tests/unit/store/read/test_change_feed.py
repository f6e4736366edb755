"""The change feed returns new records and stopped sessions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from leslied.model.record import PlacedRecord
from tests.support.clock import FakeClock
from tests.support.records import StoreHarness, make_key, make_prompt, make_record


@pytest.fixture
def harness(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as harness:
        yield harness


def list_contents(records: list[PlacedRecord]) -> list[str]:
    return [placed.record.content for placed in records]


def test_the_data_version_changes_only_with_a_commit(
    harness: StoreHarness,
):
    harness.commit(make_prompt("one", "1"))
    with harness.reader() as reader:
        before = reader.change_feed.get_data_version()
        again = reader.change_feed.get_data_version()
        harness.commit(make_prompt("two", "2"), log="b.jsonl")
        after = reader.change_feed.get_data_version()

    assert before == again != after


def test_only_later_records_are_listed(harness: StoreHarness):
    harness.commit(make_prompt("one", "1"))
    with harness.reader() as reader:
        newest = reader.change_feed.get_newest_read_order()
        harness.commit(make_prompt("two", "2"), log="b.jsonl")

        assert list_contents(reader.change_feed.list_after(newest)) == ["two"]
        assert list_contents(reader.change_feed.list_after(0)) == ["one", "two"]


def test_the_last_records_of_a_type_are_listed_in_order(harness: StoreHarness):
    harness.commit(*(make_prompt(word, word) for word in "abc"), make_record("d", "d"))

    with harness.reader() as reader:
        assert list_contents(reader.change_feed.list_last(2, ["user_message"])) == [
            "b",
            "c",
        ]
        assert list_contents(
            reader.change_feed.list_last(9, ["assistant_message"])
        ) == ["d"]


def test_the_last_records_can_be_limited_to_some_sessions(harness: StoreHarness):
    harness.commit(make_prompt("mine", "1"))
    harness.commit(make_prompt("theirs", "2", session=make_key("t")), log="b.jsonl")

    with harness.reader() as reader:
        assert list_contents(
            reader.change_feed.list_last(9, ["user_message"], [make_key()])
        ) == ["mine"]
        assert reader.change_feed.list_last(9, ["user_message"], []) == []


def test_the_feed_computes_the_sequence_number_of_a_record(harness: StoreHarness):
    harness.commit(make_prompt("other", "0", session=make_key("t")), log="b.jsonl")
    harness.commit(*(make_prompt(word, word) for word in "abc"))

    records = harness.list_records()
    with harness.reader() as reader:
        numbers = [reader.change_feed.get_sequence(placed) for placed in records]

    assert numbers == [placed.sequence for placed in records] == [1, 2, 3]


def test_a_stopped_session_is_listed_once(harness: StoreHarness):
    harness.commit(make_prompt("one", "1"))
    with harness.reader() as reader:
        before = reader.change_feed.list_stopped(0)
        harness.store.mark_all_stopped()
        ((key, stopped_us),) = reader.change_feed.list_stopped(0)

        assert before == []
        assert key == make_key()
        assert reader.change_feed.list_stopped(stopped_us) == []


def test_only_sessions_with_later_records_have_changed(harness: StoreHarness):
    harness.commit(make_prompt("one", "1"))
    with harness.reader() as reader:
        newest = reader.change_feed.get_newest_read_order()
        before = reader.change_feed.list_changed_streams(0)
        harness.commit(make_prompt("two", "2", session=make_key("t")), log="b.jsonl")

        assert reader.change_feed.list_changed_streams(newest) == [make_key("t")]
        assert before == [make_key()]


def test_without_later_records_no_session_has_changed(harness: StoreHarness):
    harness.commit(make_prompt("one", "1"))
    with harness.reader() as reader:
        newest = reader.change_feed.get_newest_read_order()

        assert reader.change_feed.list_changed_streams(newest) == []
