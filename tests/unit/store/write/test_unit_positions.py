"""Positions of stored entries, by the ids that later entries refer to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from leslied.store.write.unit_positions import StoredUnitPositions
from tests.support.clock import FakeClock
from tests.support.records import (
    AGENT,
    StoreHarness,
    make_call,
    make_event,
    make_key,
    make_prompt,
)


@pytest.fixture
def harness(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as harness:
        yield harness


@pytest.fixture
def positions(harness: StoreHarness) -> StoredUnitPositions:
    harness.commit(make_prompt("a", "1"), make_call("Bash", "c"), make_prompt("b", "2"))
    return StoredUnitPositions(harness.store._db, AGENT, session=1)


def test_a_call_is_found_by_its_id(positions: StoredUnitPositions):
    assert positions.find_call("c") == (2, 1)
    assert positions.find_call("missing") is None


def test_an_entry_is_found_by_its_native_id(positions: StoredUnitPositions):
    assert positions.find_entry("2", "") == (3, 2)
    assert positions.find_entry("missing", "") is None


def test_an_entry_whose_first_record_has_number_0_takes_one_lookup(
    harness: StoreHarness, positions: StoredUnitPositions
):
    statements: list[str] = []
    harness.store._db.set_trace_callback(statements.append)
    positions.find_entry("2", "")
    harness.store._db.set_trace_callback(None)

    (statement,) = statements
    # The ids are hashes: each further one would read another page of the index.
    assert statement.count("x'") == 1


def test_an_entry_is_found_by_its_first_record_that_is_not_about_the_session(
    harness: StoreHarness,
):
    context = make_event("context", "1", block=900)
    prompt = make_prompt("a", "1", block=2)
    harness.commit(context, prompt, make_event("notice", "1", block=3))
    positions = StoredUnitPositions(harness.store._db, AGENT, session=1)

    assert positions.find_entry("1", "") == (2, 1)


def test_entries_of_another_session_are_not_found(
    harness: StoreHarness, positions: StoredUnitPositions
):
    other = make_key("other")
    harness.commit(make_prompt("x", "9", session=other), log="b.jsonl")

    assert positions.find_entry("9", "") is None
