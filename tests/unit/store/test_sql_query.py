"""Questions in SQL, and what may not be asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leslied.errors import LesliedError, StoreUnusable, UserError
from leslied.model.query import AllOf, Query, Term
from leslied.store import VIEWS, SqlReader, StoreReader
from leslied.store.views import SESSIONS
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


@pytest.fixture
def shelf(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as shelf:
        yield shelf


@pytest.fixture
def inquiry(shelf: StoreHarness, clock: FakeClock) -> Iterator[SqlReader]:
    with SqlReader(shelf.path, clock, list) as inquiry:
        yield inquiry


def run_query(inquiry: SqlReader, query: str, *values: Any) -> list[tuple[Any, ...]]:
    return list(inquiry.execute(query, values).rows)


def make_call(call_id: str, second: float = 0, tool: str = "Bash", **fields: Any):
    known = {"type": "tool_use", "tool_name": tool, "tool_call_id": call_id}
    fields = {**known, "created_at": time_at(second), **fields}
    return make_record("", f"call-{call_id}", tool_input='{"a": 1}', **fields)


def make_result(call_id: str, second: float = 0, content: str = "ok", **fields: Any):
    known = {"type": "tool_result", "role": "tool", "tool_call_id": call_id}
    fields = {**known, "created_at": time_at(second), **fields}
    return make_record(content, f"result-{call_id}", **fields)


# What the views tell


def test_every_view_can_be_asked_for_every_column(
    shelf: StoreHarness, inquiry: SqlReader
):
    shelf.commit(make_prompt("a", "1", created_at=time_at(0)), make_call("c", 1))

    for view in VIEWS:
        names = tuple(column.name for column in view.columns)
        assert inquiry.execute(f"SELECT * FROM {view.name}").columns == names
        assert all(column.about for column in view.columns)


def test_entries_are_numbered_as_the_reader_numbers_them(
    shelf: StoreHarness, inquiry: SqlReader
):
    copy = make_record("copied", "x", is_copy=True)
    shelf.commit(
        make_prompt("a", "1"), copy, make_record("b", "2"), make_prompt("c", "3")
    )

    found = run_query(inquiry, "SELECT sequence, content, unit FROM transcript_entries")

    assert found == [(1, "a", 1), (2, "b", 1), (3, "c", 2)]
    told = [(p.sequence, p.record.content, p.unit) for p in shelf.list_records()]
    assert found == told


def test_a_changed_entry_is_shown_once_as_it_is_now(
    shelf: StoreHarness, inquiry: SqlReader
):
    shelf.commit(make_record("old", "1"))
    shelf.commit(make_record("new", "1"))

    assert run_query(inquiry, "SELECT content FROM transcript_entries") == [("new",)]


def test_a_unit_is_named_as_everywhere(shelf: StoreHarness, inquiry: SqlReader):
    shelf.commit(
        make_event("opened", "0"), make_prompt("a", "1"), make_record("b", "2")
    )

    found = dict(run_query(inquiry, "SELECT unit, chat_id FROM units"))

    with shelf.reader() as reader:
        session = shelf.session()
        assert found == {unit: reader.find_chat_id(session, unit) for unit in (0, 1)}
    entries = run_query(
        inquiry, "SELECT DISTINCT unit, chat_id FROM transcript_entries"
    )
    assert dict(entries) == found


def test_a_unit_tells_its_prompt_times_and_calls(
    shelf: StoreHarness, inquiry: SqlReader
):
    prompt = make_prompt("do it", "1", created_at=time_at(0))
    shelf.commit(prompt, make_call("c", 1.5), make_result("c", 3))

    columns = "prompt, started_at, ended_at, entries, tool_calls, transcript"
    assert run_query(inquiry, f"SELECT {columns} FROM units") == [
        ("do it", "2026-11-16T10:00:00.000Z", "2026-11-16T10:00:03.000Z", 3, 1, None)
    ]


def test_a_result_carries_the_name_of_its_call(shelf: StoreHarness, inquiry: SqlReader):
    shelf.commit(make_call("c"), make_result("c"), make_result("lost"))

    found = run_query(inquiry, "SELECT tool_name FROM transcript_entries")

    assert found == [("Bash",), ("Bash",), (None,)]


def test_calls_with_the_same_id_in_two_sessions_are_two(
    shelf: StoreHarness, inquiry: SqlReader
):
    for name, tool in (("a", "Bash"), ("b", "Read")):
        own = {"session": make_key(name), "scope": name}
        call = make_call("c", tool=tool, **own)
        shelf.commit(call, make_result("c", content=name, **own), log=name)

    found = run_query(
        inquiry, "SELECT session_id, tool_name, result FROM transcript_tools"
    )

    assert found == [("a", "Bash", "a"), ("b", "Read", "b")]


def test_a_call_is_joined_to_its_result(shelf: StoreHarness, inquiry: SqlReader):
    failed = make_result("c", 2.5, "no", metadata={"is_error": True})
    shelf.commit(make_call("c", 1), failed, make_call("d", 4))

    columns = "tool_call_id, seconds, is_answered, is_error, result"
    assert run_query(inquiry, f"SELECT {columns} FROM transcript_tools") == [
        ("c", 1.5, 1, 1, "no"),
        ("d", None, 0, 0, None),
    ]


def test_the_flow_tells_each_entrys_neighbours(shelf: StoreHarness, inquiry: SqlReader):
    shelf.commit(
        make_prompt("a", "1", created_at=time_at(0)),
        make_record("b", "2", created_at=time_at(2)),
        make_call("c", 5),
    )

    columns = "previous_role, type, next_type, seconds"
    assert run_query(inquiry, f"SELECT {columns} FROM transcript_flow") == [
        (None, "user_message", "assistant_message", None),
        ("user", "assistant_message", "tool_use", 2.0),
        ("assistant", "tool_use", None, 3.0),
    ]


def test_the_timeline_is_in_the_order_of_time(shelf: StoreHarness, inquiry: SqlReader):
    shelf.commit(make_call("late", 9), make_call("early", 2), make_result("early", 4))

    columns = "tool_call_id, since_start, seconds"
    assert run_query(inquiry, f"SELECT {columns} FROM tool_timeline") == [
        ("early", 0.0, 2.0),
        ("late", 7.0, None),
    ]


def test_errors_are_grouped_and_a_forks_copy_counts_once(
    shelf: StoreHarness, inquiry: SqlReader
):
    wrong = {"metadata": {"is_error": True}}
    for name in ("a", "b"):
        own = {"session": make_key(name)}
        result = make_result("c", 1, "no such file", **wrong, **own)
        shelf.commit(make_call("c", **own), result, log=name)
    shelf.commit(make_record("overloaded", "e", type="error", created_at=time_at(7)))

    columns = "agent, type, tool_name, failures, example"
    assert run_query(inquiry, f"SELECT {columns} FROM error_summary ORDER BY type") == [
        (AGENT, "error", None, 1, "overloaded"),
        (AGENT, "tool_result", "Bash", 1, "no such file"),
    ]


def test_sessions_are_asked_for_only_when_they_are_named(
    shelf: StoreHarness, clock: FakeClock
):
    asked: list[int] = []

    def tell() -> list[list[int]]:
        asked.append(1)
        return [[len(asked)] * len(SESSIONS.columns)]

    with SqlReader(shelf.path, clock, tell) as inquiry:
        run_query(inquiry, "SELECT * FROM units")
        assert not asked
        assert run_query(inquiry, 'SELECT title FROM "Sessions"') == [(1,)]
        assert run_query(inquiry, "SELECT title FROM sessions") == [(2,)]


def test_sessions_that_cannot_be_told_leave_the_store_locked(
    shelf: StoreHarness, clock: FakeClock
):
    def fail() -> list[Any]:
        raise StoreUnusable("no")

    with SqlReader(shelf.path, clock, fail) as inquiry:
        for _ in range(2):
            with pytest.raises(StoreUnusable):
                inquiry.execute("SELECT * FROM sessions")

        with pytest.raises(UserError, match="Only reading is allowed"):
            inquiry.execute("CREATE TEMP TABLE x (a)")
        assert run_query(inquiry, "PRAGMA data_version")
        assert shelf.count("session") == 0


def test_what_comes_while_the_inquiry_is_open_is_seen(
    shelf: StoreHarness, inquiry: SqlReader
):
    query = "SELECT max(sequence) FROM transcript_entries"
    shelf.commit(make_record("a", "1"))
    assert run_query(inquiry, query) == [(1,)]

    shelf.commit(make_record("b", "2"))

    assert run_query(inquiry, query) == [(2,)]


def test_columns_of_one_name_are_told_apart(inquiry: SqlReader):
    answer = inquiry.execute("SELECT 1 AS a, 2 AS a, 3 AS a_2, 4 AS a")

    assert answer.columns == ("a", "a_3", "a_2", "a_4")
    assert list(answer.rows) == [(1, 2, 3, 4)]


def test_values_are_bound(shelf: StoreHarness, inquiry: SqlReader):
    shelf.commit(make_record("it's", "1"))

    query = "SELECT count(*) FROM transcript_entries WHERE content = ?"
    assert run_query(inquiry, query, "it's") == [(1,)]


def test_text_that_is_no_text_is_made_readable(inquiry: SqlReader):
    assert run_query(inquiry, "SELECT CAST(x'61ff' AS TEXT)") == [("a\ufffd",)]


def test_json_in_a_column_can_be_asked(shelf: StoreHarness, inquiry: SqlReader):
    shelf.commit(make_call("c"))

    query = "SELECT key, value FROM transcript_tools, json_each(input)"
    assert run_query(inquiry, query) == [("a", 1)]


# What may not be asked


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM record",
        "UPDATE session SET title = 'x'",
        "INSERT INTO meta VALUES ('a', 'b')",
        "CREATE TABLE x (a)",
        "CREATE TEMP TABLE x (a)",
        "DROP VIEW sessions",
        "DELETE FROM told_session",
        "ATTACH ':memory:' AS other",
        "DETACH main",
        "VACUUM",
        "ANALYZE",
        "REINDEX",
        "BEGIN",
        "SAVEPOINT a",
        "PRAGMA query_only = 0",
        "PRAGMA journal_mode = DELETE",
        "PRAGMA data_version = 3",
        "PRAGMA writable_schema = 1",
        "SELECT * FROM pragma_database_list",
        "SELECT load_extension('x')",
        "SELECT LOAD_EXTENSION('x', 'y')",
        "SELECT fts3_tokenizer('simple')",
        "EXPLAIN DELETE FROM record",
        "WITH a AS (SELECT 1) INSERT INTO meta SELECT 'a', 'b' FROM a",
    ],
)
def test_only_reading_is_allowed(shelf: StoreHarness, inquiry: SqlReader, query: str):
    before = shelf.path.read_bytes()

    with pytest.raises(UserError, match="Only reading is allowed"):
        inquiry.execute(query)

    assert shelf.path.read_bytes() == before
    assert run_query(inquiry, "SELECT count(*) FROM sessions") == [(0,)]


@pytest.mark.parametrize("query", ["VACUUM INTO '{}'", "ATTACH '{}' AS other"])
def test_no_other_file_is_touched(inquiry: SqlReader, tmp_path: Path, query: str):
    file = tmp_path / "other.db"

    with pytest.raises(UserError, match="Only reading is allowed"):
        inquiry.execute(query.format(file))

    assert not file.exists()


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("", "There is no query."),
        (" ; ", "There is no query."),
        ("-- nothing", "There is no query."),
        ("SELECT 1; SELECT 2", "These are several statements."),
        ("SELECT 'a\0b'", "holds a character that is no text"),
        ("SELECT '\ud800'", "holds a character that is no text"),
        ("SELEC 1", 'near "SELEC": syntax error'),
        ("SELECT (1", "incomplete input"),
        ("SELECT * FROM nowhere", "There is no view 'nowhere'."),
        ("SELECT soup FROM units", "There is no column 'soup'."),
        ("SELECT ?", "places for values"),
        ("SELECT abs(-9223372036854775808)", "integer overflow"),
        ("SELECT json('{')", "malformed JSON"),
        ("SELECT zeroblob(999999999)", "too big"),
        ("SELECT sequence_of(1, 'y')", "cannot be answered"),
    ],
)
def test_a_wrong_question_is_answered_with_a_sentence(
    shelf: StoreHarness, inquiry: SqlReader, query: str, sentence: str
):
    shelf.commit(make_record("a", "1"))

    with pytest.raises(UserError) as raised:
        run_query(inquiry, query)

    assert sentence in raised.value.message
    assert raised.value.hint


def test_an_unknown_view_is_answered_with_the_known_ones(inquiry: SqlReader):
    with pytest.raises(UserError) as raised:
        inquiry.execute("SELECT * FROM records")

    assert all(view.name in raised.value.hint for view in VIEWS)


def test_a_value_too_large_for_sqlite_is_answered_with_a_sentence(inquiry: SqlReader):
    with pytest.raises(UserError, match="too large"):
        inquiry.execute("SELECT ?", [2**64])


_ENDLESS = (
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT {} FROM n"
)


class TickingClock(FakeClock):
    """A clock that moves on each time somebody looks."""

    def monotonic(self) -> float:
        self.advance(0.5)
        return super().monotonic()


@pytest.mark.parametrize("what", ["count(*)", "i"])
def test_a_query_that_does_not_end_is_stopped(shelf: StoreHarness, what: str):
    with (
        SqlReader(shelf.path, TickingClock(), list) as inquiry,
        pytest.raises(UserError, match="took too long"),
    ):
        list(inquiry.execute(_ENDLESS.format(what), timeout=10).rows)


def test_the_time_between_rows_does_not_count(shelf: StoreHarness, clock: FakeClock):
    with SqlReader(shelf.path, clock, list) as inquiry:
        rows = inquiry.execute(_ENDLESS.format("i"), timeout=1).rows
        for _ in range(1000):
            next(rows)
            clock.advance(60)

        assert next(rows) == (1001,)


def test_an_interrupt_is_no_slow_query(shelf: StoreHarness, clock: FakeClock):
    with SqlReader(shelf.path, clock, list) as inquiry:
        run_query(inquiry, "SELECT 1")
        inquiry._db.set_progress_handler(lambda: 1, 1)

        with pytest.raises(KeyboardInterrupt):
            run_query(inquiry, "SELECT count(*) FROM transcript_entries")


def test_damage_in_the_store_is_no_wrong_question(
    shelf: StoreHarness, inquiry: SqlReader
):
    records = [make_record("x" * 9000, str(n)) for n in range(50)]
    shelf.commit(*records)
    shelf.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with shelf.path.open("r+b") as file:
        file.seek(8192)
        file.write(b"\xff" * (shelf.path.stat().st_size - 8192))

    with pytest.raises(StoreUnusable):
        run_query(inquiry, "SELECT content FROM transcript_entries")


def test_an_inquiry_reads_as_any_reader_does(shelf: StoreHarness, inquiry: SqlReader):
    shelf.commit(make_prompt("find me", "1"))
    run_query(inquiry, "SELECT 1")

    with StoreReader(shelf.path) as reader:
        assert inquiry.list_sessions() == reader.list_sessions()
        query = Query(words=AllOf((Term("find"),)))
        assert inquiry.search(query).list_newest(5) == reader.search(query).list_newest(
            5
        )


def test_every_refusal_is_an_error_of_leslied(inquiry: SqlReader):
    with pytest.raises(LesliedError):
        inquiry.execute("nonsense")
