"""Summaries of the records that match a search."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from leslied.queries.search_query import parse_query
from leslied.store.read.match_summary import MatchSummary
from tests.support.clock import FakeClock
from tests.support.records import StoreHarness, make_key, make_record, time_at


@pytest.fixture
def harness(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as harness:
        yield harness


def scan(harness: StoreHarness, text: str) -> list[MatchSummary]:
    with harness.reader() as reader:
        search = reader.search(parse_query(text, {}))
        return search.scan(100, lambda: False, by_rank=False)


def test_a_summary_names_session_time_role_and_type(harness: StoreHarness):
    key = make_key("s", "subagent:a")
    harness.commit(make_record("needle", "1", session=key, created_at=time_at(5)))

    (match,) = scan(harness, "needle")

    assert (match.key, match.at, match.role) == (key, time_at(5), "assistant")
    assert (match.type, match.is_error) == ("assistant_message", False)


def test_a_match_in_a_failed_result_has_the_tool_of_its_call(
    harness: StoreHarness,
):
    harness.commit(
        make_record(type="tool_use", native_id="1", tool_name="Bash", tool_call_id="c"),
        make_record(
            "needle",
            "2",
            type="tool_result",
            role="tool",
            tool_call_id="c",
            metadata={"is_error": True},
        ),
    )

    (match,) = scan(harness, "needle")

    assert (match.tool_name, match.is_error) == ("Bash", True)


def test_matches_are_listed_newest_first(harness: StoreHarness):
    for number in range(5):
        harness.commit(
            make_record("needle", f"{number}", created_at=time_at(-number % 3))
        )

    times = [match.at for match in scan(harness, "needle")]

    assert times == sorted(times, key=str, reverse=True)
