"""Long texts of records are written piece by piece, and stored like others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs

from leslied.store.write.long_texts import MAX_BOUND_CHARACTERS, take_long_texts
from tests.support.clock import FakeClock
from tests.support.memory import measure_peak
from tests.support.records import StoreHarness, make_chunk, make_record

LONG_TEXTS = {
    "ASCII": "x" * (MAX_BOUND_CHARACTERS + 1),
    "CJK": "汉字" * MAX_BOUND_CHARACTERS,
    "lone surrogate": "\ud800" + "é" * MAX_BOUND_CHARACTERS,
}


@pytest.fixture
def harness(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as harness:
        yield harness


@pytest.mark.parametrize("text", LONG_TEXTS.values(), ids=LONG_TEXTS)
@pytest.mark.parametrize("column", ["content", "tool_input", "spilled"])
def test_a_long_text_is_stored_as_text(harness: StoreHarness, column: str, text: str):
    record = structs.replace(make_record("short"), **{column: text})

    harness.commit(record)

    (placed,) = harness.list_records()
    assert getattr(placed.record, column) == text.replace("\ud800", "\ufffd")
    assert harness.execute(f"SELECT typeof({column}) FROM record") == [("text",)]


def test_a_text_that_is_not_long_stays_in_its_row():
    record = make_record("x" * MAX_BOUND_CHARACTERS)

    assert take_long_texts(record, 1) == (record, [])


def test_a_commit_makes_no_copy_of_a_long_text(harness: StoreHarness):
    text = "汉字" * (4 * MAX_BOUND_CHARACTERS)
    chunk = make_chunk(make_record(text))

    _, peak = measure_peak(lambda: harness.store.commit([chunk]))

    # What is left is the text for the index: the first million characters, spaced.
    assert peak < len(text.encode())
