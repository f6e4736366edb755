"""The Python API for scripts."""

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
from leslied.queries.sessions import list_sessions
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
def harness(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as harness:
        yield harness


@pytest.fixture
def store(harness: StoreHarness) -> Iterator[Store]:
    with open_store(harness.path) as store:
        yield store


def commit_session(
    harness: StoreHarness, name: str = "s", second: float = 0, **fields: Any
) -> None:
    """Commit a session with a prompt, a tool call, its result and an answer."""
    common = {"session": make_key(name), "scope": name, **fields}
    call = {"tool_call_id": "c", "model": "m", **common}
    harness.commit(
        make_prompt(f"prompt {name}", "1", created_at=time_at(second), **common),
        make_record("", "2", type="tool_use", tool_name="Bash", message_id="msg",
                    tool_input='{"command": "ls"}', usage=Usage(1, 2),
                    created_at=time_at(second + 1), **call),
        make_record("files", "3", type="tool_result", role="tool",
                    created_at=time_at(second + 2), **call),
        make_record(f"answer {name}", "4", created_at=time_at(second + 3), **common),
        log=name,
    )  # fmt: skip


def commit_subagent(harness: StoreHarness) -> None:
    """Commit an answer of the subagent `x` of the session `s`."""
    common = {"session": make_key("s", "subagent:x"), "scope": "x"}
    harness.commit(make_record("done", "1", **common), log="x")


def list_ids(sessions: Iterator[Session]) -> list[str]:
    return [session.id for session in sessions]


# Opening


def test_a_store_is_found_by_its_file_its_folder_or_the_environment(
    harness: StoreHarness, monkeypatch: pytest.MonkeyPatch
):
    commit_session(harness)
    monkeypatch.setenv("LESLIED_DATA_DIR", str(harness.path.parent))

    for path in (harness.path, str(harness.path), harness.path.parent, None):
        with open_store(path) as store:
            assert list_ids(store.sessions()) == ["s"]


def test_opening_a_missing_store_raises_an_error(tmp_path: Path):
    with pytest.raises(LesliedError, match="Nothing has been read yet"):
        open_store(tmp_path / "store.db")

    assert not list(tmp_path.glob("*.db*"))


def test_a_file_that_is_not_a_store_is_unusable(tmp_path: Path):
    (tmp_path / "store.db").write_bytes(b"no database" * 1000)

    with pytest.raises(StoreUnusable):
        open_store(tmp_path)


def test_a_closed_store_raises_an_error(harness: StoreHarness):
    store = open_store(harness.path)
    store.close()

    with pytest.raises(LesliedError, match="closed"):
        list(store.sessions())


# Sessions


def test_sessions_are_in_the_order_of_leslied_list(harness: StoreHarness, store: Store):
    for number, name in enumerate("bca"):
        commit_session(harness, name, number * 100)

    with harness.reader() as reader:
        listed_ids = [s.key.session_id for s in list_sessions(reader)]
    assert list_ids(store.sessions()) == listed_ids == ["a", "c", "b"]


def test_a_session_has_its_title_times_and_totals(harness: StoreHarness, store: Store):
    commit_session(harness)

    (session,) = store.sessions()

    assert session.title == "prompt s"
    assert (session.started_at, session.ended_at) == (time_at(0), time_at(3))
    assert (session.unit_count, session.tool_calls) == (1, 1)
    assert session.usage == Usage(1, 2)
    assert (session.parent, session.description) == (None, None)


@pytest.mark.parametrize(
    ("arguments", "expected"),
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
def test_sessions_can_be_filtered(
    harness: StoreHarness, store: Store, arguments: dict[str, Any], expected: list[str]
):
    for number, (name, folder) in enumerate((("a", "app"), ("b", "web"))):
        metadata = {"cwd": f"/home/dev/{folder}"}
        opened = make_event(
            "opened", "0", metadata=metadata, session=make_key(name), scope=name
        )
        harness.commit(opened, log=name)
        commit_session(harness, name, number * 100)

    assert list_ids(store.sessions(**arguments)) == expected


def test_a_session_without_times_matches_no_time_filter(
    harness: StoreHarness, store: Store
):
    harness.commit(make_prompt("a", "1"))

    assert list_ids(store.sessions()) == ["s"]
    assert list_ids(store.sessions(since="2000-01-01")) == []


def test_until_limits_the_start_and_since_limits_the_end(
    harness: StoreHarness, store: Store
):
    commit_session(harness, "long")
    late = {"session": make_key("long"), "scope": "long", "created_at": time_at(9000)}
    harness.commit(make_record("late", "5", **late), log="long")
    commit_session(harness, "short", 3600)

    assert list_ids(store.sessions(until=time_at(60))) == ["long"]
    assert list_ids(store.sessions(since=time_at(6000))) == ["long"]
    assert list_ids(store.sessions(since=time_at(3600), until=time_at(3601))) == [
        "long",
        "short",
    ]


def test_only_subagents_of_matching_sessions_are_listed(
    harness: StoreHarness, store: Store
):
    commit_session(harness)
    commit_subagent(harness)
    commit_session(harness, "late", 100)

    sessions = store.sessions(until=time_at(60), subagents=True)

    assert sorted(list_ids(sessions)) == ["s", "x"]


def test_subagents_are_listed_on_request(harness: StoreHarness, store: Store):
    commit_session(harness)
    commit_subagent(harness)

    assert list_ids(store.sessions()) == ["s"]
    parents = {s.id: s.parent for s in store.sessions(subagents=True)}
    assert parents == {"s": None, "x": "s"}


def test_a_subagent_has_the_same_cost_however_it_is_loaded(
    harness: StoreHarness, store: Store
):
    commit_session(harness)
    common = {
        "session": make_key("s", "subagent:x"),
        "model": "claude-opus-4-5-20251101",
    }
    answer = make_record("a", "1", usage=Usage(1_000_000), message_id="m", **common)
    harness.commit(answer, log="x")

    (listed_child,) = (s for s in store.sessions(subagents=True) if s.id == "x")
    (child,) = store.session("s").subagents

    assert store.session("x").cost_usd == child.cost_usd == listed_child.cost_usd == 5.0
    assert store.session("x") == child == listed_child


def test_a_session_is_found_by_any_id_that_leslied_show_accepts(
    harness: StoreHarness, store: Store
):
    commit_session(harness, "first")
    commit_session(harness, "second", 100)
    (unit,) = store.session("first").units

    assert store.session("last").id == "second"
    assert store.session("sec").id == "second"
    assert store.session(unit.chat_id).id == "first"
    assert store.session(str(store.session("first").thread_id)).id == "first"
    with pytest.raises(UserError, match="No session"):
        store.session("third")


def test_a_subagent_is_found_by_its_id(harness: StoreHarness, store: Store):
    commit_session(harness)
    commit_subagent(harness)

    session = store.session("x")

    assert (session.id, session.parent) == ("x", "s")
    assert [entry.content for entry in session.entries] == ["done"]
    assert [s.id for s in store.session("s").subagents] == ["x"]
    assert session.subagents == []


# Units


def test_units_are_in_order_and_contain_their_entries(
    harness: StoreHarness, store: Store
):
    opened = make_event("opened", "0")
    harness.commit(
        opened, make_prompt("a", "1"), make_record("b", "2"), make_prompt("c", "3")
    )

    units = list(store.session("s").units)

    assert [(unit.number, unit.prompt) for unit in units] == [
        (0, ""),
        (1, "a"),
        (2, "c"),
    ]
    assert [[e.sequence for e in unit.entries] for unit in units] == [[1], [2, 3], [4]]
    with harness.reader() as reader:
        chat_ids = [reader.find_chat_id(make_key(), unit) for unit in range(3)]
    assert [unit.chat_id for unit in units] == chat_ids


def test_hidden_copies_do_not_count_in_the_sequence_of_a_unit(
    harness: StoreHarness, store: Store
):
    copy = make_record("copy", "x", is_copy=True)
    harness.commit(make_prompt("a", "1"), copy, make_prompt("b", "2"))

    _, unit = store.session("s").units

    assert [entry.sequence for entry in unit.entries] == [2]


# Entries


def test_an_entry_has_all_fields_of_its_record(harness: StoreHarness, store: Store):
    commit_session(harness)

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
    ("stored", "tool_input"),
    [("", None), ("[1]", {"input": [1]}), ("raw text", {"input": "raw text"})],
)
def test_the_input_of_a_tool_is_always_a_dict(
    harness: StoreHarness, store: Store, stored: str, tool_input: Any
):
    harness.commit(make_record("", "1", type="tool_use", tool_input=stored))

    (entry,) = store.entries

    assert entry.tool_input == tool_input


@pytest.mark.parametrize(
    ("arguments", "expected"),
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
def test_entries_can_be_filtered(
    harness: StoreHarness, store: Store, arguments: dict[str, str], expected: list[str]
):
    commit_session(harness)
    commit_subagent(harness)

    assert [entry.content for entry in store.entries.where(**arguments)] == expected


def test_entries_can_be_filtered_by_a_function(harness: StoreHarness, store: Store):
    commit_session(harness)

    entries = store.entries.where(lambda e: e.role == "assistant").all()

    assert [entry.sequence for entry in entries] == [2, 4]


def test_a_selection_of_entries_can_be_reused(harness: StoreHarness, store: Store):
    commit_session(harness)
    answers = store.entries.where(role="assistant")

    assert [e.sequence for e in answers.where(type="tool_use")] == [2]
    assert [e.sequence for e in answers.where(lambda e: e.sequence > 2)] == [4]
    assert list(answers.where(role="user")) == []
    assert len(list(answers)) == 2


def test_entries_can_be_filtered_by_session(harness: StoreHarness, store: Store):
    commit_session(harness, "a")
    commit_session(harness, "b", 100)
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


def test_chained_filters_must_all_match(harness: StoreHarness, store: Store):
    harness.commit(make_prompt("a", "1"), make_record("b", "2"), make_prompt("c", "3"))
    commit_subagent(harness)
    commit_session(harness, "other", 100)
    first, second = (unit.chat_id for unit in store.session("s").units)
    unit_entries = store.entries.where(session=first)

    def list_texts(entries: Entries) -> list[str]:
        return [entry.content for entry in entries]

    assert list_texts(unit_entries.where(session="s")) == ["a", "b"]
    assert list_texts(store.session("s").entries.where(session=first)) == ["a", "b"]
    assert list_texts(unit_entries.where(session=first)) == ["a", "b"]
    assert list_texts(unit_entries.where(session=second)) == []
    assert list_texts(unit_entries.where(session="x")) == []
    assert list_texts(unit_entries.where(session="other")) == []
    assert list_texts(unit_entries.where(role="user").where(role="assistant")) == []


def test_the_id_of_an_entry_selects_only_this_entry(
    harness: StoreHarness, store: Store
):
    commit_session(harness)
    commit_subagent(harness)
    commit_session(harness, "other", 100)
    entry = list(store.session("s").entries)[3]

    selection = store.entries.where(session=entry.entry_id)

    assert list(selection) == list(selection.where(session="s")) == [entry]
    assert list(store.session("s").entries.where(session=entry.entry_id)) == [entry]
    assert selection.latest() == entry
    assert list(selection.where(session="x")) == []
    assert list(selection.where(session="other")) == []
    assert list(selection.where(role="user")) == []


def test_an_entry_that_forks_share_is_selected_in_each_fork(
    harness: StoreHarness, store: Store
):
    for name in ("one", "two"):
        harness.commit(make_record("a", "1", session=make_key(name)), log=name)
    (entry,) = store.session("two").entries

    selection = store.entries.where(session=entry.entry_id)

    assert {shared.session_id for shared in selection} == {"one", "two"}
    assert list(selection.where(session="two")) == [entry]


@pytest.mark.parametrize("arguments", [{"role": "robot"}, {"type": "tool"}])
def test_an_unknown_role_or_type_is_refused(store: Store, arguments: dict[str, str]):
    with pytest.raises(UserError, match="There is no"):
        store.entries.where(**arguments)


def test_latest_returns_the_entry_with_the_latest_time(
    harness: StoreHarness, store: Store
):
    assert store.entries.latest() is None
    commit_session(harness, "new", 100)
    commit_session(harness, "old")
    harness.commit(make_record("timeless", "t", session=make_key("old"), scope="t"))

    def find_latest_text(**arguments: str) -> str | None:
        entry = store.entries.where(**arguments).latest()
        return entry.content if entry else None

    assert find_latest_text() == "answer new"
    assert find_latest_text(session="old") == "answer old"
    assert find_latest_text(tool="Bash") == "files"
    assert find_latest_text(tool="Read") is None


def test_entries_are_not_all_in_memory_at_once(harness: StoreHarness, store: Store):
    size, entry_count = 50_000, 600
    for start in range(0, entry_count, 100):
        numbers = range(start, start + 100)
        harness.commit(*(make_record(f"{n}" + "x" * size, str(n)) for n in numbers))
    tracemalloc.start()
    try:
        large_entries = sum(len(entry.content) > size for entry in store.entries)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert large_entries == entry_count
    assert peak < size * entry_count / 2


def test_reading_the_first_entry_loads_only_one_page(
    harness: StoreHarness, store: Store
):
    harness.commit(*(make_record(str(n), str(n)) for n in range(1000)))
    statements: list[str] = []
    store._queries._reader._db.set_trace_callback(statements.append)

    next(store.entries.all())

    assert sum("LIMIT 100" in statement for statement in statements) == 1
    (load_statement,) = [text for text in statements if "content" in text]
    assert load_statement.partition(" IN (")[2].count(",") == 99


def test_iterating_entries_sees_new_ones_and_keeps_no_transaction_open(
    harness: StoreHarness, store: Store
):
    harness.commit(*(make_record(str(n), str(n)) for n in range(150)))
    entries = store.entries.all()
    next(entries)

    harness.commit(make_record("late", "late"))
    (busy, _, _) = harness.execute("PRAGMA wal_checkpoint(TRUNCATE)")[0]

    *_, last = entries
    assert (last.content, last.sequence, busy) == ("late", 151, 0)


def test_iterating_a_session_sees_new_entries(harness: StoreHarness, store: Store):
    harness.commit(*(make_record(str(n), str(n)) for n in range(150)))
    entries = store.session("s").entries.all()
    next(entries)

    harness.commit(make_record("late", "late"))
    (busy, _, _) = harness.execute("PRAGMA wal_checkpoint(TRUNCATE)")[0]

    *_, last = entries
    assert (last.content, last.sequence, busy) == ("late", 151, 0)


def test_entries_deleted_during_the_iteration_are_skipped(
    harness: StoreHarness, store: Store
):
    harness.commit(*(make_record(str(n), str(n)) for n in range(150)))
    entries = store.session("s").entries.all()
    next(entries)

    harness.execute("DELETE FROM placement WHERE id > 120")

    assert len(list(entries)) == 119


@pytest.mark.parametrize(
    "read",
    [
        lambda session: list(session.entries),
        lambda session: list(session.entries.where(role="user")),
        lambda session: session.entries.where(lambda _: False).latest(),
        lambda session: list(session.units),
    ],
    ids=["all", "filtered", "latest", "units"],
)
def test_the_time_to_read_grows_linearly_with_the_entries(
    harness: StoreHarness, store: Store, read: Callable[[Session], object]
):
    for name, size in (("small", 2000), ("large", 4000)):
        common = {"session": make_key(name), "scope": name}
        records = (
            make_prompt(str(n), str(n), created_at=time_at(n), **common)
            if n % 10 == 0
            else make_record(str(n), str(n), created_at=time_at(n), **common)
            for n in range(size)
        )
        harness.commit(*records, log=name)

    small, large = (count_steps(store, name, read) for name in ("small", "large"))

    assert small > 2000
    assert large < 2.5 * small


def count_steps(store: Store, name: str, read: Callable[[Session], object]) -> int:
    """Return how many steps SQLite's virtual machine needs, rounded to hundreds."""
    session = store.session(name)
    calls = count()
    # The handler is called every hundred steps; its result, False, means to go on.
    store._queries._reader._db.set_progress_handler(lambda: next(calls) < 0, 100)
    read(session)
    store._queries._reader._db.set_progress_handler(None, 0)
    return 100 * next(calls)


@pytest.mark.usefixtures("harness")
def test_using_a_store_in_another_thread_raises_an_error(store: Store):
    errors: list[Exception] = []

    def list_in_thread() -> None:
        try:
            list(store.sessions())
        except LesliedError as error:
            errors.append(error)

    thread = threading.Thread(target=list_in_thread)
    thread.start()
    thread.join()

    assert "thread" in str(errors[0])


# Secrets


def test_secrets_are_redacted_everywhere_on_request(
    harness: StoreHarness,
):
    metadata = {"cwd": f"/home/{SECRET}"}
    escaped = SECRET.replace("_", "\\u005f")
    harness.commit(
        make_event("opened", "0", metadata=metadata),
        make_prompt(SECRET, "1"),
        make_record("", "2", type="tool_use", tool_name=SECRET,
                    tool_input=f'{{"{SECRET}": "{escaped}"}}'),
    )  # fmt: skip

    def dump_store(*, redact: bool) -> str:
        with open_store(harness.path, redact=redact) as store:
            (session,) = store.sessions()
            rows = list(store.sql("SELECT * FROM transcript_entries, sessions"))
            return repr([session, list(session.units), list(store.entries), rows])

    assert SECRET in dump_store(redact=False)
    assert SECRET not in dump_store(redact=True)
    assert escaped not in dump_store(redact=True)
    assert "[REDACTED:github:" in dump_store(redact=True)


# SQL


def test_the_timeout_of_a_query_does_not_affect_later_calls(
    harness: StoreHarness, store: Store, clock: FakeClock
):
    commit_session(harness)
    reader = store._queries._reader
    list(store.sql("SELECT 1", timeout=5))

    reader._clock = clock
    clock.advance(1e9)
    reader._db.set_progress_handler(reader._is_past_deadline, 1)

    assert list_ids(store.sessions()) == ["s"]
    assert len(list(store.entries)) == 4


def test_the_sql_view_of_sessions_agrees_with_the_api(
    harness: StoreHarness, store: Store
):
    commit_session(harness)
    commit_subagent(harness)

    (row,) = store.sql("SELECT * FROM sessions")

    session = store.session("s")
    assert row["session_id"] == session.id
    assert row["title"] == session.title
    assert row["status"] == session.status
    assert row["ended_at"] == "2026-11-16T10:00:03.000Z"
    assert (row["input_tokens"], row["output_tokens"]) == (1, 2)
    assert row["subagents"] == 1
    assert row["thread_id"] == session.thread_id


@pytest.mark.usefixtures("harness")
def test_sql_values_are_converted_to_python_types(store: Store):
    rows = store.sql("SELECT ? AS a, x'00ff' AS b, NULL AS c", [1.5])

    assert rows.columns == ("a", "b", "c")
    assert list(rows) == [{"a": 1.5, "b": b"\x00\xff", "c": None}]
