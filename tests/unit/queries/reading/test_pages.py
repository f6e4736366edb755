"""The messages of a unit, divided into pages."""

from __future__ import annotations

from leslied.model.record import Record
from leslied.queries.reading.pages import (
    PAGE_MESSAGES,
    list_page_entries,
    make_shown_unit,
)
from tests.support.records import make_prompt, make_record
from tests.support.units import make_unit


def make_call(call_id: str) -> Record:
    return make_record("", type="tool_use", tool_call_id=call_id, message_id=call_id)


def make_result(call_id: str) -> Record:
    return make_record("out", type="tool_result", role="tool", tool_call_id=call_id)


def test_events_that_nobody_needs_are_not_shown():
    notice = make_record("x", type="system_event", metadata={"kind": "notice"})
    rewind = make_record("", type="system_event", metadata={"kind": "rewound"})

    shown = make_shown_unit(make_unit(make_prompt("go"), notice, rewind))

    kinds = [each.event.kind if each.event else "" for each in shown.messages]
    assert kinds == ["", "rewound"]


def test_an_answer_without_any_content_is_not_shown():
    shown = make_shown_unit(make_unit(make_prompt("go"), make_record(" ")))

    assert len(shown.messages) == 1


def test_every_entry_is_on_one_page_with_the_result_of_its_call():
    calls = [make_call(f"c{number}") for number in range(PAGE_MESSAGES + 5)]
    results = [make_result(call.tool_call_id) for call in calls]
    unit = make_unit(*calls, *results)
    shown = make_shown_unit(unit)

    pages = list_page_entries(unit, shown.messages)

    assert shown.pages == 2
    assert [len(page) for page in pages] == [2 * PAGE_MESSAGES, 10]
    assert sorted(pages[0] + pages[1]) == [p.read_order for p in unit.entries]


def test_the_page_of_a_result_is_that_of_its_call():
    prompts = [make_prompt(str(number)) for number in range(PAGE_MESSAGES)]
    unit = make_unit(*prompts, make_call("c1"), make_result("c1"))
    shown = make_shown_unit(unit)

    assert shown.find_page(unit.entries[0].entry_id) == 0
    assert shown.find_page(unit.entries[-1].entry_id) == 1
    assert shown.find_page("unknown") is None


def test_a_unit_without_messages_has_a_page():
    assert make_shown_unit(make_unit(make_record(" "))).pages == 1
