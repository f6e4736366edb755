"""Resolution of ids to sessions, units, subagents and entries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from leslied.errors import UserError
from leslied.model.record import SessionKey
from leslied.queries.resolve import ResolvedId, resolve_id
from leslied.queries.units import load_units
from tests.support.clock import FakeClock
from tests.support.records import (
    StoreHarness,
    make_call,
    make_event,
    make_key,
    make_prompt,
    make_record,
    make_result,
    time_at,
)


@pytest.fixture
def harness(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    """Yield a store with three sessions and two subagents.

    One subagent belongs to `abc1-x`, the other to a session without a log, `lost`.
    """
    with StoreHarness(tmp_path / "data" / "store.db", clock) as harness:
        for number, name in enumerate(("abc1-x", "abc2-y", "abc2-yz"), 1):
            key = make_key(name)
            harness.commit(
                make_prompt("one", f"{name}1", session=key, created_at=time_at(number)),
                make_call("Bash", f"{name}c", session=key, created_at=time_at(number)),
                make_result("out", f"{name}c", session=key, created_at=time_at(number)),
                make_prompt("two", f"{name}2", session=key, created_at=time_at(number)),
                log=name,
            )
        for name in ("abc1-x", "lost"):
            key = make_key(name, f"subagent:f{name}")
            harness.commit(make_record("sub", f"{name}s", session=key), log=f"{name}s")
        yield harness


def resolve(harness: StoreHarness, id_prefix: str) -> ResolvedId:
    with harness.reader() as reader:
        return resolve_id(reader, id_prefix)


@pytest.mark.parametrize(
    ("id_prefix", "session_id"),
    [
        ("abc1", "abc1-x"),
        ("abc2-y", "abc2-y"),
        ("abc2-yz", "abc2-yz"),
        ("last", "abc2-yz"),
        ("lost", "lost"),
    ],
)
def test_a_session_is_found_by_a_prefix_of_its_id(
    harness: StoreHarness, id_prefix: str, session_id: str
):
    resolved = resolve(harness, id_prefix)

    assert resolved.session.key.session_id == session_id
    assert resolved.is_whole_session


def test_a_session_is_found_by_its_thread(harness: StoreHarness):
    thread = harness.session("abc2-y").thread_id

    assert resolve(harness, thread).session.key.session_id == "abc2-y"
    assert resolve(harness, thread[:-1]).session.key.session_id == "abc2-y"


@pytest.mark.parametrize("id_prefix", ["fabc1", "subagent:fabc1-x"])
def test_a_subagent_is_found_in_its_session(harness: StoreHarness, id_prefix: str):
    resolved = resolve(harness, id_prefix)

    assert (resolved.session.key.session_id, resolved.subagent) == ("abc1-x", "fabc1-x")
    assert not resolved.is_whole_session


def test_a_unit_is_found_by_its_chat_id(harness: StoreHarness):
    with harness.reader() as reader:
        chat_id = reader.find_chat_id(make_key("abc2-y"), 2)
        resolved = resolve_id(reader, chat_id[:-1])
        (unit,) = load_units(reader, resolved)

    assert (resolved.session.key.session_id, unit.prompt) == ("abc2-y", "two")


def test_the_id_of_a_tool_call_selects_the_call_and_its_result(harness: StoreHarness):
    call = next(
        p for p in harness.list_records("abc2-y") if p.record.type == "tool_use"
    )
    with harness.reader() as reader:
        resolved = resolve_id(reader, call.entry_id[:12])
        (unit,) = load_units(reader, resolved)

    assert resolved.session.key.session_id == "abc2-y"
    assert [p.record.type for p in unit.entries] == ["tool_use", "tool_result"]


@pytest.mark.parametrize(
    "id_prefix", ["", "nothing", "chat-z", "ffffffff", "%", "abc1_x"]
)
def test_an_unknown_id_is_an_error(harness: StoreHarness, id_prefix: str):
    with pytest.raises(UserError, match="No session"):
        resolve(harness, id_prefix)


def test_an_empty_store_has_no_last_session(tmp_path: Path, clock: FakeClock):
    with (
        StoreHarness(tmp_path / "data" / "store.db", clock) as harness,
        pytest.raises(UserError, match="There are no sessions yet"),
    ):
        resolve(harness, "last")


def test_an_ambiguous_prefix_is_an_error_that_lists_the_ids(harness: StoreHarness):
    with pytest.raises(UserError, match=r"2 ids start .*: abc2-y, abc2-yz\."):
        resolve(harness, "abc2")


def test_a_session_of_two_agents_with_the_same_id_is_found_by_its_agent(
    harness: StoreHarness,
):
    copy = SessionKey("atif", "abc1-x")
    harness.commit(make_prompt("one", "copy", session=copy), log="copy")

    with pytest.raises(UserError, match="2 agents have") as caught:
        resolve(harness, "abc1-x")
    assert "atif:abc1-x or claude-code:abc1-x" in caught.value.hint
    assert resolve(harness, "atif:abc1-x").session.key.agent == "atif"
    assert resolve(harness, "claude-code:abc1").session.key.agent == "claude-code"


def test_a_complete_subagent_id_is_preferred_to_longer_ids(harness: StoreHarness):
    for name in ("a1", "a12"):
        key = make_key("abc1-x", f"subagent:{name}")
        harness.commit(make_record("sub", name, session=key), log=name)

    assert resolve(harness, "a1").subagent == "a1"
    with pytest.raises(UserError, match="5 ids"):
        resolve(harness, "a")


def test_subagents_with_the_same_id_are_told_apart_by_their_sessions(
    harness: StoreHarness,
):
    for name in ("abc1-x", "abc2-y"):
        key = make_key(name, "subagent:a1")
        harness.commit(make_record("sub", f"a1 {name}", session=key), log=f"a1 {name}")

    with pytest.raises(UserError, match="2 sessions have a subagent") as caught:
        resolve(harness, "a1")
    assert caught.value.hint == "Show one of these sessions: abc1-x, abc2-y"


def test_a_subagent_is_found_by_the_chat_id_of_its_unit(harness: StoreHarness):
    with harness.reader() as reader:
        child = next(s for s in reader.list_sessions() if s.subagent_id == "fabc1-x")
        resolved = resolve_id(reader, reader.find_chat_id(child.key, 0))

    assert resolved.subagent == "fabc1-x"


def test_an_ambiguous_chat_id_is_an_error(harness: StoreHarness):
    with pytest.raises(UserError, match="chat-"):
        resolve(harness, "chat-")


def test_the_last_session_is_not_a_hidden_one(harness: StoreHarness):
    harness.commit(
        make_event("title", "t", session=make_key("phantom"), created_at=time_at(99)),
        log="phantom",
    )

    assert resolve(harness, "last").session.key.session_id != "phantom"
    assert resolve(harness, "phantom").session.is_hidden
