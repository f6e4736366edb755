"""Reading sessions, records and status from the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from leslied.model.query import Selection
from leslied.model.source import Noise, Rejection
from leslied.sessions.units import make_chat_id
from leslied.store import StoreReader
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
def harness(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as harness:
        yield harness


def list_session_ids(harness: StoreHarness) -> list[str]:
    with harness.reader() as reader:
        return [session.key.session_id for session in reader.list_sessions()]


# Sessions


def test_the_last_active_session_comes_first(harness: StoreHarness):
    for name, second in (("a", 2), ("b", 3), ("c", 1)):
        record = make_prompt(
            name, name, session=make_key(name), created_at=time_at(second)
        )
        harness.commit(record, log=name)

    assert list_session_ids(harness) == ["b", "a", "c"]


def test_a_session_without_a_time_comes_last(harness: StoreHarness):
    harness.commit(make_prompt("a", "a", session=make_key("a")), log="a")
    harness.commit(
        make_prompt("b", "b", session=make_key("b"), created_at=time_at(0)), log="b"
    )

    assert list_session_ids(harness) == ["b", "a"]


def test_a_session_without_entries_is_not_listed(harness: StoreHarness):
    harness.commit(
        make_event("subagent_linked", "1", session=make_key("s", "subagent:x"))
    )

    assert list_session_ids(harness) == []


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ("hello", "hello"),
        ("\n\n  first\nsecond", "first"),
        ("x" * 80, "x" * 80),
        ("x" * 81, "x" * 79 + "…"),
    ],
)
def test_the_first_prompt_is_the_title_of_a_session_without_a_title(
    harness: StoreHarness, prompt: str, title: str
):
    harness.commit(make_prompt(prompt, "1"))

    assert harness.session().title == title


def test_the_description_is_the_title_of_a_subagent_without_a_task(
    harness: StoreHarness,
):
    key = make_key("s", "subagent:x")
    link = {"description": "Look around"}
    harness.commit(
        make_event("subagent_linked", "1", session=key, metadata=link),
        make_record("seen", "2", session=key),
    )

    assert harness.session("s", "subagent:x").title == "Look around"


# Records


def test_records_are_numbered_without_gaps(harness: StoreHarness):
    for number in range(5):
        other = make_prompt("x", f"x{number}", session=make_key("other"))
        harness.commit(other, log="other")
        harness.commit(make_prompt(f"{number}", f"n{number}"))

    assert [placed.sequence for placed in harness.list_records()] == [1, 2, 3, 4, 5]


def test_records_of_one_unit_have_their_numbers_in_the_session(harness: StoreHarness):
    harness.commit(*[make_prompt(f"{n}", f"n{n}") for n in range(4)])

    with harness.reader() as reader:
        (placed,) = reader.list_records(make_key(), unit=3)
    assert (placed.sequence, placed.record.content) == (3, "2")


def test_a_record_is_returned_unchanged(harness: StoreHarness):
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
    harness.commit(record)

    (placed,) = harness.list_records()
    assert placed.record == record
    assert (placed.path, placed.offset, placed.length) == (str(LOGS / "a.jsonl"), 0, 99)


@pytest.mark.fault("F2")
def test_a_time_is_returned_with_its_utc_offset(harness: StoreHarness):
    zone = timezone(timedelta(hours=-9, minutes=-30))
    harness.commit(make_prompt("a", "a", created_at=time_at(0).astimezone(zone)))

    (placed,) = harness.list_records()
    assert placed.record.created_at == time_at(0)
    assert placed.record.created_at.utcoffset() == timedelta(hours=-9, minutes=-30)


@pytest.mark.fault("F1")
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
def test_a_time_at_the_limits_of_the_calendar_is_not_an_error(
    harness: StoreHarness, time: datetime
):
    harness.commit(make_prompt("a", "a", created_at=time))

    assert harness.contents() == ["a"]


def test_the_observed_time_of_a_record_is_the_time_of_its_commit(
    harness: StoreHarness, clock: FakeClock
):
    clock.advance(90)
    harness.commit(make_prompt("a", "a"))

    assert harness.list_records()[0].observed_at == clock.now()


# Children


def test_subagents_of_a_session_are_its_children(harness: StoreHarness):
    child = make_prompt("task", "1", session=make_key("s", "subagent:x"))
    harness.commit(make_prompt("a", "a"), child)
    harness.commit(
        make_prompt("b", "b", session=make_key("t", "subagent:y")), log="other"
    )

    with harness.reader() as reader:
        children = reader.list_children(harness.session())
    assert [child.subagent_id for child in children] == ["x"]


@pytest.mark.fault("G4")
def test_a_subagent_spawned_by_a_call_is_a_child(harness: StoreHarness):
    key = make_key("elsewhere", "subagent:x")
    link = make_event(
        "subagent_linked", "l", session=key, metadata={"tool_call_id": "c"}
    )
    harness.commit(link, make_prompt("task", "1", session=key), log="elsewhere")
    harness.commit(make_record("", "2", type="tool_use", tool_call_id="c"))

    with harness.reader() as reader:
        children = reader.list_children(harness.session())
    assert [child.subagent_id for child in children] == ["x"]


# Chats


def test_a_unit_is_found_by_its_chat_id(harness: StoreHarness):
    harness.commit(*[make_prompt(f"{n}", f"n{n}") for n in range(3)])
    chat_id = make_chat_id(make_key(), harness.list_records()[1].entry_id)

    with harness.reader() as reader:
        assert reader.find_units_by_prefix(chat_id) == [(make_key(), 2, chat_id)]
        assert len(reader.find_units_by_prefix("chat-")) == 3
        assert reader.find_units_by_prefix("chat-nothing") == []


@pytest.mark.fault("G1")
def test_a_forked_prompt_has_a_chat_id_in_each_session(harness: StoreHarness):
    for name in ("a", "b"):
        harness.commit(make_prompt("one", "1", session=make_key(name)), log=name)

    with harness.reader() as reader:
        chats = reader.find_units_by_prefix("chat-")
    assert len({chat for _, _, chat in chats}) == 2


# Status


def test_an_empty_store_returns_empty_results(harness: StoreHarness):
    with harness.reader() as reader:
        assert reader.list_sessions() == []
        assert reader.summarize_agents() == []
        assert reader.list_source_problems() == []
        assert reader.list_rejected(10) == []
        assert set(reader.count_rows().values()) == {0}
        assert reader.select_sessions(Selection()) == []


def test_rows_are_counted_by_kind(harness: StoreHarness):
    harness.commit(
        make_prompt("a", "a"),
        make_prompt("b", "b", session=make_key("s", "subagent:x")),
        noise=(Noise(1, 1, "x"),),
        rejected=(Rejection(1, 1, "y", b"", b""),),
    )
    harness.commit(make_prompt("changed", "a"))

    with harness.reader() as reader:
        assert reader.count_rows() == {
            "records": 2,
            "sessions": 1,
            "subagents": 1,
            "noise": 1,
            "rejected": 1,
            "hidden_sessions": 0,
        }


def test_each_agent_is_summarized_with_its_sources(harness: StoreHarness):
    for name in ("a", "b", "c"):
        harness.commit(make_prompt(name, name, session=make_key(name)), log=name)
    harness.store.mark_gone(AGENT, [str(LOGS / "a").encode()])

    with harness.reader() as reader:
        (agent,) = reader.summarize_agents()
    assert (agent["name"], agent["sources"], agent["gone"]) == (AGENT, 2, 1)
    assert agent["sessions"] == 3


def test_rejected_entries_are_listed_in_order_up_to_a_limit(harness: StoreHarness):
    harness.commit(rejected=tuple(Rejection(n, 1, "x", b"", b"") for n in (5, 1, 3)))

    with harness.reader() as reader:
        assert [entry["offset"] for entry in reader.list_rejected(2)] == [1, 3]


# Work


def trace_statements(reader: StoreReader, ask: Callable[[], object]) -> list[str]:
    """Return the statements of a question, with their values."""
    statements: list[str] = []
    reader._db.set_trace_callback(statements.append)
    ask()
    reader._db.set_trace_callback(None)
    return statements


def test_the_last_active_sessions_are_selected_by_an_index(harness: StoreHarness):
    harness.commit(make_prompt("a", "a", session=make_key("a")))
    with harness.reader() as reader:
        selection = Selection(limit=1)
        (query,) = trace_statements(reader, lambda: reader.select_sessions(selection))
        plan = str(reader._db.execute(f"EXPLAIN QUERY PLAN {query}").fetchall())

    assert "SCAN session USING COVERING INDEX session_family" in plan
    assert "SEARCH session USING INTEGER PRIMARY KEY" in plan


def test_counting_looks_for_hidden_sessions_once(harness: StoreHarness):
    harness.commit(make_prompt("a", "a", session=make_key("a")))
    with harness.reader() as reader:
        statements = trace_statements(reader, reader.count_rows)

    assert sum("NOT EXISTS" in statement for statement in statements) == 1
