"""SQL queries over the views, and statements that are refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leslied.errors import LesliedError, StoreUnusable, UserError
from leslied.model.query import AllOf, Query, Term
from leslied.store import VIEWS, SqlReader, StoreReader
from leslied.store.read.views import SESSIONS
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
def harness(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as harness:
        yield harness


@pytest.fixture
def sql_reader(harness: StoreHarness, clock: FakeClock) -> Iterator[SqlReader]:
    with SqlReader(harness.path, clock, list) as sql_reader:
        yield sql_reader


def run_query(sql_reader: SqlReader, query: str, *values: Any) -> list[tuple[Any, ...]]:
    return list(sql_reader.execute(query, values).rows)


def make_call(call_id: str, second: float = 0, tool: str = "Bash", **fields: Any):
    defaults = {"type": "tool_use", "tool_name": tool, "tool_call_id": call_id}
    fields = {**defaults, "created_at": time_at(second), **fields}
    return make_record("", f"call-{call_id}", tool_input='{"a": 1}', **fields)


def make_result(call_id: str, second: float = 0, content: str = "ok", **fields: Any):
    defaults = {"type": "tool_result", "role": "tool", "tool_call_id": call_id}
    fields = {**defaults, "created_at": time_at(second), **fields}
    return make_record(content, f"result-{call_id}", **fields)


# Content of the views


def test_every_view_has_the_documented_columns(
    harness: StoreHarness, sql_reader: SqlReader
):
    harness.commit(make_prompt("a", "1", created_at=time_at(0)), make_call("c", 1))

    for view in VIEWS:
        names = tuple(column.name for column in view.columns)
        assert sql_reader.execute(f"SELECT * FROM {view.name}").columns == names
        assert all(column.about for column in view.columns)


def test_entries_are_numbered_as_the_reader_numbers_them(
    harness: StoreHarness, sql_reader: SqlReader
):
    copy = make_record("copied", "x", is_copy=True)
    harness.commit(
        make_prompt("a", "1"), copy, make_record("b", "2"), make_prompt("c", "3")
    )

    rows = run_query(
        sql_reader, "SELECT sequence, content, unit FROM transcript_entries"
    )

    assert rows == [(1, "a", 1), (2, "b", 1), (3, "c", 2)]
    records = harness.list_records()
    assert rows == [(p.sequence, p.record.content, p.unit) for p in records]


def test_a_changed_entry_is_shown_once_in_its_current_version(
    harness: StoreHarness, sql_reader: SqlReader
):
    harness.commit(make_record("old", "1"))
    harness.commit(make_record("new", "1"))

    assert run_query(sql_reader, "SELECT content FROM transcript_entries") == [("new",)]


def test_units_have_the_same_chat_ids_as_in_the_reader(
    harness: StoreHarness, sql_reader: SqlReader
):
    harness.commit(
        make_event("opened", "0"), make_prompt("a", "1"), make_record("b", "2")
    )

    chat_ids = dict(run_query(sql_reader, "SELECT unit, chat_id FROM units"))

    with harness.reader() as reader:
        session = harness.session()
        assert chat_ids == {
            unit: reader.find_chat_id(session.key, unit) for unit in (0, 1)
        }
    entries = run_query(
        sql_reader, "SELECT DISTINCT unit, chat_id FROM transcript_entries"
    )
    assert dict(entries) == chat_ids


def test_a_unit_has_its_prompt_times_and_counts(
    harness: StoreHarness, sql_reader: SqlReader
):
    prompt = make_prompt("do it", "1", created_at=time_at(0))
    harness.commit(prompt, make_call("c", 1.5), make_result("c", 3))

    columns = "prompt, started_at, ended_at, entries, tool_calls, transcript"
    assert run_query(sql_reader, f"SELECT {columns} FROM units") == [
        ("do it", "2026-11-16T10:00:00.000Z", "2026-11-16T10:00:03.000Z", 3, 1, None)
    ]


def test_a_unit_ends_before_lines_that_were_written_between_turns(
    harness: StoreHarness, sql_reader: SqlReader
):
    prompt = make_prompt("do it", "1", created_at=time_at(0))
    answer = make_record("done", "2", created_at=time_at(1))
    title = make_event("title", "3", created_at=time_at(800))
    harness.commit(prompt, answer, title)

    rows = run_query(sql_reader, "SELECT ended_at, entries FROM units")

    assert rows == [("2026-11-16T10:00:01.000Z", 3)]


def test_a_unit_without_times_has_no_end(harness: StoreHarness, sql_reader: SqlReader):
    harness.commit(make_prompt("do it", "1"))

    assert run_query(sql_reader, "SELECT ended_at FROM units") == [(None,)]


def test_a_unit_starts_at_the_time_of_its_first_entry(
    harness: StoreHarness, sql_reader: SqlReader
):
    harness.commit(
        make_event("notice", "1"),
        make_prompt("hello", "2", created_at=time_at(2)),
        make_record("hi", "3", created_at=time_at(1)),
    )

    rows = run_query(sql_reader, "SELECT started_at FROM units WHERE unit = 1")

    assert rows == [("2026-11-16T10:00:02.000Z",)]


def test_the_result_of_a_call_is_not_the_one_that_a_resume_added(
    harness: StoreHarness, sql_reader: SqlReader
):
    metadata = {"is_between_turns": True}
    added = make_record(
        "added", "x", type="tool_result", tool_call_id="c", metadata=metadata
    )
    harness.commit(make_call("c"), added, make_result("c", content="real"))

    assert run_query(sql_reader, "SELECT result FROM transcript_tools") == [("real",)]


def test_a_result_has_the_tool_of_its_call(
    harness: StoreHarness, sql_reader: SqlReader
):
    harness.commit(make_call("c"), make_result("c"), make_result("lost"))

    rows = run_query(sql_reader, "SELECT tool_name FROM transcript_entries")

    assert rows == [("Bash",), ("Bash",), (None,)]


def test_calls_with_the_same_id_in_two_sessions_are_separate(
    harness: StoreHarness, sql_reader: SqlReader
):
    for name, tool in (("a", "Bash"), ("b", "Read")):
        session_fields = {"session": make_key(name), "scope": name}
        call = make_call("c", tool=tool, **session_fields)
        harness.commit(call, make_result("c", content=name, **session_fields), log=name)

    rows = run_query(
        sql_reader, "SELECT session_id, tool_name, result FROM transcript_tools"
    )

    assert rows == [("a", "Bash", "a"), ("b", "Read", "b")]


def test_a_call_is_joined_to_its_result(harness: StoreHarness, sql_reader: SqlReader):
    failed_result = make_result("c", 2.5, "no", metadata={"is_error": True})
    harness.commit(make_call("c", 1), failed_result, make_call("d", 4))

    columns = "tool_call_id, seconds, is_answered, is_error, result"
    assert run_query(sql_reader, f"SELECT {columns} FROM transcript_tools") == [
        ("c", 1.5, 1, 1, "no"),
        ("d", None, 0, 0, None),
    ]


def test_the_flow_has_the_previous_and_next_entries(
    harness: StoreHarness, sql_reader: SqlReader
):
    harness.commit(
        make_prompt("a", "1", created_at=time_at(0)),
        make_record("b", "2", created_at=time_at(2)),
        make_call("c", 5),
    )

    columns = "previous_role, type, next_type, seconds"
    assert run_query(sql_reader, f"SELECT {columns} FROM transcript_flow") == [
        (None, "user_message", "assistant_message", None),
        ("user", "assistant_message", "tool_use", 2.0),
        ("assistant", "tool_use", None, 3.0),
    ]


def test_the_timeline_is_ordered_by_time(harness: StoreHarness, sql_reader: SqlReader):
    harness.commit(make_call("late", 9), make_call("early", 2), make_result("early", 4))

    columns = "tool_call_id, since_start, seconds"
    assert run_query(sql_reader, f"SELECT {columns} FROM tool_timeline") == [
        ("early", 0.0, 2.0),
        ("late", 7.0, None),
    ]


def test_errors_are_grouped_and_a_shared_error_counts_once(
    harness: StoreHarness, sql_reader: SqlReader
):
    error_fields = {"metadata": {"is_error": True}}
    for name in ("a", "b"):
        session_fields = {"session": make_key(name)}
        result = make_result("c", 1, "no such file", **error_fields, **session_fields)
        harness.commit(make_call("c", **session_fields), result, log=name)
    harness.commit(make_record("overloaded", "e", type="error", created_at=time_at(7)))

    columns = "agent, type, tool_name, failures, example"
    assert run_query(
        sql_reader, f"SELECT {columns} FROM error_summary ORDER BY type"
    ) == [
        (AGENT, "error", None, 1, "overloaded"),
        (AGENT, "tool_result", "Bash", 1, "no such file"),
    ]


def test_sessions_are_loaded_only_if_the_query_uses_them(
    harness: StoreHarness, clock: FakeClock
):
    loads: list[int] = []

    def load() -> list[list[int]]:
        loads.append(1)
        return [[len(loads)] * len(SESSIONS.columns)]

    with SqlReader(harness.path, clock, load) as sql_reader:
        run_query(sql_reader, "SELECT * FROM units")
        assert not loads
        assert run_query(sql_reader, 'SELECT title FROM "Sessions"') == [(1,)]
        assert run_query(sql_reader, "SELECT title FROM sessions") == [(2,)]


def test_writing_is_still_denied_after_sessions_failed_to_load(
    harness: StoreHarness, clock: FakeClock
):
    def fail() -> list[Any]:
        raise StoreUnusable("no")

    with SqlReader(harness.path, clock, fail) as sql_reader:
        for _ in range(2):
            with pytest.raises(StoreUnusable):
                sql_reader.execute("SELECT * FROM sessions")

        with pytest.raises(UserError, match="Only reading is allowed"):
            sql_reader.execute("CREATE TEMP TABLE x (a)")
        with pytest.raises(UserError, match="Only reading is allowed"):
            sql_reader.execute("PRAGMA data_version")
        assert harness.count("session") == 0


def test_an_open_reader_sees_new_records(harness: StoreHarness, sql_reader: SqlReader):
    query = "SELECT max(sequence) FROM transcript_entries"
    harness.commit(make_record("a", "1"))
    assert run_query(sql_reader, query) == [(1,)]

    harness.commit(make_record("b", "2"))

    assert run_query(sql_reader, query) == [(2,)]


def test_columns_with_equal_names_are_numbered(sql_reader: SqlReader):
    result = sql_reader.execute("SELECT 1 AS a, 2 AS a, 3 AS a_2, 4 AS a")

    assert result.columns == ("a", "a_3", "a_2", "a_4")
    assert list(result.rows) == [(1, 2, 3, 4)]


def test_values_are_bound(harness: StoreHarness, sql_reader: SqlReader):
    harness.commit(make_record("it's", "1"))

    query = "SELECT count(*) FROM transcript_entries WHERE content = ?"
    assert run_query(sql_reader, query, "it's") == [(1,)]


def test_invalid_utf_8_is_replaced(sql_reader: SqlReader):
    assert run_query(sql_reader, "SELECT CAST(x'61ff' AS TEXT)") == [("a\ufffd",)]


def test_json_in_a_column_can_be_queried(harness: StoreHarness, sql_reader: SqlReader):
    harness.commit(make_call("c"))

    query = "SELECT key, value FROM transcript_tools, json_each(input)"
    assert run_query(sql_reader, query) == [("a", 1)]


# Refused statements


@pytest.mark.threat("W7")
@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM record",
        "UPDATE session SET title = 'x'",
        "INSERT INTO meta VALUES ('a', 'b')",
        "CREATE TABLE x (a)",
        "CREATE TEMP TABLE x (a)",
        "DROP VIEW sessions",
        "DELETE FROM session_list",
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
def test_only_reading_is_allowed(
    harness: StoreHarness, sql_reader: SqlReader, query: str
):
    before = harness.path.read_bytes()

    with pytest.raises(UserError, match="Only reading is allowed"):
        sql_reader.execute(query)

    assert harness.path.read_bytes() == before
    assert run_query(sql_reader, "SELECT count(*) FROM sessions") == [(0,)]


@pytest.mark.parametrize("query", ["VACUUM INTO '{}'", "ATTACH '{}' AS other"])
def test_no_other_file_is_created(sql_reader: SqlReader, tmp_path: Path, query: str):
    other_file = tmp_path / "other.db"

    with pytest.raises(UserError, match="Only reading is allowed"):
        sql_reader.execute(query.format(other_file))

    assert not other_file.exists()


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "The query is empty."),
        (" ; ", "The query is empty."),
        ("-- nothing", "The query is empty."),
        ("SELECT 1; SELECT 2", "The query has more than one statement."),
        ("SELECT 'a\0b'", "contains a character that is not valid text"),
        ("SELECT '\ud800'", "contains a character that is not valid text"),
        ("SELEC 1", 'near "SELEC": syntax error'),
        ("SELECT (1", "incomplete input"),
        ("SELECT * FROM nowhere", "There is no view 'nowhere'."),
        ("SELECT soup FROM units", "There is no column 'soup'."),
        ("SELECT ?", "number of values differs"),
        ("SELECT abs(-9223372036854775808)", "integer overflow"),
        ("SELECT json('{')", "malformed JSON"),
        ("SELECT zeroblob(999999999)", "too big"),
        ("SELECT redact_start(1, 2)", "Only reading is allowed"),
    ],
)
def test_an_invalid_query_raises_an_error_with_a_hint(
    harness: StoreHarness, sql_reader: SqlReader, query: str, message: str
):
    harness.commit(make_record("a", "1"))

    with pytest.raises(UserError) as raised:
        run_query(sql_reader, query)

    assert message in raised.value.message
    assert raised.value.hint


def test_the_hint_for_an_unknown_view_lists_the_views(sql_reader: SqlReader):
    with pytest.raises(UserError) as raised:
        sql_reader.execute("SELECT * FROM records")

    assert all(view.name in raised.value.hint for view in VIEWS)


def test_a_value_too_large_for_sqlite_raises_an_error(sql_reader: SqlReader):
    with pytest.raises(UserError, match="too large"):
        sql_reader.execute("SELECT ?", [2**64])


_ENDLESS_QUERY = (
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT {} FROM n"
)


class TickingClock(FakeClock):
    """Clock that advances with every call."""

    def monotonic(self) -> float:
        self.advance(0.5)
        return super().monotonic()


@pytest.mark.parametrize("columns", ["count(*)", "i"])
def test_a_query_that_does_not_end_is_stopped(harness: StoreHarness, columns: str):
    with (
        SqlReader(harness.path, TickingClock(), list) as sql_reader,
        pytest.raises(UserError, match="took too long"),
    ):
        list(sql_reader.execute(_ENDLESS_QUERY.format(columns), timeout=10).rows)


def test_the_time_between_fetching_rows_does_not_count(
    harness: StoreHarness, clock: FakeClock
):
    with SqlReader(harness.path, clock, list) as sql_reader:
        rows = sql_reader.execute(_ENDLESS_QUERY.format("i"), timeout=1).rows
        for _ in range(1000):
            next(rows)
            clock.advance(60)

        assert next(rows) == (1001,)


def test_an_interrupt_is_not_reported_as_a_slow_query(
    harness: StoreHarness, clock: FakeClock
):
    with SqlReader(harness.path, clock, list) as sql_reader:
        run_query(sql_reader, "SELECT 1")
        sql_reader._db.set_progress_handler(lambda: 1, 1)

        with pytest.raises(KeyboardInterrupt):
            run_query(sql_reader, "SELECT count(*) FROM transcript_entries")


def test_damage_in_the_store_is_not_reported_as_an_invalid_query(
    harness: StoreHarness, sql_reader: SqlReader
):
    records = [make_record("x" * 9000, str(n)) for n in range(50)]
    harness.commit(*records)
    harness.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with harness.path.open("r+b") as file:
        # Overwrite all pages except the first.
        file.seek(8192)
        file.write(b"\xff" * (harness.path.stat().st_size - 8192))

    with pytest.raises(StoreUnusable):
        run_query(sql_reader, "SELECT content FROM transcript_entries")


def test_a_sql_reader_is_also_a_store_reader(
    harness: StoreHarness, sql_reader: SqlReader
):
    harness.commit(make_prompt("find me", "1"))
    run_query(sql_reader, "SELECT 1")

    with StoreReader(harness.path) as reader:
        assert sql_reader.list_sessions() == reader.list_sessions()
        query = Query(words=AllOf((Term("find"),)))
        matches = sql_reader.search(query).list_newest(5)
        assert matches == reader.search(query).list_newest(5)


def test_an_invalid_query_raises_a_leslied_error(sql_reader: SqlReader):
    with pytest.raises(LesliedError):
        sql_reader.execute("nonsense")
