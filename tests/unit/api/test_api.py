"""What scripts get of the store."""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from leslied.api import (
    Entries,
    LesliedError,
    Session,
    Store,
    StoreUnusable,
    Usage,
    UserError,
    open_store,
)
from leslied.lookup import list_sessions
from tests.support.clock import FakeClock
from tests.support.records import (
    StoreHarness,
    make_event,
    make_key,
    make_prompt,
    make_record,
    time_at,
)

SECRET = "ghp_" + "A1b2" * 9


@pytest.fixture
def shelf(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as shelf:
        yield shelf


@pytest.fixture
def store(shelf: StoreHarness) -> Iterator[Store]:
    with open_store(shelf.path) as store:
        yield store


def commit_session(
    shelf: StoreHarness, name: str = "s", second: float = 0, **more: Any
) -> None:
    """A session with a prompt, a call, its result and an answer."""
    own = {"session": make_key(name), "scope": name, **more}
    call = {"tool_call_id": "c", "model": "m", **own}
    shelf.commit(
        make_prompt(f"prompt {name}", "1", created_at=time_at(second), **own),
        make_record("", "2", type="tool_use", tool_name="Bash", message_id="msg",
                    tool_input='{"command": "ls"}', usage=Usage(1, 2),
                    created_at=time_at(second + 1), **call),
        make_record("files", "3", type="tool_result", role="tool",
                    created_at=time_at(second + 2), **call),
        make_record(f"answer {name}", "4", created_at=time_at(second + 3), **own),
        log=name,
    )  # fmt: skip


def commit_subagent(shelf: StoreHarness) -> None:
    own = {"session": make_key("s", "subagent:x"), "scope": "x"}
    shelf.commit(make_record("done", "1", **own), log="x")


def ids(sessions: Iterator[Session]) -> list[str]:
    return [session.id for session in sessions]


# Opening


def test_a_store_is_found_by_its_file_its_folder_or_the_environment(
    shelf: StoreHarness, monkeypatch: pytest.MonkeyPatch
):
    commit_session(shelf)
    monkeypatch.setenv("LESLIED_DATA_DIR", str(shelf.path.parent))

    for path in (shelf.path, str(shelf.path), shelf.path.parent, None):
        with open_store(path) as store:
            assert ids(store.sessions()) == ["s"]


def test_where_nothing_was_read_yet_a_sentence_says_so(tmp_path: Path):
    with pytest.raises(LesliedError, match="Nothing has been read yet"):
        open_store(tmp_path / "store.db")

    assert not list(tmp_path.glob("*.db*"))


def test_a_file_that_is_no_store_is_unusable(tmp_path: Path):
    (tmp_path / "store.db").write_bytes(b"no database" * 1000)

    with pytest.raises(StoreUnusable):
        open_store(tmp_path)


def test_a_store_that_was_closed_says_so(shelf: StoreHarness):
    store = open_store(shelf.path)
    store.close()

    with pytest.raises(LesliedError, match="closed"):
        list(store.sessions())


# Sessions


def test_sessions_are_those_of_the_list(shelf: StoreHarness, store: Store):
    for number, name in enumerate("bca"):
        commit_session(shelf, name, number * 100)

    with shelf.reader() as reader:
        listed = [s.key.session_id for s in list_sessions(reader)]
    assert ids(store.sessions()) == listed == ["a", "c", "b"]


def test_a_session_tells_what_the_list_tells(shelf: StoreHarness, store: Store):
    commit_session(shelf)

    (session,) = store.sessions()

    assert session.title == "prompt s"
    assert (session.started_at, session.ended_at) == (time_at(0), time_at(3))
    assert (session.unit_count, session.tool_calls) == (1, 1)
    assert session.usage == Usage(1, 2)
    assert (session.parent, session.description) == (None, None)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"agent": "claude-code"}, ["b", "a"]),
        ({"agent": "codex"}, []),
        ({"project": "/home/dev/app"}, ["a"]),
        ({"project": "/home/dev/"}, ["b", "a"]),
        ({"project": "/home/de"}, []),
        ({"project": "web"}, ["b"]),
        ({"since": "2026-11-16T10:01:00Z"}, ["b"]),
        ({"until": "2026-11-16T10:01:00+00:00"}, ["a"]),
        ({"since": datetime(2026, 11, 16, 10, 1, tzinfo=UTC)}, ["b"]),
        ({"since": datetime(2026, 11, 16, 12, 1, tzinfo=timezone(timedelta(hours=2)))},
         ["b"]),
        ({"since": date(2026, 11, 10)}, ["b", "a"]),
        ({"since": "2026-11-20"}, []),
    ],
)  # fmt: skip
def test_sessions_are_picked(
    shelf: StoreHarness, store: Store, asked: dict[str, Any], found: list[str]
):
    for number, (name, folder) in enumerate((("a", "app"), ("b", "web"))):
        told = {"cwd": f"/home/dev/{folder}"}
        opened = make_event(
            "opened", "0", metadata=told, session=make_key(name), scope=name
        )
        shelf.commit(opened, log=name)
        commit_session(shelf, name, number * 100)

    assert ids(store.sessions(**asked)) == found


def test_a_session_without_a_time_is_in_no_span(shelf: StoreHarness, store: Store):
    shelf.commit(make_prompt("a", "1"))

    assert ids(store.sessions()) == ["s"]
    assert ids(store.sessions(since="2000-01-01")) == []


def test_until_is_about_the_beginning_and_since_about_the_end(
    shelf: StoreHarness, store: Store
):
    commit_session(shelf, "long")
    late = {"session": make_key("long"), "scope": "long", "created_at": time_at(9000)}
    shelf.commit(make_record("late", "5", **late), log="long")
    commit_session(shelf, "short", 3600)

    assert ids(store.sessions(until=time_at(60))) == ["long"]
    assert ids(store.sessions(since=time_at(6000))) == ["long"]
    assert ids(store.sessions(since=time_at(3600), until=time_at(3601))) == [
        "long",
        "short",
    ]


def test_subagents_come_with_the_sessions_that_are_picked(
    shelf: StoreHarness, store: Store
):
    commit_session(shelf)
    commit_subagent(shelf)
    commit_session(shelf, "late", 100)

    found = store.sessions(until=time_at(60), subagents=True)

    assert sorted(ids(found)) == ["s", "x"]


def test_subagents_are_listed_when_asked_for(shelf: StoreHarness, store: Store):
    commit_session(shelf)
    commit_subagent(shelf)

    assert ids(store.sessions()) == ["s"]
    found = {s.id: s.parent for s in store.sessions(subagents=True)}
    assert found == {"s": None, "x": "s"}


def test_a_subagent_costs_the_same_whichever_way_one_comes_to_it(
    shelf: StoreHarness, store: Store
):
    commit_session(shelf)
    own = {"session": make_key("s", "subagent:x"), "model": "claude-opus-4-5-20251101"}
    said = make_record("a", "1", usage=Usage(1_000_000), message_id="m", **own)
    shelf.commit(said, log="x")

    (listed,) = (s for s in store.sessions(subagents=True) if s.id == "x")
    (below,) = store.session("s").subagents

    assert store.session("x").cost_usd == below.cost_usd == listed.cost_usd == 5.0
    assert store.session("x") == below == listed


def test_one_session_is_found_as_show_finds_it(shelf: StoreHarness, store: Store):
    commit_session(shelf, "first")
    commit_session(shelf, "second", 100)
    (unit,) = store.session("first").units

    assert store.session("last").id == "second"
    assert store.session("sec").id == "second"
    assert store.session(unit.chat_id).id == "first"
    assert store.session(str(store.session("first").thread_id)).id == "first"
    with pytest.raises(UserError, match="No session"):
        store.session("third")


def test_a_subagent_is_found_by_its_id(shelf: StoreHarness, store: Store):
    commit_session(shelf)
    commit_subagent(shelf)

    session = store.session("x")

    assert (session.id, session.parent) == ("x", "s")
    assert [entry.content for entry in session.entries] == ["done"]
    assert [s.id for s in store.session("s").subagents] == ["x"]
    assert session.subagents == []


# Units


def test_units_come_in_order_with_their_entries(shelf: StoreHarness, store: Store):
    opened = make_event("opened", "0")
    shelf.commit(
        opened, make_prompt("a", "1"), make_record("b", "2"), make_prompt("c", "3")
    )

    units = list(store.session("s").units)

    assert [(unit.number, unit.prompt) for unit in units] == [
        (0, ""),
        (1, "a"),
        (2, "c"),
    ]
    assert [[e.sequence for e in unit.entries] for unit in units] == [[1], [2, 3], [4]]
    with shelf.reader() as reader:
        chats = [reader.find_chat_id(shelf.session(), number) for number in range(3)]
    assert [unit.chat_id for unit in units] == chats


def test_a_unit_is_numbered_right_after_copies_that_are_not_shown(
    shelf: StoreHarness, store: Store
):
    copy = make_record("copy", "x", is_copy=True)
    shelf.commit(make_prompt("a", "1"), copy, make_prompt("b", "2"))

    _, unit = store.session("s").units

    assert [entry.sequence for entry in unit.entries] == [2]


# Entries


def test_an_entry_tells_all_of_its_record(shelf: StoreHarness, store: Store):
    commit_session(shelf)

    call, result = store.entries.where(tool="Bash")

    assert (call.role, call.type, call.source) == ("assistant", "tool_use", "main")
    assert (call.session_id, call.agent, call.sequence) == ("s", "claude-code", 2)
    assert (call.tool_name, call.tool_call_id) == ("Bash", "c")
    assert call.tool_input == {"command": "ls"}
    assert (call.model, call.usage, call.message_id) == ("m", Usage(1, 2), "msg")
    assert call.created_at == time_at(1)
    assert call.metadata == {"native_id": "2"}
    assert len(call.entry_id) == 32
    assert (result.tool_name, result.content, result.usage) == ("Bash", "files", None)


@pytest.mark.parametrize(
    ("given", "told"),
    [("", None), ("[1]", {"input": [1]}), ("raw text", {"input": "raw text"})],
)
def test_the_input_of_a_tool_is_always_a_dict(
    shelf: StoreHarness, store: Store, given: str, told: Any
):
    shelf.commit(make_record("", "1", type="tool_use", tool_input=given))

    (entry,) = store.entries

    assert entry.tool_input == told


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, ["prompt s", "", "files", "answer s", "done"]),
        ({"role": "assistant"}, ["", "answer s", "done"]),
        ({"role": "tool"}, ["files"]),
        ({"type": "tool_use"}, [""]),
        ({"source": "main"}, ["prompt s", "", "files", "answer s"]),
        ({"source": "primary"}, ["prompt s", "", "files", "answer s"]),
        ({"source": "subagent:x"}, ["done"]),
        ({"tool": "Bash"}, ["", "files"]),
        ({"tool": "Bash", "role": "tool"}, ["files"]),
        ({"tool": "Read"}, []),
        ({"session": "last"}, ["prompt s", "", "files", "answer s", "done"]),
        ({"session": "x"}, ["done"]),
    ],
)
def test_entries_are_picked(
    shelf: StoreHarness, store: Store, asked: dict[str, str], found: list[str]
):
    commit_session(shelf)
    commit_subagent(shelf)

    assert [entry.content for entry in store.entries.where(**asked)] == found


def test_entries_are_picked_by_a_function_too(shelf: StoreHarness, store: Store):
    commit_session(shelf)

    found = store.entries.where(lambda e: e.role == "assistant").all()

    assert [entry.sequence for entry in found] == [2, 4]


def test_entries_are_picked_again_and_again(shelf: StoreHarness, store: Store):
    commit_session(shelf)
    spoken = store.entries.where(role="assistant")

    assert [e.sequence for e in spoken.where(type="tool_use")] == [2]
    assert [e.sequence for e in spoken.where(lambda e: e.sequence > 2)] == [4]
    assert list(spoken.where(role="user")) == []
    assert len(list(spoken)) == 2


def test_entries_of_one_session_are_picked_by_it(shelf: StoreHarness, store: Store):
    commit_session(shelf, "a")
    commit_session(shelf, "b", 100)
    session = store.session("a")
    (unit,) = session.units

    assert {e.session_id for e in store.entries.where(session=session)} == {"a"}
    assert [e.sequence for e in store.entries.where(session=unit.chat_id)] == [
        1,
        2,
        3,
        4,
    ]
    assert list(session.entries.where(session="b")) == []


def test_who_narrows_twice_gets_what_both_leave(shelf: StoreHarness, store: Store):
    shelf.commit(make_prompt("a", "1"), make_record("b", "2"), make_prompt("c", "3"))
    commit_subagent(shelf)
    commit_session(shelf, "other", 100)
    first, second = (unit.chat_id for unit in store.session("s").units)
    unit = store.entries.where(session=first)

    def told(entries: Entries) -> list[str]:
        return [entry.content for entry in entries]

    assert told(unit.where(session="s")) == ["a", "b"]
    assert told(store.session("s").entries.where(session=first)) == ["a", "b"]
    assert told(unit.where(session=first)) == ["a", "b"]
    assert told(unit.where(session=second)) == []
    assert told(unit.where(session="x")) == []
    assert told(unit.where(session="other")) == []
    assert told(unit.where(role="user").where(role="assistant")) == []


def test_the_id_of_an_entry_picks_it_alone(shelf: StoreHarness, store: Store):
    commit_session(shelf)
    commit_subagent(shelf)
    commit_session(shelf, "other", 100)
    wanted = list(store.session("s").entries)[3]

    found = store.entries.where(session=wanted.entry_id)

    assert list(found) == list(found.where(session="s")) == [wanted]
    assert list(store.session("s").entries.where(session=wanted.entry_id)) == [wanted]
    assert found.latest() == wanted
    assert list(found.where(session="x")) == []
    assert list(found.where(session="other")) == []
    assert list(found.where(role="user")) == []


def test_an_entry_that_forks_share_is_picked_in_each(shelf: StoreHarness, store: Store):
    for name in ("one", "two"):
        shelf.commit(make_record("a", "1", session=make_key(name)), log=name)
    (entry,) = store.session("two").entries

    found = store.entries.where(session=entry.entry_id)

    assert {each.session_id for each in found} == {"one", "two"}
    assert list(found.where(session="two")) == [entry]


@pytest.mark.parametrize("asked", [{"role": "robot"}, {"type": "tool"}])
def test_a_word_that_no_entry_has_is_refused(store: Store, asked: dict[str, str]):
    with pytest.raises(UserError, match="There is no"):
        store.entries.where(**asked)


def test_the_latest_is_the_latest_in_time(shelf: StoreHarness, store: Store):
    assert store.entries.latest() is None
    commit_session(shelf, "new", 100)
    commit_session(shelf, "old")
    shelf.commit(make_record("timeless", "t", session=make_key("old"), scope="t"))

    def told(**asked: str) -> str | None:
        found = store.entries.where(**asked).latest()
        return found.content if found else None

    assert told() == "answer new"
    assert told(session="old") == "answer old"
    assert told(tool="Bash") == "files"
    assert told(tool="Read") is None


def test_entries_do_not_stand_in_memory_at_once(shelf: StoreHarness, store: Store):
    size, count = 50_000, 600
    for start in range(0, count, 100):
        numbers = range(start, start + 100)
        shelf.commit(*(make_record(f"{n}" + "x" * size, str(n)) for n in numbers))
    tracemalloc.start()
    try:
        seen = sum(len(entry.content) > size for entry in store.entries)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert seen == count
    assert peak < size * count / 2


def test_the_first_entry_costs_one_page(shelf: StoreHarness, store: Store):
    shelf.commit(*(make_record(str(n), str(n)) for n in range(1000)))
    asked: list[str] = []
    store._backend.reader._db.set_trace_callback(asked.append)

    next(store.entries.all())

    assert sum("LIMIT 100" in query for query in asked) == 1
    (loaded,) = [query for query in asked if "content" in query]
    assert loaded.partition(" IN (")[2].count(",") == 99


def test_going_through_entries_sees_what_comes_and_holds_nothing_open(
    shelf: StoreHarness, store: Store
):
    shelf.commit(*(make_record(str(n), str(n)) for n in range(150)))
    entries = store.entries.all()
    next(entries)

    shelf.commit(make_record("late", "late"))
    (busy, _, _) = shelf.execute("PRAGMA wal_checkpoint(TRUNCATE)")[0]

    *_, last = entries
    assert (last.content, last.sequence, busy) == ("late", 151, 0)


def test_going_through_a_session_sees_what_comes_too(shelf: StoreHarness, store: Store):
    shelf.commit(*(make_record(str(n), str(n)) for n in range(150)))
    entries = store.session("s").entries.all()
    next(entries)

    shelf.commit(make_record("late", "late"))
    (busy, _, _) = shelf.execute("PRAGMA wal_checkpoint(TRUNCATE)")[0]

    *_, last = entries
    assert (last.content, last.sequence, busy) == ("late", 151, 0)


def test_what_is_deleted_on_the_way_is_left_out(shelf: StoreHarness, store: Store):
    shelf.commit(*(make_record(str(n), str(n)) for n in range(150)))
    entries = store.session("s").entries.all()
    next(entries)

    shelf.execute("DELETE FROM placement WHERE id > 120")

    assert len(list(entries)) == 119


@pytest.mark.parametrize(
    "look",
    [
        lambda session: list(session.entries),
        lambda session: list(session.entries.where(role="user")),
        lambda session: session.entries.where(lambda _: False).latest(),
        lambda session: list(session.units),
    ],
    ids=["all", "picked", "latest", "units"],
)
def test_twice_the_entries_take_about_twice_the_work(
    shelf: StoreHarness, store: Store, look: Callable[[Session], object]
):
    for name, most in (("small", 2000), ("large", 4000)):
        own = {"session": make_key(name), "scope": name}
        said = (
            make_prompt(str(n), str(n), created_at=time_at(n), **own)
            if n % 10 == 0
            else make_record(str(n), str(n), created_at=time_at(n), **own)
            for n in range(most)
        )
        shelf.commit(*said, log=name)

    small, large = (count_steps(store, name, look) for name in ("small", "large"))

    assert small > 2000
    assert large < 2.5 * small


def count_steps(store: Store, name: str, look: Callable[[Session], object]) -> int:
    """How often SQLite's machine took a hundred steps meanwhile."""
    session, seen = store.session(name), count()
    store._backend.reader._db.set_progress_handler(lambda: next(seen) < 0, 100)
    look(session)
    store._backend.reader._db.set_progress_handler(None, 0)
    return 100 * next(seen)


def test_another_thread_is_refused_with_a_sentence(shelf: StoreHarness, store: Store):
    raised: list[Exception] = []

    def look() -> None:
        try:
            list(store.sessions())
        except LesliedError as error:
            raised.append(error)

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()

    assert "thread" in str(raised[0])


# Secrets


def test_the_log_s_own_words_come_unless_secrets_shall_be_taken_out(
    shelf: StoreHarness,
):
    told = {"cwd": f"/home/{SECRET}"}
    escaped = SECRET.replace("_", "\\u005f")
    shelf.commit(
        make_event("opened", "0", metadata=told),
        make_prompt(SECRET, "1"),
        make_record("", "2", type="tool_use", tool_name=SECRET,
                    tool_input=f'{{"{SECRET}": "{escaped}"}}'),
    )  # fmt: skip

    def everything(*, redact: bool) -> str:
        with open_store(shelf.path, redact=redact) as store:
            (session,) = store.sessions()
            rows = list(store.sql("SELECT * FROM transcript_entries, sessions"))
            return repr([session, list(session.units), list(store.entries), rows])

    assert SECRET in everything(redact=False)
    assert SECRET not in everything(redact=True)
    assert escaped not in everything(redact=True)
    assert "[REDACTED:github:" in everything(redact=True)


# SQL


def test_the_time_of_a_query_does_not_run_on_after_it(
    shelf: StoreHarness, store: Store, clock: FakeClock
):
    commit_session(shelf)
    reader = store._backend.reader
    list(store.sql("SELECT 1", timeout=5))

    reader._clock = clock
    clock.advance(1e9)
    reader._db.set_progress_handler(reader._is_past_deadline, 1)

    assert ids(store.sessions()) == ["s"]
    assert len(list(store.entries)) == 4


def test_the_view_of_sessions_is_the_list(shelf: StoreHarness, store: Store):
    commit_session(shelf)
    commit_subagent(shelf)

    (row,) = store.sql("SELECT * FROM sessions")

    session = store.session("s")
    assert row["session_id"] == session.id
    assert row["title"] == session.title
    assert row["status"] == session.status
    assert row["ended_at"] == "2026-11-16T10:00:03.000Z"
    assert (row["input_tokens"], row["output_tokens"]) == (1, 2)
    assert row["subagents"] == 1
    assert row["thread_id"] == session.thread_id


def test_values_and_rows_are_python_s(shelf: StoreHarness, store: Store):
    rows = store.sql("SELECT ? AS a, x'00ff' AS b, NULL AS c", [1.5])

    assert rows.columns == ("a", "b", "c")
    assert list(rows) == [{"a": 1.5, "b": b"\x00\xff", "c": None}]
