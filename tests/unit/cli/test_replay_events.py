"""What is played of a session."""

from __future__ import annotations

import click

from leslied.cli.replay_events import make_replay_events
from leslied.model.session import Unit
from tests.support.records import make_event, make_prompt, make_record, time_at
from tests.support.units import make_call, make_child, make_result, make_unit


def render_events(*units: Unit, is_full: bool = False) -> str:
    cues = make_replay_events(units, is_full=is_full)
    return "".join(click.unstyle(cue.text) for cue in cues)


def test_a_line_tells_where_a_unit_begins():
    one = make_unit(make_prompt("a", created_at=time_at(0)), chat_id="chat-1")
    two = make_unit(make_prompt("b", created_at=time_at(9)), chat_id="chat-2", number=2)

    lines = [line for line in render_events(one, two).split("\n") if line]

    assert [line.split(" · ")[0] for line in lines] == [
        "── unit 1", "> a", "── unit 2", "> b"
    ]  # fmt: skip


def test_prompts_are_typed_answers_spoken_and_calls_there_at_once():
    unit = make_unit(make_prompt("go"), make_record("ok"), make_call("Bash", "{}", "1"))

    cues = list(make_replay_events([unit], is_full=False))

    assert [cue.pacing for cue in cues] == ["at once", "typed", "spoken", "at once"]


def test_the_pause_stands_before_the_head_and_not_again_after_it():
    units = [
        make_unit(make_prompt("a", created_at=time_at(0))),
        make_unit(make_prompt("b", created_at=time_at(9)), number=2),
    ]

    assert [cue.pause for cue in make_replay_events(units, is_full=False)] == [
        0,
        0,
        9,
        0,
    ]


def test_what_only_machines_read_is_not_played():
    unit = make_unit(
        make_prompt("go", created_at=time_at(0)),
        make_event("context", created_at=time_at(5)),
        make_record("hm", type="thinking", created_at=time_at(6)),
        make_record("ok", created_at=time_at(7)),
    )

    *_, last = make_replay_events([unit], is_full=False)

    assert (last.text, last.pause) == ("ok\n", 7)
    assert "~ hm" in render_events(unit, is_full=True)


def test_a_subagent_is_indented_below_its_name():
    child = make_child(make_prompt("look"), make_record("seen"), name="kid", call="1")
    unit = make_unit(make_call("Task", "{}", "1"), subagents=(child,))

    shown = render_events(unit)

    assert "    ── subagent kid · kid ──\n" in shown
    assert "\n    > look\n" in shown
    assert shown.endswith("    seen\n")


def test_a_result_that_does_not_follow_its_call_names_it():
    unit = make_unit(
        make_call("Bash", '{"command": "one"}', "1"),
        make_call("Bash", '{"command": "two"}', "2"),
        make_result("2", "second"),
        make_result("1", "first"),
    )

    shown = render_events(unit)

    assert "● Bash two\n  └ second\n○ Bash one\n  └ first\n" in shown


def test_a_hostile_name_stays_harmless():
    child = make_child(make_prompt("x"), name="\x1b]0;pwned\x07")
    unit = make_unit(
        make_call("\x1b[2J", "{}", "1"), make_result("1", "a"), subagents=(child,)
    )

    shown = render_events(unit)

    assert "\x1b" not in shown
    assert "␛]0;pwned␇" in shown
