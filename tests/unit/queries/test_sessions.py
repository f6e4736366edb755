"""Lists of sessions: order, filters and totals."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from leslied.model.query import Filter, Selection
from leslied.model.record import Usage
from leslied.model.times import to_us
from leslied.queries.resolve import ResolvedId
from leslied.queries.sessions import (
    find_sessions,
    list_sessions,
    load_session_summary,
)
from leslied.queries.units import load_units
from tests.support.clock import FakeClock
from tests.support.records import (
    AGENT,
    StoreHarness,
    make_call,
    make_event,
    make_key,
    make_prompt,
    make_record,
    time_at,
)

PROJECT_BY_SESSION = {"aaaa-1": "app", "bbbb-2": "lib", "cccc-3": "app"}


@pytest.fixture
def harness(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    """Yield a store with three sessions; the subagent of one was active last."""
    with StoreHarness(tmp_path / "data" / "store.db", clock) as harness:
        for number, (name, project) in enumerate(PROJECT_BY_SESSION.items(), 1):
            key = make_key(name)
            usage = Usage(output_tokens=10 * (5 - number))
            metadata = {"cwd": f"/w/{project}"}
            harness.commit(
                make_event("context", f"e{number}", session=key, metadata=metadata),
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
        subagent = make_key("aaaa-1", "subagent:a17")
        usage = Usage(output_tokens=100)
        harness.commit(
            make_record(
                "sub",
                "s1",
                session=subagent,
                created_at=time_at(90),
                usage=usage,
                message_id="s",
            ),
            log="subagent",
        )
        yield harness


def list_ids(harness: StoreHarness, *filters: Filter, **options) -> list[str]:
    """Return the first four characters of the ids of the selected sessions."""
    with harness.reader() as reader:
        sessions = list_sessions(reader, Selection(filters=filters, **options))
    return [session.key.session_id[:4] for session in sessions]


def test_a_session_is_as_recent_as_its_subagents(harness: StoreHarness):
    assert list_ids(harness) == ["aaaa", "cccc", "bbbb"]
    assert list_ids(harness, limit=2) == ["aaaa", "cccc"]


@pytest.mark.parametrize(
    ("order", "ids"),
    [
        ("recent", ["aaaa", "cccc", "bbbb"]),
        ("started", ["cccc", "bbbb", "aaaa"]),
        ("title", ["cccc", "bbbb", "aaaa"]),
        ("project", ["aaaa", "cccc", "bbbb"]),
        ("tools", ["bbbb", "aaaa", "cccc"]),
        ("tokens", ["aaaa", "bbbb", "cccc"]),
    ],
)
def test_sessions_are_sorted(harness: StoreHarness, order: str, ids: list):
    assert list_ids(harness, order=order) == ids
    assert list_ids(harness, order=order, limit=2) == ids[:2]
    assert list_ids(harness, order=order, is_reversed=True) == ids[::-1]
    assert list_ids(harness, order=order, is_reversed=True, limit=2) == ids[::-1][:2]


def test_rewound_units_do_not_count_in_the_order_by_units(harness: StoreHarness):
    prompts = [
        make_prompt("a", session=make_key("dddd"), native_id=f"p{number}")
        for number in range(3)
    ]
    rewound = make_event("rewound", session=make_key("dddd"), metadata={"turns": 2})
    others = [make_prompt("b", session=make_key("eeee")) for _ in range(2)]
    harness.commit(*prompts, rewound, *others, log="units")

    assert list_ids(harness, order="units")[:2] == ["eeee", "dddd"]


@pytest.mark.parametrize(
    ("filters", "ids"),
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
def test_sessions_are_filtered(harness: StoreHarness, filters: list[Filter], ids: list):
    assert list_ids(harness, *filters, stop_cutoff_us=to_us(time_at(50))) == ids


def test_subagents_are_sorted_by_their_own_time(harness: StoreHarness):
    with harness.reader() as reader:
        sessions = list_sessions(reader, Selection(limit=2), with_subagents=True)

    assert [session.key.source for session in sessions] == ["main", "subagent:a17"]


@pytest.mark.parametrize("limit", [None, 1, 2])
def test_totals_do_not_depend_on_the_selection(
    harness: StoreHarness, limit: int | None
):
    """A message that forks share counts once, for its owner, in any selection."""
    fork = make_key("dddd-4")
    for key, log in ((make_key("aaaa-1"), "aaaa-1"), (fork, "fork")):
        harness.commit(
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
    with harness.reader() as reader:
        usages = {s.key: s.usage for s in list_sessions(reader)}
        sessions = list_sessions(reader, Selection(limit=limit, order="started"))
        priced_sessions = list_sessions(reader, Selection(limit=limit), with_costs=True)

    assert sum(usage.output_tokens for usage in usages.values()) == 1190
    assert all(session.usage == usages[session.key] for session in sessions)
    assert all(session.usage == usages[session.key] for session in priced_sessions)


def test_an_old_subagent_of_a_recent_session_is_first_in_reverse_order(
    harness: StoreHarness,
):
    old_subagent = make_key("cccc-3", "subagent:old_subagent")
    harness.commit(
        make_record("sub", "o1", session=old_subagent, created_at=time_at(0)),
        log="old_subagent",
    )
    selection = Selection(limit=1, is_reversed=True)

    with harness.reader() as reader:
        (session,) = list_sessions(reader, selection, with_subagents=True)

    assert session.key == old_subagent


def test_a_session_without_a_main_log_has_the_folder_of_its_first_subagent(
    harness: StoreHarness,
):
    for number, folder in enumerate(("one", "two")):
        key = make_key("lost", f"subagent:s{number}")
        harness.commit(
            make_event(
                "context", f"c{number}", session=key, metadata={"cwd": f"/w/{folder}"}
            ),
            make_record(
                "x", f"x{number}", session=key, created_at=time_at(99 - number)
            ),
            log=f"lost{number}",
        )

    folders = {}
    for name in ("one", "two"):
        with harness.reader() as reader:
            selection = Selection(filters=(Filter("project", name),))
            sessions = list_sessions(reader, selection)
        folders[name] = [session.cwd for session in sessions]
    assert folders == {"one": ["/w/one"], "two": []}


def test_a_session_without_a_main_log_has_the_entries_of_its_first_subagent(
    harness: StoreHarness,
):
    for number in range(2):
        key = make_key("lost", f"subagent:s{number}")
        record = make_record(f"x{number}", f"x{number}", session=key)
        harness.commit(record, log=f"lost{number}")

    with harness.reader() as reader:
        session = load_session_summary(reader, *make_key("lost")[:2])
        units = load_units(reader, ResolvedId(session))
    assert (session.key, session.stream.subagent_id) == (make_key("lost"), "s0")
    assert [e.record.content for unit in units for e in unit.entries] == ["x0"]
    assert [child.summary.subagent_id for child in units[0].subagents] == ["s1"]


def test_the_subagent_that_stands_in_for_a_session_is_found_by_its_own_id(
    harness: StoreHarness,
):
    key = make_key("lost", "subagent:s0")
    harness.commit(make_record("x0", "x0", session=key), log="lost0")

    with harness.reader() as reader:
        session = load_session_summary(reader, *make_key("lost")[:2])
        (unit,) = load_units(reader, ResolvedId(session, subagent="s0"))

    assert unit.summary.subagent_id == "s0"


def test_sessions_are_found_by_agent_and_id(harness: StoreHarness):
    names = [(AGENT, "aaaa-1"), (AGENT, "bbbb-2"), (AGENT, "missing")]

    with harness.reader() as reader:
        found = find_sessions(reader, names)
        listed = {each.key[:2]: each for each in list_sessions(reader)}

    assert found == {name: listed[name] for name in names[:2]}
