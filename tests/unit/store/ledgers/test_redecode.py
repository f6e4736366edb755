"""The ledger of decoder versions: which sources an older decoder read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.clock import FakeClock
from tests.support.records import LOGS, StoreHarness, make_chunk, make_prompt


@pytest.fixture
def harness(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as harness:
        yield harness


def list_due(harness: StoreHarness, version: int = 2, **options: int) -> list[int]:
    arguments = {"after": 0, "limit": 10} | options
    with harness.store.decoder_versions() as ledger:
        return ledger.list_due("claude-code", version, **arguments)


def commit_logs(harness: StoreHarness, count: int) -> None:
    for number in range(count):
        harness.commit(make_prompt("a", f"{number}"), log=f"{number}.jsonl")


def test_sources_of_an_older_version_are_due_in_the_order_of_reading(
    harness: StoreHarness,
):
    commit_logs(harness, 3)

    assert list_due(harness) == [1, 2, 3]
    assert list_due(harness, version=1) == []
    assert list_due(harness, after=1, limit=1) == [2]


def test_new_entries_do_not_make_a_source_up_to_date(harness: StoreHarness):
    harness.commit(make_prompt("a", "1"))

    harness.store.commit([make_chunk(make_prompt("b", "2"), decoder_version=2)])

    assert list_due(harness) == [1]


def test_a_source_that_was_never_read_is_not_due(harness: StoreHarness):
    harness.store.record_source_error("claude-code", LOGS / "a.jsonl", "denied")

    assert list_due(harness) == []


def test_a_read_that_failed_does_not_decide_the_version(harness: StoreHarness):
    harness.store.record_source_error("claude-code", LOGS / "a.jsonl", "denied")

    harness.store.commit([make_chunk(make_prompt("a", "1"), decoder_version=2)])

    assert list_due(harness, version=2) == []
    assert list_due(harness, version=3) == [1]


def test_a_source_that_cannot_be_decoded_again_is_not_due_until_the_next_version(
    harness: StoreHarness,
):
    commit_logs(harness, 2)

    with harness.store.decoder_versions() as ledger:
        ledger.mark_impossible(1, 2)
        ledger.mark_decoded(2, 2)

    assert (list_due(harness), list_due(harness, version=3)) == ([], [1, 2])
    with harness.reader() as reader:
        (agent,) = reader.summarize_agents()
    assert agent["decoder_versions"] == [(1, 2, 1), (2, 2, 1)]
