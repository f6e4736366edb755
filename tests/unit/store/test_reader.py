"""Looking into the store."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from leslied.model.query import Selection
from leslied.model.record import make_chat_id
from leslied.model.source import Noise, Rejection
from tests.support.clock import FakeClock
from tests.support.records import (
    AGENT,
    LOGS,
    StoreHarness,
    make_event,
    make_key,
    make_prompt,
    make_record,
    time_at,
)


@pytest.fixture
def shelf(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as shelf:
        yield shelf


def session_ids(shelf: StoreHarness) -> list[str]:
    with shelf.reader() as reader:
        return [session.key.session_id for session in reader.list_sessions()]


# Sessions


def test_the_last_active_session_comes_first(shelf: StoreHarness):
    for name, second in (("a", 2), ("b", 3), ("c", 1)):
        record = make_prompt(
            name, name, session=make_key(name), created_at=time_at(second)
        )
        shelf.commit(record, log=name)

    assert session_ids(shelf) == ["b", "a", "c"]


def test_a_session_without_a_time_comes_last(shelf: StoreHarness):
    shelf.commit(make_prompt("a", "a", session=make_key("a")), log="a")
    shelf.commit(
        make_prompt("b", "b", session=make_key("b"), created_at=time_at(0)), log="b"
    )

    assert session_ids(shelf) == ["b", "a"]


def test_a_session_with_nothing_in_it_is_not_shown(shelf: StoreHarness):
    shelf.commit(
        make_event("subagent_linked", "1", session=make_key("s", "subagent:x"))
    )

    assert session_ids(shelf) == []


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ("hello", "hello"),
        ("\n\n  first\nsecond", "first"),
        ("x" * 80, "x" * 80),
        ("x" * 81, "x" * 79 + "…"),
    ],
)
def test_a_session_without_a_title_is_named_by_its_first_prompt(
    shelf: StoreHarness, prompt: str, title: str
):
    shelf.commit(make_prompt(prompt, "1"))

    assert shelf.session().title == title


def test_a_subagent_is_named_by_its_task_before_its_description(shelf: StoreHarness):
    key = make_key("s", "subagent:x")
    told = {"description": "Look around"}
    shelf.commit(
        make_event("subagent_linked", "1", session=key, metadata=told),
        make_record("seen", "2", session=key),
    )

    assert shelf.session("s", "subagent:x").title == "Look around"


# Records


def test_records_are_numbered_without_a_gap(shelf: StoreHarness):
    for number in range(5):
        other = make_prompt("x", f"x{number}", session=make_key("other"))
        shelf.commit(other, log="other")
        shelf.commit(make_prompt(f"{number}", f"n{number}"))

    assert [placed.sequence for placed in shelf.list_records()] == [1, 2, 3, 4, 5]


def test_one_unit_keeps_the_numbers_it_has_in_the_session(shelf: StoreHarness):
    shelf.commit(*[make_prompt(f"{n}", f"n{n}") for n in range(4)])
    row = shelf.session().row

    with shelf.reader() as reader:
        (placed,) = reader.list_records(row, unit=3)
    assert (placed.sequence, placed.record.content) == (3, "2")


def test_a_record_comes_back_as_it_was(shelf: StoreHarness):
    record = make_record(
        "héllo 日本 😀 \0 \u2028",
        "native",
        type="tool_use",
        created_at=time_at(1.000001),
        tool_name="Bash",
        tool_call_id="c",
        tool_input='{"a":1}',
        model="m",
        message_id="msg",
        parent_id="p",
        metadata={"a": [1, None, {"b": 2.5}], "é": True},
        spilled="all",
    )
    shelf.commit(record)

    (placed,) = shelf.list_records()
    assert placed.record == record
    assert (placed.path, placed.offset, placed.length) == (str(LOGS / "a.jsonl"), 0, 99)


def test_a_time_keeps_the_offset_it_was_written_with(shelf: StoreHarness):
    """F2."""
    zone = timezone(timedelta(hours=-9, minutes=-30))
    shelf.commit(make_prompt("a", "a", created_at=time_at(0).astimezone(zone)))

    (placed,) = shelf.list_records()
    assert placed.record.created_at == time_at(0)
    assert placed.record.created_at.utcoffset() == timedelta(hours=-9, minutes=-30)


@pytest.mark.parametrize(
    "time",
    [
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
        datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-12))),
    ],
    ids=str,
)
def test_a_time_at_the_end_of_the_calendar_is_no_error(
    shelf: StoreHarness, time: datetime
):
    """F1."""
    shelf.commit(make_prompt("a", "a", created_at=time))

    assert shelf.contents() == ["a"]


def test_when_a_record_was_seen_is_told(shelf: StoreHarness, clock: FakeClock):
    clock.advance(90)
    shelf.commit(make_prompt("a", "a"))

    assert shelf.list_records()[0].observed_at == clock.now()


# Children


def test_subagents_of_a_session_are_its_children(shelf: StoreHarness):
    child = make_prompt("task", "1", session=make_key("s", "subagent:x"))
    shelf.commit(make_prompt("a", "a"), child)
    shelf.commit(
        make_prompt("b", "b", session=make_key("t", "subagent:y")), log="other"
    )

    with shelf.reader() as reader:
        children = reader.list_children(shelf.session())
    assert [each.subagent_id for each in children] == ["x"]


def test_a_subagent_that_a_call_here_spawned_is_a_child(shelf: StoreHarness):
    """G4."""
    key = make_key("elsewhere", "subagent:x")
    link = make_event(
        "subagent_linked", "l", session=key, metadata={"tool_call_id": "c"}
    )
    shelf.commit(link, make_prompt("task", "1", session=key), log="elsewhere")
    shelf.commit(make_record("", "2", type="tool_use", tool_call_id="c"))

    with shelf.reader() as reader:
        children = reader.list_children(shelf.session())
    assert [each.subagent_id for each in children] == ["x"]


# Chats


def test_a_unit_is_found_by_its_chat_id(shelf: StoreHarness):
    shelf.commit(*[make_prompt(f"{n}", f"n{n}") for n in range(3)])
    wanted = make_chat_id(AGENT, "s", shelf.list_records()[1].entry_id)

    with shelf.reader() as reader:
        assert reader.find_units_by_prefix(wanted) == [(shelf.session().row, 2, wanted)]
        assert len(reader.find_units_by_prefix("chat-")) == 3
        assert reader.find_units_by_prefix("chat-nothing") == []


def test_a_forked_prompt_has_a_chat_id_in_each_session(shelf: StoreHarness):
    """G1."""
    for name in ("a", "b"):
        shelf.commit(make_prompt("one", "1", session=make_key(name)), log=name)

    with shelf.reader() as reader:
        chats = reader.find_units_by_prefix("chat-")
    assert len({chat for _, _, chat in chats}) == 2


# Status


def test_an_empty_store_has_nothing_to_tell(shelf: StoreHarness):
    with shelf.reader() as reader:
        assert reader.list_sessions() == []
        assert reader.summarize_agents() == []
        assert reader.list_source_errors() == []
        assert reader.list_rejected(10) == []
        assert set(reader.count_rows().values()) == {0}
        assert reader.select_sessions(Selection()) == []


def test_the_store_says_how_much_it_holds(shelf: StoreHarness):
    shelf.commit(
        make_prompt("a", "a"),
        make_prompt("b", "b", session=make_key("s", "subagent:x")),
        noise=(Noise(1, 1, "x"),),
        rejected=(Rejection(1, 1, "y", b"", b""),),
    )
    shelf.commit(make_prompt("changed", "a"))

    with shelf.reader() as reader:
        assert reader.count_rows() == {
            "records": 2,
            "sessions": 1,
            "subagents": 1,
            "noise": 1,
            "rejected": 1,
        }


def test_each_agent_is_told_with_its_sources(shelf: StoreHarness):
    for name in ("a", "b", "c"):
        shelf.commit(make_prompt(name, name, session=make_key(name)), log=name)
    shelf.store.mark_gone(AGENT, [str(LOGS / "a").encode()])

    with shelf.reader() as reader:
        (agent,) = reader.summarize_agents()
    assert (agent["name"], agent["sources"], agent["gone"]) == (AGENT, 2, 1)
    assert agent["sessions"] == 3


def test_rejected_entries_are_told_in_order_up_to_a_limit(shelf: StoreHarness):
    shelf.commit(rejected=tuple(Rejection(n, 1, "x", b"", b"") for n in (5, 1, 3)))

    with shelf.reader() as reader:
        assert [each["offset"] for each in reader.list_rejected(2)] == [1, 3]
