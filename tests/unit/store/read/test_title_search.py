"""Sessions by words in their title or folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.clock import FakeClock
from tests.support.records import (
    StoreHarness,
    make_event,
    make_key,
    make_prompt,
    time_at,
)


@pytest.fixture
def harness(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as harness:
        for number, (name, prompt) in enumerate(
            [
                ("one", "Fix the parser"),
                ("two", "Fix the build"),
                ("three", "100%_done"),
            ]
        ):
            harness.commit(
                make_prompt(
                    prompt,
                    f"{number}",
                    session=make_key(name),
                    created_at=time_at(number),
                )
            )
        yield harness


def find(harness: StoreHarness, *words: str, limit: int = 8) -> list[str]:
    with harness.reader() as reader:
        return [group.session_id for group in reader.titles.find(words, limit)]


def test_without_words_the_last_active_sessions_are_found(harness: StoreHarness):
    assert find(harness) == ["three", "two", "one"]


def test_all_words_must_occur_in_any_case(harness: StoreHarness):
    assert find(harness, "fix", "PARSER") == ["one"]


def test_a_session_is_found_by_the_beginning_of_its_id(harness: StoreHarness):
    assert find(harness, "tw") == ["two"]


def test_special_characters_match_literally(harness: StoreHarness):
    assert find(harness, "%_") == ["three"]


def test_the_number_of_sessions_is_limited(harness: StoreHarness):
    assert find(harness, "fix", limit=1) == ["two"]


def test_a_session_in_which_nobody_said_anything_is_left_out(harness: StoreHarness):
    harness.commit(make_event("notice", "x", session=make_key("hidden")))

    assert find(harness, "hidden") == []
