"""Summing up a session record by record."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from leslied.model.record import MAIN, Record
from leslied.store.session_totals import SessionRow, propose_thread_id
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

V4 = "11111111-2222-4333-8444-555555555555"


@pytest.fixture
def shelf(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as shelf:
        yield shelf


def make_tally(*records: Record, source: str = MAIN) -> SessionRow:
    tally = SessionRow(1, AGENT, "s", source)
    for number, record in enumerate(records, 1):
        tally.add_record(record, number, number)
    return tally


# Units


def test_a_prompt_starts_a_unit_where_it_stands():
    tally = make_tally(make_record())

    assert tally.add_record(make_prompt(), 2, 2) == 2
    assert tally.units == 1


def test_an_answered_command_starts_a_unit_where_the_command_stands():
    tally = make_tally(
        make_prompt(metadata={"origin": "command"}), make_event("notice")
    )

    assert tally.add_record(make_record(), 3, 3) == 1
    assert (tally.units, tally.waiting_command) == (1, 0)


def test_the_end_of_a_turn_ends_the_waiting_of_a_command():
    command = make_prompt(metadata={"origin": "shell"})
    tally = make_tally(make_prompt(), command, make_event("turn_ended"))

    assert tally.add_record(make_record(), 4, 4) == 0
    assert tally.units == 1


def test_a_prompt_ends_the_waiting_of_a_command():
    tally = make_tally(make_prompt(metadata={"origin": "command"}), make_prompt())

    assert tally.add_record(make_record(), 3, 3) == 0
    assert tally.units == 1


def test_of_two_commands_the_last_is_answered():
    command = make_prompt(metadata={"origin": "command"})
    tally = make_tally(command, command)

    assert tally.add_record(make_record(), 3, 3) == 2


@pytest.mark.parametrize("origin", ["queued", "task", None])
def test_words_that_are_no_prompt_start_no_unit(origin: str | None):
    assert make_tally(make_prompt(metadata={"origin": origin})).units == 0


def test_a_subagent_has_no_units():
    tally = make_tally(make_prompt("the task"), make_record(), source="subagent:x")

    assert (tally.units, tally.first_prompt) == (0, "the task")


def test_a_subagents_first_words_are_its_task():
    task = make_prompt("the task", metadata={"origin": "task"})

    assert (
        make_tally(task, make_prompt("later"), source="subagent:x").first_prompt
        == "the task"
    )


# What lists show


def test_a_session_lasts_from_its_earliest_time_to_its_latest():
    """G6."""
    tally = make_tally()
    for time in (50, 20, 90, 60):
        tally.add_record(make_record(), time, 1)
    tally.add_record(make_record(), None, 1)

    assert (tally.started_us, tally.ended_us) == (20, 90)


def test_the_last_model_is_the_sessions():
    records = [make_record(model=name) for name in ("a", "b", "")]

    assert make_tally(*records, make_record(model="c", type="error")).model == "b"


def test_tokens_tell_no_model_of_the_session():
    helper = make_record("", model="small", type="token_usage")

    assert make_tally(make_record(model="large"), helper).model == "large"


def test_the_first_folder_is_the_sessions():
    events = [
        make_event("opened", metadata={"version": "1"}),
        make_event("context", metadata={"cwd": "/first"}),
        make_event("context", metadata={"cwd": "/second"}),
    ]

    assert make_tally(*events).cwd == "/first"


def test_calls_are_counted():
    calls = [make_record(type="tool_use"), make_record(type="tool_result")] * 3

    assert make_tally(*calls).tool_calls == 3


def test_the_first_prompt_is_cut():
    assert len(make_tally(make_prompt("x" * 1000)).first_prompt) == 200


def test_the_first_of_many_prompts_is_kept():
    assert make_tally(make_prompt("a"), make_prompt("b")).first_prompt == "a"


@pytest.mark.parametrize(
    ("last", "has_ended"),
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
def test_what_ends_a_turn(last: Record, has_ended: int):
    assert make_tally(make_prompt(), last).has_turn_ended == has_ended


def test_a_turn_that_ended_goes_on_with_the_next_words():
    assert make_tally(make_event("turn_ended"), make_prompt()).has_turn_ended == 0


def test_a_notice_does_not_reopen_a_turn():
    assert (
        make_tally(make_event("turn_ended"), make_event("notice")).has_turn_ended == 1
    )


# Links


def test_a_link_tells_of_a_subagent_and_is_no_entry():
    told = {"tool_call_id": "c", "agent_type": "t", "description": "d"}
    tally = make_tally(
        make_event("subagent_linked", metadata=told), source="subagent:x"
    )

    assert (tally.spawn_call_id, tally.agent_type, tally.description) == ("c", "t", "d")
    assert tally.entries == 0


def test_a_link_that_knows_less_takes_nothing_away():
    links = [{"tool_call_id": "c", "description": "d"}, {"agent_type": "t"}, {}]
    tally = make_tally(
        *[make_event("subagent_linked", metadata=told) for told in links]
    )

    assert (tally.spawn_call_id, tally.agent_type, tally.description) == ("c", "t", "d")


# Thread ids


def test_a_random_id_lends_its_first_characters():
    key = make_key(V4)

    assert propose_thread_id(key) == "thread-11111111"
    assert propose_thread_id(key, 12) == "thread-111111112222"


@pytest.mark.parametrize(
    "session_id",
    [
        "019a2b3c-2222-7333-8444-555555555555",
        "11111111-2222-4333-c444-555555555555",
        V4.upper() + "A",
        "ses_5c1",
        "",
        "../../etc",
        "pat\udce9",
        V4 + "\n",
    ],
)
def test_any_other_id_is_hashed(session_id: str):
    """P3."""
    digest = hashlib.sha256(f"{AGENT}\0{session_id}".encode(errors="replace"))

    proposed = propose_thread_id(make_key(session_id))

    assert proposed == f"thread-{digest.hexdigest()[:8]}"


def test_two_sessions_that_start_alike_have_different_threads(shelf: StoreHarness):
    """G8."""
    names = [V4, V4[:-1] + "6", "11111111-3333-4333-8444-555555555555"]
    for name in names:
        shelf.commit(make_prompt(name, name, session=make_key(name)), log=name)

    threads = [shelf.session(name).thread_id for name in names]

    assert threads == [
        "thread-11111111",
        "thread-111111112222",
        "thread-111111113333",
    ]


def test_a_third_session_that_starts_alike_has_its_whole_id(shelf: StoreHarness):
    """G8."""
    names = [V4, V4[:-1] + "6", V4[:-1] + "7"]
    for name in names:
        shelf.commit(make_prompt(name, name, session=make_key(name)), log=name)

    assert shelf.session(names[2]).thread_id == "thread-" + names[2].replace("-", "")


def test_a_thread_id_once_given_stays(shelf: StoreHarness):
    other = V4[:-1] + "6"
    shelf.commit(make_prompt("b", "b", session=make_key(other)), log="b")
    shelf.commit(make_prompt("a", "a", session=make_key(V4)), log="a")
    shelf.commit(make_prompt("c", "c", session=make_key(other)), log="b")

    assert shelf.session(other).thread_id == "thread-11111111"
    assert shelf.session(V4).thread_id == "thread-111111112222"


def test_a_subagent_has_no_thread(shelf: StoreHarness):
    shelf.commit(make_prompt("a", "a", session=make_key(V4, "subagent:x")))

    assert shelf.session(V4, "subagent:x").thread_id == ""


def test_times_come_from_the_entries(shelf: StoreHarness):
    """F1."""
    shelf.commit(make_prompt("a", "a", created_at=time_at(0)), make_record("b", "b"))

    assert shelf.session().started_at == shelf.session().ended_at == time_at(0)
