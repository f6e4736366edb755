"""Which record ends a turn, and how and in which mode a unit ran."""

from __future__ import annotations

import pytest

from leslied.model.record import Record
from leslied.sessions.turns import (
    ends_turn,
    find_agent_mode,
    find_linked_stop_reason,
    find_own_positions,
    find_stop_reason,
    is_in_turn,
)
from tests.support.records import (
    make_call,
    make_event,
    make_prompt,
    make_record,
    make_result,
)
from tests.support.units import make_placed

INTERRUPT = make_event("turn_ended", metadata={"note": "interrupt"})


def make_answer(stop_reason: str, record_type: str = "assistant_message") -> Record:
    return make_record(type=record_type, metadata={"stop_reason": stop_reason})


@pytest.mark.parametrize(
    "record",
    [
        make_answer("end_turn"),
        make_answer("stop_sequence"),
        make_answer("max_tokens"),
        make_record(type="error"),
        make_event("turn_ended"),
        make_event("ended"),
        INTERRUPT,
    ],
)
def test_a_final_stop_reason_an_error_or_an_event_ends_a_turn(record: Record):
    assert ends_turn(record)


@pytest.mark.parametrize(
    "record",
    [
        make_record(),
        make_answer("tool_use"),
        make_record(type="error", role="system"),
        make_event("notice"),
        make_event("notice", metadata={"stop_reason": "end_turn"}),
        make_prompt(),
        make_result("out", "c"),
    ],
)
def test_other_records_do_not_end_a_turn(record: Record):
    assert not ends_turn(record)


@pytest.mark.parametrize(
    ("last_records", "reason"),
    [
        ([make_answer("end_turn")], "end_turn"),
        ([make_answer("stop_sequence")], "end_turn"),
        ([make_answer("max_tokens")], "max_tokens"),
        ([make_answer("tool_use")], "unknown"),
        ([make_answer("unknown")], "unknown"),
        ([make_answer("end_turn"), make_event("notice")], "end_turn"),
        ([make_record(), make_event("turn_ended")], "end_turn"),
        (
            [make_event("turn_ended", metadata={"stop_reason": "max_tokens"})],
            "max_tokens",
        ),
        ([make_answer("end_turn"), make_event("ended")], "end_turn"),
        ([make_record(), INTERRUPT], "cancelled"),
        ([make_answer("tool_use"), INTERRUPT, make_event("turn_ended")], "cancelled"),
        ([make_record(type="error"), make_event("turn_ended")], "error"),
        ([make_answer("max_tokens"), make_event("turn_ended")], "max_tokens"),
        ([make_result("out", "c"), make_event("turn_ended")], "end_turn"),
        ([make_record(type="error")], "error"),
        ([make_record(type="error", role="system")], "unknown"),
        ([make_call("Bash", "c"), make_result("out", "c")], "unknown"),
        ([make_answer("end_turn"), make_prompt("more")], "unknown"),
    ],
)
def test_the_stop_reason_is_that_of_the_last_turn(
    last_records: list[Record], reason: str
):
    entries = [make_placed(record) for record in [make_prompt(), *last_records]]

    assert find_stop_reason(entries) == reason


def test_the_link_of_a_subagent_says_how_it_ended():
    link = make_event("subagent_linked", metadata={"stop_reason": "end_turn"})
    entries = [make_placed(record) for record in (link, make_prompt(), make_record())]

    assert find_linked_stop_reason(entries) == "end_turn"
    assert find_linked_stop_reason(entries[1:]) == "unknown"


@pytest.mark.parametrize("note", ["stop_blocked", "request_retried"])
def test_a_turn_that_continues_after_its_end_has_no_stop_reason(note: str):
    continued = make_event("notice", metadata={"note": note})
    entries = [make_placed(make_prompt("Go.")), make_placed(make_record(type="error"))]

    reason = find_stop_reason([*entries, make_placed(continued)])

    assert (find_stop_reason(entries), reason) == ("error", "unknown")


def test_a_unit_without_a_turn_has_no_stop_reason():
    assert find_stop_reason([make_placed(make_event("notice"))]) == "unknown"


@pytest.mark.parametrize(
    ("modes", "agent_mode"),
    [([], "agent"), (["default"], "agent"), (["default", "plan", "default"], "plan")],
)
def test_a_unit_that_was_ever_in_plan_mode_is_a_plan(modes: list[str], agent_mode: str):
    entries = [
        make_placed(make_event("context", metadata={"permission_mode": mode}))
        for mode in modes
    ]

    assert find_agent_mode(entries) == agent_mode


@pytest.mark.parametrize(
    "later_record",
    [
        make_event("title"),
        make_event("context", metadata={"permission_mode": "plan"}),
        make_event("notice", metadata={"note": "queue/enqueue"}),
        make_event("ended"),
        make_prompt("/rename it", metadata={"origin": "command"}),
        make_prompt("! ls", metadata={"origin": "shell"}),
        make_result("interrupted", "c", metadata={"is_between_turns": True}),
        make_record(type="token_usage"),
    ],
)
def test_what_follows_the_last_turn_is_not_part_of_the_unit(later_record: Record):
    records = [make_prompt(), make_answer("end_turn"), later_record]

    assert find_own_positions(records) == [0, 1]


@pytest.mark.parametrize(
    "later_record",
    [make_answer("end_turn"), make_event("turn_ended"), make_record(type="error")],
)
def test_a_later_turn_of_the_unit_includes_what_was_written_before_it(
    later_record: Record,
):
    records = [make_prompt(), make_answer("end_turn"), make_event("notice")]

    assert find_own_positions([*records, later_record]) == [0, 1, 2, 3]


def test_a_turn_goes_on_if_a_hook_refused_its_end():
    refusal = make_event("notice", metadata={"note": "stop_blocked"})
    records = [make_prompt(), make_answer("end_turn"), refusal]

    assert is_in_turn(refusal)
    assert find_own_positions(records) == [0, 1, 2]


def test_a_line_that_a_resume_added_is_not_part_of_a_turn_that_went_on():
    added = make_result("interrupted", "c", metadata={"is_between_turns": True})
    records = [make_prompt(), make_call("Bash", "c"), added, make_result("out", "c")]

    assert find_own_positions(records) == [0, 1, 3]


@pytest.mark.parametrize(
    "record",
    [
        make_event("title", metadata={"is_side": True}),
        make_event("subagent_linked"),
    ],
)
def test_what_another_file_says_about_a_session_is_not_part_of_a_turn(record: Record):
    records = [record, make_prompt(), record, make_answer("end_turn")]

    assert find_own_positions(records) == [1, 3]


def test_all_records_of_a_unit_without_a_turn_are_its_own():
    assert find_own_positions([make_event("opened"), make_event("context")]) == [0, 1]
