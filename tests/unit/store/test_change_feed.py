"""What comes into the store while somebody looks on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from leslied.model.record import PlacedRecord
from tests.support.clock import FakeClock
from tests.support.records import StoreHarness, make_key, make_prompt, make_record


@pytest.fixture
def shelf(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as shelf:
        yield shelf


def contents(found: list[PlacedRecord]) -> list[str]:
    return [placed.record.content for placed in found]


def test_the_version_changes_with_every_commit_and_with_nothing_else(
    shelf: StoreHarness,
):
    shelf.commit(make_prompt("one", "1"))
    with shelf.reader() as reader:
        before = reader.change_feed.get_data_version()
        again = reader.change_feed.get_data_version()
        shelf.commit(make_prompt("two", "2"), log="b.jsonl")
        after = reader.change_feed.get_data_version()

    assert before == again != after


def test_only_what_came_later_is_new(shelf: StoreHarness):
    shelf.commit(make_prompt("one", "1"))
    with shelf.reader() as reader:
        newest = reader.change_feed.get_newest_placement()
        shelf.commit(make_prompt("two", "2"), log="b.jsonl")

        assert contents(reader.change_feed.list_after(newest)) == ["two"]
        assert contents(reader.change_feed.list_after(0)) == ["one", "two"]


def test_the_last_are_told_in_their_order_and_by_type(shelf: StoreHarness):
    shelf.commit(*(make_prompt(word, word) for word in "abc"), make_record("d", "d"))

    with shelf.reader() as reader:
        assert contents(reader.change_feed.list_last(2, ["user_message"])) == ["b", "c"]
        assert contents(reader.change_feed.list_last(9, ["assistant_message"])) == ["d"]


def test_the_last_of_some_sessions_leave_out_the_others(shelf: StoreHarness):
    shelf.commit(make_prompt("mine", "1"))
    shelf.commit(make_prompt("theirs", "2", session=make_key("t")), log="b.jsonl")
    rows = [shelf.session().row]

    with shelf.reader() as reader:
        assert contents(reader.change_feed.list_last(9, ["user_message"], rows)) == [
            "mine"
        ]
        assert reader.change_feed.list_last(9, ["user_message"], []) == []


def test_an_entrys_number_is_the_one_its_session_shows(shelf: StoreHarness):
    shelf.commit(make_prompt("other", "0", session=make_key("t")), log="b.jsonl")
    shelf.commit(*(make_prompt(word, word) for word in "abc"))

    told = shelf.list_records()
    with shelf.reader() as reader:
        numbers = [reader.change_feed.get_sequence(placed) for placed in told]

    assert numbers == [placed.sequence for placed in told] == [1, 2, 3]


def test_a_stop_is_told_once(shelf: StoreHarness):
    shelf.commit(make_prompt("one", "1"))
    with shelf.reader() as reader:
        none = reader.change_feed.list_stopped(0)
        shelf.store.mark_all_stopped()
        ((key, stopped_us),) = reader.change_feed.list_stopped(0)

        assert none == []
        assert key == make_key()
        assert reader.change_feed.list_stopped(stopped_us) == []
