"""Totals of a session are updated record by record."""

from __future__ import annotations

import hashlib

import pytest

from leslied.model.record import MAIN, Record
from leslied.sessions.totals import SessionTotals, propose_thread_id
from tests.support.records import (
    AGENT,
    make_call,
    make_event,
    make_key,
    make_prompt,
    make_record,
)

RANDOM_UUID = "11111111-2222-4333-8444-555555555555"


def make_totals(*records: Record, source: str = MAIN) -> SessionTotals:
    """Return the totals of these records; each has its number as time and placement."""
    totals = SessionTotals(source)
    for number, record in enumerate(records, 1):
        totals.add_record(record, number, number)
    return totals


# Units


def test_a_prompt_starts_a_unit_at_its_placement():
    totals = make_totals(make_record())

    assert totals.add_record(make_prompt(), 2, 2) == 2
    assert totals.units == 1


def test_an_answered_command_starts_a_unit_at_the_command():
    totals = make_totals(
        make_prompt(metadata={"origin": "command"}), make_event("notice")
    )

    assert totals.add_record(make_record(), 3, 3) == 1
    assert (totals.units, totals.waiting_command) == (1, 0)


def test_the_end_of_a_turn_cancels_a_waiting_command():
    command = make_prompt(metadata={"origin": "shell"})
    totals = make_totals(make_prompt(), command, make_event("turn_ended"))

    assert totals.add_record(make_record(), 4, 4) == 0
    assert totals.units == 1


def test_output_of_the_client_cancels_a_waiting_command():
    command = make_prompt(metadata={"origin": "command"})
    output = make_event("notice", metadata={"is_command_output": True})
    totals = make_totals(make_prompt(), command, output)

    assert totals.add_record(make_record(), 4, 4) == 0
    assert totals.units == 1


def test_output_in_an_earlier_unit_does_not_answer_a_command():
    command = make_prompt(metadata={"origin": "command"})
    totals = make_totals(make_prompt(), make_prompt(), command)

    assert totals.add_record(make_record(), 4, 4, is_in_earlier_unit=True) == 0
    assert (totals.units, totals.waiting_command) == (2, 3)


def test_a_record_in_an_earlier_unit_is_counted_once():
    totals = make_totals(make_prompt(), make_prompt())
    totals.add_record(make_call("Bash", "c"), 3, 3, is_in_earlier_unit=True)

    assert (totals.entries, totals.originals, totals.tool_calls) == (3, 3, 1)


def test_a_prompt_cancels_a_waiting_command():
    totals = make_totals(make_prompt(metadata={"origin": "command"}), make_prompt())

    assert totals.add_record(make_record(), 3, 3) == 0
    assert totals.units == 1


def test_output_after_two_commands_answers_the_last():
    command = make_prompt(metadata={"origin": "command"})
    totals = make_totals(command, command)

    assert totals.add_record(make_record(), 3, 3) == 2


@pytest.mark.parametrize("origin", ["queued", "task", None])
def test_a_user_message_that_is_not_a_prompt_starts_no_unit(origin: str | None):
    assert make_totals(make_prompt(metadata={"origin": origin})).units == 0


def test_a_subagent_has_no_units():
    totals = make_totals(make_prompt("the task"), make_record(), source="subagent:x")

    assert (totals.units, totals.first_prompt) == (0, "the task")


def test_the_first_message_of_a_subagent_is_its_task():
    task = make_prompt("the task", metadata={"origin": "task"})

    totals = make_totals(task, make_prompt("later"), source="subagent:x")

    assert totals.first_prompt == "the task"


# Values shown in lists


@pytest.mark.fault("G6")
def test_a_session_spans_its_earliest_and_latest_times():
    totals = make_totals()
    for time in (50, 20, 90, 60):
        totals.add_record(make_record(), time, 1)
    totals.add_record(make_record(), None, 1)

    assert (totals.started_us, totals.ended_us) == (20, 90)


def test_the_last_model_is_the_model_of_the_session():
    records = [make_record(model=name) for name in ("a", "b", "")]

    assert make_totals(*records, make_record(model="c", type="error")).model == "b"


def test_a_usage_record_does_not_set_the_model():
    usage_record = make_record("", model="small", type="token_usage")

    assert make_totals(make_record(model="large"), usage_record).model == "large"


def test_the_first_working_directory_is_that_of_the_session():
    events = [
        make_event("opened", metadata={"version": "1"}),
        make_event("context", metadata={"cwd": "/first"}),
        make_event("context", metadata={"cwd": "/second"}),
    ]

    assert make_totals(*events).cwd == "/first"


def test_tool_calls_are_counted():
    calls = [make_record(type="tool_use"), make_record(type="tool_result")] * 3

    assert make_totals(*calls).tool_calls == 3


def test_the_first_prompt_is_truncated():
    assert len(make_totals(make_prompt("x" * 1000)).first_prompt) == 200


def test_the_first_prompt_is_stored_from_its_first_telling_line():
    prompt = make_prompt("Implement the following plan:\n\n# Fix the login")

    assert make_totals(prompt).first_prompt == "# Fix the login"


def test_greetings_and_consent_are_not_the_first_prompt():
    prompts = [make_prompt(text) for text in ("hello", "yes", "fix it", "and more")]

    assert make_totals(*prompts).first_prompt == "fix it"


def test_a_prompt_replaces_a_command_that_the_agent_did_not_answer():
    command = make_prompt("/clear", metadata={"origin": "command"})

    assert make_totals(command).first_prompt == "/clear"
    assert make_totals(command, make_prompt("hi")).first_prompt == "hi"


def test_a_command_that_the_agent_answered_is_the_first_prompt():
    command = make_prompt("/review the login", metadata={"origin": "command"})
    totals = make_totals(command, make_record("done"), make_prompt("fix it"))

    assert totals.first_prompt == "/review the login"


def test_later_prompts_do_not_replace_the_first():
    assert make_totals(make_prompt("a"), make_prompt("b")).first_prompt == "a"


@pytest.mark.parametrize(
    ("last_record", "has_ended"),
    [
        (make_record(metadata={"stop_reason": "end_turn"}), 1),
        (make_record(metadata={"stop_reason": "tool_use"}), 0),
        (make_record(metadata={"stop_reason": "stop_sequence"}), 1),
        (make_record(metadata={"stop_reason": "max_tokens"}), 1),
        (make_record(type="error"), 1),
        (make_record(type="error", role="system"), 0),
        (make_event("turn_ended"), 1),
        (make_event("notice"), 0),
        (make_prompt(), 0),
        (make_record(type="tool_result", role="tool"), 0),
    ],
)
def test_the_last_record_decides_whether_the_turn_has_ended(
    last_record: Record, has_ended: int
):
    assert make_totals(make_prompt(), last_record).has_turn_ended == has_ended


def test_a_prompt_starts_a_new_turn():
    assert make_totals(make_event("turn_ended"), make_prompt()).has_turn_ended == 0


def test_a_notice_does_not_reopen_a_turn():
    assert (
        make_totals(make_event("turn_ended"), make_event("notice")).has_turn_ended == 1
    )


@pytest.mark.parametrize("origin", ["command", "shell"])
def test_a_command_reopens_a_turn_only_when_the_agent_answers(origin: str):
    command = make_prompt(metadata={"origin": origin})
    totals = make_totals(make_prompt(), make_event("turn_ended"), command)
    had_turn_ended = totals.has_turn_ended

    totals.add_record(make_record(), 4, 4)

    assert (had_turn_ended, totals.has_turn_ended) == (1, 0)


def test_a_session_without_a_turn_counts_as_ended():
    command = make_prompt(metadata={"origin": "command"})

    assert make_totals(make_event("opened"), command).has_turn_ended == 1


def test_the_end_of_a_turn_in_an_earlier_unit_does_not_end_the_current_one():
    totals = make_totals(make_prompt(), make_prompt())

    totals.add_record(make_event("turn_ended"), 3, 3, is_in_earlier_unit=True)

    assert totals.has_turn_ended == 0


def test_what_a_resume_adds_ends_the_turn_that_was_killed():
    added = make_event("notice", metadata={"is_between_turns": True})

    assert make_totals(make_prompt(), make_record(), added).has_turn_ended == 1


# Links


def test_a_link_describes_a_subagent_and_is_not_an_entry():
    link = {"tool_call_id": "c", "agent_type": "t", "description": "d"}
    totals = make_totals(
        make_event("subagent_linked", metadata=link), source="subagent:x"
    )

    assert (totals.spawn_call_id, totals.agent_type, totals.description) == (
        "c",
        "t",
        "d",
    )
    assert totals.entries == 0


def test_a_later_link_with_fewer_fields_removes_no_values():
    links = [{"tool_call_id": "c", "description": "d"}, {"agent_type": "t"}, {}]
    totals = make_totals(
        *[make_event("subagent_linked", metadata=link) for link in links]
    )

    assert (totals.spawn_call_id, totals.agent_type, totals.description) == (
        "c",
        "t",
        "d",
    )


# Thread ids


def test_a_thread_id_uses_the_start_of_a_random_uuid():
    key = make_key(RANDOM_UUID)

    assert propose_thread_id(key) == "thread-11111111"
    assert propose_thread_id(key, 12) == "thread-111111112222"


@pytest.mark.threat("P3")
@pytest.mark.parametrize(
    "session_id",
    [
        "019a2b3c-2222-7333-8444-555555555555",
        "11111111-2222-4333-c444-555555555555",
        RANDOM_UUID.upper() + "A",
        "ses_5c1",
        "",
        "../../etc",
        "pat\udce9",
        RANDOM_UUID + "\n",
    ],
)
def test_a_thread_id_uses_the_hash_of_any_other_id(session_id: str):
    digest = hashlib.sha256(f"{AGENT}\0{session_id}".encode(errors="replace"))

    proposed = propose_thread_id(make_key(session_id))

    assert proposed == f"thread-{digest.hexdigest()[:8]}"
