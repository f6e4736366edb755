"""Positions of stored entries, by the ids that later entries refer to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from leslied.store.write.unit_positions import StoredUnitPositions
from tests.support.clock import FakeClock
from tests.support.records import (
    StoreHarness,
    make_call,
    make_key,
    make_prompt,
    make_record,
)


@pytest.fixture
def harness(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as harness:
        yield harness


@pytest.fixture
def positions(harness: StoreHarness) -> StoredUnitPositions:
    harness.commit(make_prompt("a", "1"), make_call("Bash", "c"), make_prompt("b", "2"))
    return StoredUnitPositions(harness.store._db, session=1)


def test_a_call_is_found_by_its_id(positions: StoredUnitPositions):
    assert positions.find_call("c") == (2, 1)
    assert positions.find_call("missing") is None


def test_a_parent_is_found_by_its_native_id(positions: StoredUnitPositions):
    assert positions.find_parent(make_record(parent_id="2")) == (3, 2)
    assert positions.find_parent(make_record(parent_id="missing")) is None


def test_entries_of_another_session_are_not_found(
    harness: StoreHarness, positions: StoredUnitPositions
):
    other = make_key("other")
    harness.commit(make_prompt("x", "9", session=other), log="b.jsonl")

    assert positions.find_parent(make_record(parent_id="9")) is None
