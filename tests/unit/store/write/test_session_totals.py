"""Totals of a session are updated record by record."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from leslied.model.record import MAIN, Record
from leslied.store.write.session_totals import SessionRow, propose_thread_id
from tests.support.clock import FakeClock
from tests.support.records import (
    AGENT,
    StoreHarness,
    make_event,
    make_key,
    make_prompt,
    make_record,
    time_at,
)

RANDOM_UUID = "11111111-2222-4333-8444-555555555555"


@pytest.fixture
def harness(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as harness:
        yield harness


def make_row(*records: Record, source: str = MAIN) -> SessionRow:
    """Return a row with these records; each has its number as time and placement."""
    row = SessionRow(1, AGENT, "s", source)
    for number, record in enumerate(records, 1):
        row.add_record(record, number, number)
    return row


# Units


def test_a_prompt_starts_a_unit_at_its_placement():
    row = make_row(make_record())

    assert row.add_record(make_prompt(), 2, 2) == 2
    assert row.units == 1


def test_an_answered_command_starts_a_unit_at_the_command():
    row = make_row(make_prompt(metadata={"origin": "command"}), make_event("notice"))

    assert row.add_record(make_record(), 3, 3) == 1
    assert (row.units, row.waiting_command) == (1, 0)


def test_the_end_of_a_turn_cancels_a_waiting_command():
    command = make_prompt(metadata={"origin": "shell"})
    row = make_row(make_prompt(), command, make_event("turn_ended"))

    assert row.add_record(make_record(), 4, 4) == 0
    assert row.units == 1


def test_a_prompt_cancels_a_waiting_command():
    row = make_row(make_prompt(metadata={"origin": "command"}), make_prompt())

    assert row.add_record(make_record(), 3, 3) == 0
    assert row.units == 1


def test_output_after_two_commands_answers_the_last():
    command = make_prompt(metadata={"origin": "command"})
    row = make_row(command, command)

    assert row.add_record(make_record(), 3, 3) == 2


@pytest.mark.parametrize("origin", ["queued", "task", None])
def test_a_user_message_that_is_not_a_prompt_starts_no_unit(origin: str | None):
    assert make_row(make_prompt(metadata={"origin": origin})).units == 0


def test_a_subagent_has_no_units():
    row = make_row(make_prompt("the task"), make_record(), source="subagent:x")

    assert (row.units, row.first_prompt) == (0, "the task")


def test_the_first_message_of_a_subagent_is_its_task():
    task = make_prompt("the task", metadata={"origin": "task"})

    row = make_row(task, make_prompt("later"), source="subagent:x")

    assert row.first_prompt == "the task"


# Values shown in lists


@pytest.mark.fault("G6")
def test_a_session_spans_its_earliest_and_latest_times():
    row = make_row()
    for time in (50, 20, 90, 60):
        row.add_record(make_record(), time, 1)
    row.add_record(make_record(), None, 1)

    assert (row.started_us, row.ended_us) == (20, 90)


def test_the_last_model_is_the_model_of_the_session():
    records = [make_record(model=name) for name in ("a", "b", "")]

    assert make_row(*records, make_record(model="c", type="error")).model == "b"


def test_a_usage_record_does_not_set_the_model():
    usage_record = make_record("", model="small", type="token_usage")

    assert make_row(make_record(model="large"), usage_record).model == "large"


def test_the_first_working_directory_is_that_of_the_session():
    events = [
        make_event("opened", metadata={"version": "1"}),
        make_event("context", metadata={"cwd": "/first"}),
        make_event("context", metadata={"cwd": "/second"}),
    ]

    assert make_row(*events).cwd == "/first"


def test_tool_calls_are_counted():
    calls = [make_record(type="tool_use"), make_record(type="tool_result")] * 3

    assert make_row(*calls).tool_calls == 3


def test_the_first_prompt_is_truncated():
    assert len(make_row(make_prompt("x" * 1000)).first_prompt) == 200


def test_later_prompts_do_not_replace_the_first():
    assert make_row(make_prompt("a"), make_prompt("b")).first_prompt == "a"


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
    assert make_row(make_prompt(), last_record).has_turn_ended == has_ended


def test_a_prompt_starts_a_new_turn():
    assert make_row(make_event("turn_ended"), make_prompt()).has_turn_ended == 0


def test_a_notice_does_not_reopen_a_turn():
    assert make_row(make_event("turn_ended"), make_event("notice")).has_turn_ended == 1


# Links


def test_a_link_describes_a_subagent_and_is_not_an_entry():
    link = {"tool_call_id": "c", "agent_type": "t", "description": "d"}
    row = make_row(make_event("subagent_linked", metadata=link), source="subagent:x")

    assert (row.spawn_call_id, row.agent_type, row.description) == ("c", "t", "d")
    assert row.entries == 0


def test_a_later_link_with_fewer_fields_removes_no_values():
    links = [{"tool_call_id": "c", "description": "d"}, {"agent_type": "t"}, {}]
    row = make_row(*[make_event("subagent_linked", metadata=link) for link in links])

    assert (row.spawn_call_id, row.agent_type, row.description) == ("c", "t", "d")


# Thread ids


def test_a_thread_id_uses_the_start_of_a_random_uuid():
    key = make_key(RANDOM_UUID)

    assert propose_thread_id(key) == "thread-11111111"
    assert propose_thread_id(key, 12) == "thread-111111112222"


@pytest.mark.fault("P3")
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


@pytest.mark.fault("G8")
def test_sessions_with_a_common_prefix_have_different_threads(harness: StoreHarness):
    names = [
        RANDOM_UUID,
        RANDOM_UUID[:-1] + "6",
        "11111111-3333-4333-8444-555555555555",
    ]
    for name in names:
        harness.commit(make_prompt(name, name, session=make_key(name)), log=name)

    threads = [harness.session(name).thread_id for name in names]

    assert threads == [
        "thread-11111111",
        "thread-111111112222",
        "thread-111111113333",
    ]


@pytest.mark.fault("G8")
def test_a_third_session_with_a_common_prefix_uses_its_whole_id(harness: StoreHarness):
    names = [RANDOM_UUID, RANDOM_UUID[:-1] + "6", RANDOM_UUID[:-1] + "7"]
    for name in names:
        harness.commit(make_prompt(name, name, session=make_key(name)), log=name)

    assert harness.session(names[2]).thread_id == "thread-" + names[2].replace("-", "")


def test_a_thread_id_does_not_change(harness: StoreHarness):
    other = RANDOM_UUID[:-1] + "6"
    harness.commit(make_prompt("b", "b", session=make_key(other)), log="b")
    harness.commit(make_prompt("a", "a", session=make_key(RANDOM_UUID)), log="a")
    harness.commit(make_prompt("c", "c", session=make_key(other)), log="b")

    assert harness.session(other).thread_id == "thread-11111111"
    assert harness.session(RANDOM_UUID).thread_id == "thread-111111112222"


def test_a_subagent_has_no_thread(harness: StoreHarness):
    harness.commit(make_prompt("a", "a", session=make_key(RANDOM_UUID, "subagent:x")))

    assert harness.session(RANDOM_UUID, "subagent:x").thread_id == ""


@pytest.mark.fault("F1")
def test_the_times_of_a_session_come_from_entries_with_a_time(harness: StoreHarness):
    harness.commit(make_prompt("a", "a", created_at=time_at(0)), make_record("b", "b"))

    assert harness.session().started_at == harness.session().ended_at == time_at(0)
