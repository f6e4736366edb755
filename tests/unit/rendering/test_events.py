"""Events that people see."""

from __future__ import annotations

import pytest

from leslied.rendering.events import format_event, shows_turn_end
from tests.support.records import make_event, make_record
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
    assert format_event(make_event(kind, metadata={"note": note})) == text


def test_an_answer_that_ends_the_turn_shows_its_end():
    assert shows_turn_end(make_record("done", metadata={"stop_reason": "end_turn"}))


def test_a_call_with_the_stop_reason_of_an_answer_does_not_show_the_end_of_a_turn():
    call = make_call("Bash", "{}", "1", metadata={"stop_reason": "end_turn"})

    assert not shows_turn_end(call)


def test_the_end_of_a_session_has_its_own_notice():
    assert not shows_turn_end(make_event("ended"))
