"""The texts of a large unit are loaded only when a transcript shows them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs

from leslied.model.omitted_text import OmittedText, load_whole
from leslied.model.record import Record
from leslied.pipeline.stages.unit_entries import MAX_CHARACTERS, UnitEntries
from tests.support.clock import FakeClock
from tests.support.memory import measure_peak
from tests.support.records import (
    StoreHarness,
    make_call,
    make_key,
    make_prompt,
    make_record,
    make_result,
)

LONG = "x" * (MAX_CHARACTERS // 10)


@pytest.fixture
def harness(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as harness:
        yield harness


def load(harness: StoreHarness) -> tuple[list[Record], bool]:
    """Return the records of unit 1, and whether any of their texts is omitted."""
    with harness.reader() as reader:
        entries = UnitEntries(reader)
        records = [placed.record for placed in entries.load(make_key(), 1)]
        return records, entries.has_omitted_texts


def test_a_small_unit_is_in_memory(harness: StoreHarness):
    harness.commit(make_prompt("go"), make_record(LONG, "2"))

    records, has_omitted_texts = load(harness)

    assert not has_omitted_texts
    assert not any(isinstance(record.content, OmittedText) for record in records)


def test_long_texts_of_a_large_unit_are_loaded_when_they_are_needed(
    harness: StoreHarness,
):
    answers = [make_record(f"{n} {LONG}", str(n)) for n in range(2, 20)]
    harness.commit(make_prompt("go"), *answers)

    with harness.reader() as reader:
        entries = UnitEntries(reader)
        contents = [p.record.content for p in entries.load(make_key(), 1)]
        wholes = [*map(load_whole, contents)]

    assert entries.has_omitted_texts
    assert sum(map(len, contents)) <= MAX_CHARACTERS + 100
    assert wholes == ["go", *(answer.content for answer in answers)]


def test_all_texts_of_a_record_are_omitted(harness: StoreHarness):
    call = structs.replace(make_call("Bash", "1"), tool_input=LONG * 10)
    result = structs.replace(make_result(LONG, "1"), spilled=LONG)
    harness.commit(make_prompt("go"), call, result)

    _, stored_call, stored_result = load(harness)[0]

    assert len(stored_call.tool_input) < 100
    assert len(stored_result.content) < 100
    assert len(stored_result.spilled) < 100


def test_the_prompt_and_texts_that_begin_blank_stay_in_memory(harness: StoreHarness):
    blank = " " * 1000 + "x"
    prompt = LONG * 20
    harness.commit(make_prompt(prompt), make_record(blank, "2"))

    records, _ = load(harness)

    assert [record.content for record in records] == [prompt, blank]


def test_the_memory_for_a_unit_does_not_grow_with_its_texts(harness: StoreHarness):
    answers = [make_record(f"{n} {LONG}", str(n)) for n in range(2, 100)]
    harness.commit(make_prompt("go"), *answers)

    _, peak = measure_peak(lambda: load(harness))

    assert peak < 2 * MAX_CHARACTERS
