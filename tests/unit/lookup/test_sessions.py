"""The sessions that a list shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from leslied.lookup import list_sessions
from leslied.model.query import Filter, Selection
from leslied.model.record import Usage
from leslied.store.columns import to_us
from tests.support.clock import FakeClock
from tests.support.records import (
    StoreHarness,
    make_call,
    make_event,
    make_key,
    make_prompt,
    make_record,
    time_at,
)

NAMES = {"aaaa-1": "app", "bbbb-2": "lib", "cccc-3": "app"}


@pytest.fixture
def shelf(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    """Three sessions, one with a subagent that was active last of all."""
    with StoreHarness(tmp_path / "data" / "store.db", clock) as shelf:
        for number, (name, project) in enumerate(NAMES.items(), 1):
            key = make_key(name)
            usage = Usage(output_tokens=10 * (5 - number))
            told = {"cwd": f"/w/{project}"}
            shelf.commit(
                make_event("context", f"e{number}", session=key, metadata=told),
                make_prompt(
                    f"title {9 - number}",
                    f"p{number}",
                    session=key,
                    created_at=time_at(number),
                ),
                make_record(
                    "done",
                    f"r{number}",
                    session=key,
                    created_at=time_at(number + 10),
                    model=f"model-{number}",
                    usage=usage,
                    message_id=f"m{number}",
                ),
                *[
                    make_call("Bash", f"c{name}{n}", session=key)
                    for n in range(number % 3)
                ],
                log=name,
            )
        below = make_key("aaaa-1", "subagent:a17")
        usage = Usage(output_tokens=100)
        shelf.commit(
            make_record(
                "sub",
                "s1",
                session=below,
                created_at=time_at(90),
                usage=usage,
                message_id="s",
            ),
            log="below",
        )
        yield shelf


def list_ids(shelf: StoreHarness, *filters: Filter, **wanted) -> list[str]:
    with shelf.reader() as reader:
        found = list_sessions(reader, Selection(filters=filters, **wanted))
    return [session.key.session_id[:4] for session in found]


def test_a_session_is_as_recent_as_its_subagents(shelf: StoreHarness):
    assert list_ids(shelf) == ["aaaa", "cccc", "bbbb"]
    assert list_ids(shelf, limit=2) == ["aaaa", "cccc"]


@pytest.mark.parametrize(
    ("order", "names"),
    [
        ("recent", ["aaaa", "cccc", "bbbb"]),
        ("started", ["cccc", "bbbb", "aaaa"]),
        ("title", ["cccc", "bbbb", "aaaa"]),
        ("project", ["aaaa", "cccc", "bbbb"]),
        ("tools", ["bbbb", "aaaa", "cccc"]),
        ("tokens", ["aaaa", "bbbb", "cccc"]),
    ],
)
def test_sessions_stand_in_the_order_asked_for(
    shelf: StoreHarness, order: str, names: list
):
    assert list_ids(shelf, order=order) == names
    assert list_ids(shelf, order=order, limit=2) == names[:2]
    assert list_ids(shelf, order=order, is_reversed=True) == names[::-1]
    assert list_ids(shelf, order=order, is_reversed=True, limit=2) == names[::-1][:2]


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        ([Filter("project", "app")], ["aaaa", "cccc"]),
        ([Filter("project", "/w")], ["aaaa", "cccc", "bbbb"]),
        ([Filter("project", "app", is_negated=True)], ["bbbb"]),
        ([Filter("model", "EL-2")], ["bbbb"]),
        ([Filter("model", "l%2")], []),
        ([Filter("agent", "claude-code"), Filter("project", "lib")], ["bbbb"]),
        ([Filter("agent", "codex")], []),
        ([Filter("after", to_us(time_at(50)))], ["aaaa"]),
        ([Filter("before", to_us(time_at(2)))], ["aaaa"]),
        ([Filter("status", "active")], ["aaaa"]),
        ([Filter("status", "stopped")], ["cccc", "bbbb"]),
        ([Filter("thread", "thread-nothing")], []),
        ([Filter("session", "bb")], ["bbbb"]),
    ],
)
def test_filters_narrow_the_list(
    shelf: StoreHarness, filters: list[Filter], names: list
):
    assert list_ids(shelf, *filters, quiet_us=to_us(time_at(50))) == names


def test_subagents_stand_by_their_own_time(shelf: StoreHarness):
    with shelf.reader() as reader:
        found = list_sessions(reader, Selection(limit=2), with_subagents=True)

    assert [session.key.source for session in found] == ["main", "subagent:a17"]


@pytest.mark.parametrize("limit", [None, 1, 2])
def test_the_sums_of_a_part_are_those_of_the_whole(
    shelf: StoreHarness, limit: int | None
):
    """A fork's shared message counts once, for its owner, however few are listed."""
    fork = make_key("dddd-4")
    for key, log in ((make_key("aaaa-1"), "aaaa-1"), (fork, "fork")):
        shelf.commit(
            make_record(
                "shared",
                "shared",
                session=key,
                created_at=time_at(95),
                usage=Usage(output_tokens=1000),
                message_id="both",
            ),
            log=log,
        )
    with shelf.reader() as reader:
        every = {s.key: s.usage for s in list_sessions(reader)}
        found = list_sessions(reader, Selection(limit=limit, order="started"))
        costs = list_sessions(reader, Selection(limit=limit), with_costs=True)

    assert sum(usage.output_tokens for usage in every.values()) == 1190
    assert all(session.usage == every[session.key] for session in found)
    assert all(session.usage == every[session.key] for session in costs)


def test_an_old_subagent_of_a_new_session_is_the_first_from_the_end(
    shelf: StoreHarness,
):
    old = make_key("cccc-3", "subagent:old")
    shelf.commit(
        make_record("sub", "o1", session=old, created_at=time_at(0)), log="old"
    )
    wanted = Selection(limit=1, is_reversed=True)

    with shelf.reader() as reader:
        (found,) = list_sessions(reader, wanted, with_subagents=True)

    assert found.key == old


def test_a_session_whose_own_log_is_gone_is_told_as_it_is_found(shelf: StoreHarness):
    for number, folder in enumerate(("one", "two")):
        key = make_key("lost", f"subagent:s{number}")
        shelf.commit(
            make_event(
                "context", f"c{number}", session=key, metadata={"cwd": f"/w/{folder}"}
            ),
            make_record(
                "x", f"x{number}", session=key, created_at=time_at(99 - number)
            ),
            log=f"lost{number}",
        )

    for folder in ("one", "two"):
        with shelf.reader() as reader:
            wanted = Selection(filters=(Filter("project", folder),))
            found = list_sessions(reader, wanted)
        assert all(session.cwd == f"/w/{folder}" for session in found)
