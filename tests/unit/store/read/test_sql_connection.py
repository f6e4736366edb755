"""The connection of users' queries: what it lets through, and redaction in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leslied.errors import UserError
from leslied.store import SqlReader
from leslied.store.read.view import MAX_CELL_CHARACTERS
from tests.support.clock import FakeClock
from tests.support.records import StoreHarness, make_call, make_key, make_record

SECRET = "hunter2"


def redact(text: str) -> str:
    return text.replace(SECRET, "***")


@pytest.fixture
def harness(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as harness:
        yield harness


@pytest.fixture
def sql_reader(harness: StoreHarness, clock: FakeClock) -> Iterator[SqlReader]:
    with SqlReader(harness.path, clock, list, redact) as sql_reader:
        yield sql_reader


def run_query(sql_reader: SqlReader, query: str) -> list[tuple[Any, ...]]:
    return list(sql_reader.execute(query).rows)


@pytest.mark.threat("S1", "S4")
@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("content", "a ***"),
        ("hex(content)", b"a ***".hex().upper()),
        ("substr(content, 3)", "***"),
        ("replace(content, ' ', '')", "a***"),
        ("unicode(substr(content, 3))", ord("*")),
        ("content LIKE '%hunter2%'", 0),
        ("content GLOB '*[h]*2'", 0),
        ("instr(content, 'hunter')", 0),
        ("json_quote(content)", '"a ***"'),
        ("length(content)", 5),
    ],
)
def test_functions_see_redacted_text(
    harness: StoreHarness, sql_reader: SqlReader, expression: str, expected: Any
):
    harness.commit(make_record(f"a {SECRET}", "1"))

    query = f"SELECT {expression} FROM transcript_entries"

    assert run_query(sql_reader, query) == [(expected,)]


@pytest.mark.threat("S2")
def test_an_excerpt_is_redacted_before_it_is_cut(
    harness: StoreHarness, sql_reader: SqlReader
):
    harness.commit(make_record("x" * 196 + SECRET, "1"))

    ((excerpt,),) = run_query(sql_reader, "SELECT excerpt FROM transcript_flow")

    assert "hunt" not in excerpt


@pytest.mark.threat("S1")
@pytest.mark.parametrize(
    "query",
    [
        "SELECT content FROM record",
        "SELECT content FROM main.record",
        "SELECT (SELECT content FROM record)",
        "SELECT 1 FROM record WHERE content LIKE 'h%'",
        "WITH units AS (SELECT content FROM record) SELECT * FROM units",
        "SELECT * FROM transcript_entries JOIN record USING (entry_id)",
        "SELECT text FROM record_text",
        "SELECT snippet(record_text, 0, '', '', '', 5) FROM record_text",
        "SELECT sql FROM sqlite_schema",
        "SELECT * FROM sqlite_temp_schema",
        "SELECT * FROM session_names",
        "SELECT * FROM session_list",
    ],
)
def test_tables_cannot_be_read_past_the_views(
    harness: StoreHarness, sql_reader: SqlReader, query: str
):
    harness.commit(make_record(SECRET, "1"))

    with pytest.raises(UserError, match="Only the views can be read") as raised:
        run_query(sql_reader, query)

    assert "--reveal" in raised.value.hint


@pytest.mark.threat("S1")
def test_functions_of_the_views_cannot_be_called(
    harness: StoreHarness, sql_reader: SqlReader
):
    harness.commit(make_call(SECRET, "c"))

    with pytest.raises(UserError, match="Only reading is allowed"):
        run_query(sql_reader, "SELECT call_of(1, 'c')")


def test_tables_can_be_read_if_secrets_are_revealed(
    harness: StoreHarness, clock: FakeClock
):
    harness.commit(make_record(SECRET, "1"))

    with SqlReader(harness.path, clock, list) as sql_reader:
        assert run_query(sql_reader, "SELECT content FROM record") == [(SECRET,)]


def test_counting_redacts_nothing(harness: StoreHarness, clock: FakeClock):
    texts: list[str] = []

    def record_text(text: str) -> str:
        texts.append(text)
        return text

    harness.commit(make_record("content", "1", model="model"))
    with SqlReader(harness.path, clock, list, record_text) as sql_reader:
        run_query(sql_reader, "SELECT count(*) FROM transcript_entries WHERE unit >= 0")

    assert not {"content", "model"} & set(texts)


def test_a_secret_in_the_name_of_a_subagent_is_redacted(
    harness: StoreHarness, sql_reader: SqlReader
):
    harness.commit(make_record("a", "1", session=make_key("s", f"subagent:{SECRET}")))

    query = "SELECT hex(source) FROM transcript_entries"

    assert run_query(sql_reader, query) == [(b"subagent:***".hex().upper(),)]


def test_a_session_that_was_added_later_has_a_name(
    harness: StoreHarness, sql_reader: SqlReader
):
    query = "SELECT session_id FROM transcript_entries"
    harness.commit(make_record("a", "1"))
    assert run_query(sql_reader, query) == [("s",)]

    harness.commit(make_record("b", "2", session=make_key("t")), log="b.jsonl")

    assert run_query(sql_reader, query) == [("s",), ("t",)]


def test_json_that_redaction_breaks_becomes_a_json_string(
    harness: StoreHarness, clock: FakeClock
):
    tool_input = '{"a":"hunter2"}'
    harness.commit(make_call("Bash", "c", tool_input=tool_input))
    query = "SELECT input, json_extract(input, '$.a') FROM transcript_tools"

    def break_json(text: str) -> str:
        return text.replace('hunter2"', "***")

    with SqlReader(harness.path, clock, list, break_json) as sql_reader:
        rows = run_query(sql_reader, query)

    assert rows == [(json.dumps('{"a":"***}'), None)]


def test_a_long_text_is_cut_and_says_so(harness: StoreHarness, sql_reader: SqlReader):
    size = MAX_CELL_CHARACTERS + 1000
    harness.commit(make_record("x" * size, "1"))

    ((content,),) = run_query(sql_reader, "SELECT content FROM transcript_entries")

    assert len(content) < MAX_CELL_CHARACTERS
    assert content.endswith("characters; see it with: leslied show]")
