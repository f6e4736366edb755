"""What an id on the command line stands for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from leslied.errors import UserError
from leslied.lookup import ResolvedId, load_units, resolve_id
from tests.support.clock import FakeClock
from tests.support.records import (
    StoreHarness,
    make_call,
    make_key,
    make_prompt,
    make_record,
    make_result,
    time_at,
)


@pytest.fixture
def shelf(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as shelf:
        for number, name in enumerate(("abc1-x", "abc2-y", "abc2-yz"), 1):
            key = make_key(name)
            shelf.commit(
                make_prompt("one", f"{name}1", session=key, created_at=time_at(number)),
                make_call("Bash", f"{name}c", session=key, created_at=time_at(number)),
                make_result("out", f"{name}c", session=key, created_at=time_at(number)),
                make_prompt("two", f"{name}2", session=key, created_at=time_at(number)),
                log=name,
            )
        for name in ("abc1-x", "lost"):
            key = make_key(name, f"subagent:f{name}")
            shelf.commit(make_record("sub", f"{name}s", session=key), log=f"{name}s")
        yield shelf


def find(shelf: StoreHarness, wanted: str) -> ResolvedId:
    with shelf.reader() as reader:
        return resolve_id(reader, wanted)


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        ("abc1", "abc1-x"),
        ("abc2-y", "abc2-y"),
        ("abc2-yz", "abc2-yz"),
        ("last", "abc2-yz"),
        ("lost", "lost"),
    ],
)
def test_a_session_is_found_by_a_beginning_of_its_id(
    shelf: StoreHarness, wanted: str, name: str
):
    found = find(shelf, wanted)

    assert (found.session.key.session_id, found.is_whole_session) == (name, True)


def test_a_session_is_found_by_its_thread(shelf: StoreHarness):
    thread = shelf.session("abc2-y").thread_id

    assert find(shelf, thread).session.key.session_id == "abc2-y"
    assert find(shelf, thread[:-1]).session.key.session_id == "abc2-y"


@pytest.mark.parametrize("wanted", ["fabc1", "subagent:fabc1-x"])
def test_a_subagent_is_found_in_its_session(shelf: StoreHarness, wanted: str):
    found = find(shelf, wanted)

    assert (found.session.key.session_id, found.subagent) == ("abc1-x", "fabc1-x")
    assert not found.is_whole_session


def test_a_unit_is_found_by_its_chat_id(shelf: StoreHarness):
    with shelf.reader() as reader:
        chat_id = reader.find_chat_id(shelf.session("abc2-y"), 2)
        found = resolve_id(reader, chat_id[:-1])
        (unit,) = load_units(reader, found)

    assert (found.session.key.session_id, unit.prompt) == ("abc2-y", "two")


def test_an_entry_is_found_by_its_id_with_the_answer_to_it(shelf: StoreHarness):
    call = next(p for p in shelf.list_records("abc2-y") if p.record.type == "tool_use")
    with shelf.reader() as reader:
        found = resolve_id(reader, call.entry_id[:12])
        (unit,) = load_units(reader, found)

    assert found.session.key.session_id == "abc2-y"
    assert [p.record.type for p in unit.entries] == ["tool_use", "tool_result"]


@pytest.mark.parametrize("wanted", ["", "nothing", "chat-z", "ffffffff", "%", "abc1_x"])
def test_what_names_nothing_is_told(shelf: StoreHarness, wanted: str):
    with pytest.raises(UserError, match="No session"):
        find(shelf, wanted)


def test_what_names_several_is_told_with_them(shelf: StoreHarness):
    with pytest.raises(UserError, match=r"2 ids: abc2-y, abc2-yz\."):
        find(shelf, "abc2")


def test_a_whole_subagent_id_is_that_one_though_others_go_on(shelf: StoreHarness):
    for name in ("a1", "a12"):
        key = make_key("abc1-x", f"subagent:{name}")
        shelf.commit(make_record("sub", name, session=key), log=name)

    assert find(shelf, "a1").subagent == "a1"
    with pytest.raises(UserError, match="5 ids"):
        find(shelf, "a")


def test_what_a_subagent_did_is_found_by_its_chat_id(shelf: StoreHarness):
    with shelf.reader() as reader:
        child = next(s for s in reader.list_sessions() if s.subagent_id == "fabc1-x")
        found = resolve_id(reader, reader.find_chat_id(child, 0))

    assert found.subagent == "fabc1-x"


def test_chat_ids_that_begin_alike_are_told(shelf: StoreHarness):
    with pytest.raises(UserError, match="chat-"):
        find(shelf, "chat-")
