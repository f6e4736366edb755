"""Which unit a record continues if two processes write to one session."""

from __future__ import annotations

import pytest

from leslied.model.record import Record
from leslied.sessions.unit_index import UnitIndex, UnitPosition
from tests.support.records import (
    make_call,
    make_event,
    make_prompt,
    make_record,
    make_result,
)


def make_index(*records: Record) -> UnitIndex:
    """Return an index in which the record at each position starts its own unit."""
    index = UnitIndex()
    for number, record in enumerate(records, 1):
        index.add(record, UnitPosition(number, number))
    return index


def test_a_result_belongs_to_the_unit_of_its_call():
    index = make_index(make_call("Bash", "c"), make_prompt("two", "2"))
    result = make_result("out", "c", parent_id="2")

    assert index.find_earlier_unit(result, 2) == 1


@pytest.mark.parametrize(
    "record", [make_record(parent_id="1"), make_event("turn_ended", parent_id="1")]
)
def test_a_record_belongs_to_the_unit_of_the_entry_that_it_follows(record: Record):
    index = make_index(make_prompt("one", "1"), make_prompt("two", "2"))

    assert index.find_earlier_unit(record, 2) == 1


@pytest.mark.parametrize(
    "record",
    [
        make_record(parent_id="2"),
        make_record(parent_id="missing"),
        make_record(),
        make_result("out", "missing"),
    ],
)
def test_any_other_record_belongs_to_the_current_unit(record: Record):
    index = make_index(make_prompt("one", "1"), make_prompt("two", "2"))

    assert index.find_earlier_unit(record, 2) is None


@pytest.mark.parametrize("origin", ["prompt", "command", "shell"])
def test_a_prompt_continues_no_unit(origin: str):
    index = make_index(make_prompt("one", "1"), make_prompt("two", "2"))
    prompt = make_prompt("three", parent_id="1", metadata={"origin": origin})

    assert index.find_earlier_unit(prompt, 2) is None


def test_an_answered_command_takes_what_follows_it_into_its_unit():
    index = UnitIndex()
    command = make_prompt("/init", "2", metadata={"origin": "command"})
    index.add(make_prompt("one", "1"), UnitPosition(1, 1))
    index.add(command, UnitPosition(2, 1))

    index.start_unit(range(2, 3), 2)

    assert index.find_earlier_unit(make_record(parent_id="2"), 2) is None
    assert index.find_earlier_unit(make_record(parent_id="1"), 2) == 1


def test_an_answered_command_leaves_what_comes_later_in_an_earlier_unit():
    index = UnitIndex()
    index.add(make_prompt("one", "1"), UnitPosition(1, 1))
    index.start_unit(range(2, 3), 2)
    index.add(make_record(native_id="4", parent_id="1"), UnitPosition(4, 1))

    assert index.find_earlier_unit(make_record(parent_id="4"), 2) == 1


def test_all_records_of_an_entry_are_in_one_unit():
    index = make_index(make_prompt("one", "1"), make_prompt("two", "2", parent_id="1"))
    second_record = make_event("notice", "2", parent_id="1", block=1)

    assert index.find_earlier_unit(second_record, 2) is None


def test_a_fact_about_the_session_does_not_stand_for_its_entry():
    index = make_index(make_event("context", "2", block=900), make_prompt("two", "2"))

    assert index.find_entry("2", "") == (2, 2)
