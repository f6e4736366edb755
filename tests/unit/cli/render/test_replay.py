"""Tests of the events of a replay."""

from __future__ import annotations

import click
import pytest

from leslied.cli.render.replay import make_replay_events
from leslied.model.session import Unit
from tests.support.records import make_event, make_prompt, make_record, time_at
from tests.support.units import make_call, make_child, make_result, make_unit


def render_events(*units: Unit, is_full: bool = False) -> str:
    events = make_replay_events(units, is_full=is_full)
    return "".join(click.unstyle(event.text) for event in events)


def test_each_unit_starts_with_a_header():
    first = make_unit(make_prompt("a", created_at=time_at(0)), chat_id="chat-1")
    second = make_unit(
        make_prompt("b", created_at=time_at(9)), chat_id="chat-2", number=2
    )

    lines = [line for line in render_events(first, second).split("\n") if line]

    assert [line.split(" · ")[0] for line in lines] == [
        "── unit 1", "> a", "── unit 2", "> b"
    ]  # fmt: skip


def test_prompts_are_typed_answers_spoken_and_calls_shown_at_once():
    unit = make_unit(make_prompt("go"), make_record("ok"), make_call("Bash", "{}", "1"))

    pacings = [event.pacing for event in make_replay_events([unit], is_full=False)]

    assert pacings == ["at once", "typed", "spoken", "at once"]


def test_an_entry_below_a_header_has_no_pause_of_its_own():
    units = [
        make_unit(make_prompt("a", created_at=time_at(0))),
        make_unit(make_prompt("b", created_at=time_at(9)), number=2),
    ]

    pauses = [event.pause for event in make_replay_events(units, is_full=False)]

    assert pauses == [0, 0, 9, 0]


def test_events_and_thinking_are_played_in_full_mode_only():
    unit = make_unit(
        make_prompt("go", created_at=time_at(0)),
        make_event("context", created_at=time_at(5)),
        make_record("hm", type="thinking", created_at=time_at(6)),
        make_record("ok", created_at=time_at(7)),
    )

    *_, last = make_replay_events([unit], is_full=False)

    assert (last.text, last.pause) == ("ok\n", 7)
    assert "~ hm" in render_events(unit, is_full=True)


def test_a_subagent_is_indented_below_its_header():
    child = make_child(make_prompt("look"), make_record("seen"), name="kid", call="1")
    unit = make_unit(make_call("Task", "{}", "1"), subagents=(child,))

    text = render_events(unit)

    assert "    ── subagent kid · kid ──\n" in text
    assert "\n    > look\n" in text
    assert text.endswith("    seen\n")


def test_a_result_that_does_not_follow_its_call_repeats_the_call():
    unit = make_unit(
        make_call("Bash", '{"command": "one"}', "1"),
        make_call("Bash", '{"command": "two"}', "2"),
        make_result("2", "second"),
        make_result("1", "first"),
    )

    text = render_events(unit)

    assert "● Bash two\n  └ second\n○ Bash one\n  └ first\n" in text


@pytest.mark.threat("R1")
def test_control_characters_in_names_are_escaped():
    child = make_child(make_prompt("x"), name="\x1b]0;pwned\x07")
    unit = make_unit(
        make_call("\x1b[2J", "{}", "1"), make_result("1", "a"), subagents=(child,)
    )

    text = render_events(unit)

    assert "\x1b" not in text
    assert "␛]0;pwned␇" in text
