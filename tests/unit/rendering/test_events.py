"""Events that people see."""

from __future__ import annotations

import pytest

from leslied.rendering.events import EventFinder, ShownEvent, shows_turn_end
from tests.support.records import make_event, make_prompt, make_record
from tests.support.units import make_call


@pytest.mark.parametrize(
    ("kind", "note", "text"),
    [
        ("notice", "interrupt", "interrupted"),
        ("compacted", "compact_boundary", "conversation compacted"),
        ("rewound", "", "conversation rewound"),
        ("notice", "", ""),
    ],
)
def test_an_event_is_described_in_a_few_words(kind, note: str, text: str):
    event = EventFinder().find_event(make_event(kind, metadata={"note": note}))

    assert (event.text if event else "") == text


def test_a_notification_tells_what_the_task_reported():
    metadata = {"notification": "task over", "report": "all good"}

    event = EventFinder().find_event(make_event("notice", metadata=metadata))

    assert event == ShownEvent("notification", "task over", "all good")


BOUNDARY = make_event(
    "compacted",
    metadata={"note": "compact_boundary"},
    content="Conversation compacted",
)
SUMMARY = make_event("compacted", metadata={"note": "summary"}, content="We began")


def test_a_compaction_is_reported_once_with_its_summary():
    finder = EventFinder()

    events = [finder.find_event(record) for record in (BOUNDARY, SUMMARY)]

    assert events == [
        ShownEvent("compacted", "conversation compacted"),
        ShownEvent("compacted", "", "We began"),
    ]


def test_a_compaction_without_a_mark_is_reported_by_its_summary():
    event = EventFinder().find_event(SUMMARY)

    assert event == ShownEvent("compacted", "conversation compacted", "We began")


def test_a_compaction_after_an_answer_is_another_one():
    finder = EventFinder()
    events = [finder.find_event(r) for r in (BOUNDARY, make_record("hi"), BOUNDARY)]

    assert [event.text for event in events if event] == ["conversation compacted"] * 2


COMMAND = make_prompt(
    "/compact it", metadata={"origin": "command", "asks_for": "compacted"}
)


def test_the_command_that_asked_for_a_compaction_is_part_of_it():
    finder = EventFinder()

    events = [finder.find_event(record) for record in (BOUNDARY, SUMMARY, COMMAND)]

    assert events[2] == ShownEvent("command", "/compact it")


def test_a_command_without_a_compaction_is_a_prompt():
    assert EventFinder().find_event(COMMAND) is None


def test_a_compaction_of_tool_results_alone_is_not_shown():
    record = make_event("compacted", metadata={"note": "microcompact_boundary"})

    assert EventFinder().find_event(record) is None


def test_an_answer_that_ends_the_turn_shows_its_end():
    assert shows_turn_end(make_record("done", metadata={"stop_reason": "end_turn"}))


def test_a_call_with_the_stop_reason_of_an_answer_does_not_show_the_end_of_a_turn():
    call = make_call("Bash", "{}", "1", metadata={"stop_reason": "end_turn"})

    assert not shows_turn_end(call)


def test_the_end_of_a_session_has_its_own_notice():
    assert not shows_turn_end(make_event("ended"))
