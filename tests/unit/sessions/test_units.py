"""Units and their chat ids."""

from __future__ import annotations

import pytest

from leslied.sessions.units import get_identifying_entry, make_chat_id, make_unit
from tests.support.records import (
    make_event,
    make_key,
    make_prompt,
    make_record,
    time_at,
)
from tests.support.units import make_placed, make_summary

EVENT, PROMPT, ANSWER = (
    make_placed(record)
    for record in (make_event("opened"), make_prompt("go"), make_record("done"))
)


def test_a_chat_id_depends_on_the_session_and_not_on_its_subagent():
    chat_id = make_chat_id(make_key(), "e")

    assert chat_id == make_chat_id(make_key(source="subagent:x"), "e")
    assert chat_id != make_chat_id(make_key("other"), "e")
    assert chat_id != make_chat_id(make_key(), "f")


@pytest.mark.parametrize(
    ("number", "entries", "identifying_entry"),
    [
        (1, [PROMPT, ANSWER], PROMPT),
        (1, [EVENT, PROMPT], EVENT),
        (0, [EVENT, PROMPT, ANSWER], PROMPT),
        (0, [EVENT, ANSWER], EVENT),
    ],
)
def test_the_first_entry_identifies_a_unit_but_the_first_message_unit_zero(
    number: int, entries: list, identifying_entry: object
):
    assert get_identifying_entry(number, entries) is identifying_entry


@pytest.mark.parametrize(
    ("number", "source", "prompt"),
    [(1, "main", "go"), (0, "main", ""), (0, "subagent:x", "go")],
)
def test_only_a_unit_after_a_prompt_and_a_subagent_have_a_prompt(
    number: int, source: str, prompt: str
):
    summary = make_summary(make_key(source=source))

    assert make_unit(summary, number, (EVENT, PROMPT, ANSWER)).prompt == prompt


def test_lines_between_turns_change_neither_the_end_nor_the_mode_of_a_unit():
    answer = make_record(metadata={"stop_reason": "end_turn"}, created_at=time_at(1))
    mode = make_event("context", metadata={"permission_mode": "plan"})
    notice = make_event("notice", created_at=time_at(800))
    records = (make_prompt("go", created_at=time_at(0)), answer, mode, notice)

    unit = make_unit(make_summary(), 1, tuple(map(make_placed, records)))

    assert (unit.started_at, unit.ended_at) == (time_at(0), time_at(1))
    assert (unit.stop_reason, unit.agent_mode) == ("end_turn", "agent")
    assert [len(unit.entries), len(unit.own_entries)] == [4, 2]
