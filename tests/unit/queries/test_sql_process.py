"""Queries in a child process: results, errors, and what ends the process."""

from __future__ import annotations

import os
from functools import partial

import pytest

from leslied.app import App
from leslied.clock import SystemClock
from leslied.errors import UserError
from leslied.queries.sql_process import MAX_CELL_LENGTH, execute_in_child
from tests.support.clock import FakeClock
from tests.support.queries import SECRET

CLOCK = SystemClock()


def has_child() -> bool:
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return False
    return True


def test_a_child_process_returns_the_rows_of_a_query_and_ends(app: App):
    query = "SELECT 1 AS a, 'é' AS b, NULL AS c, 1.5 AS d, x'00ff' AS e"

    with execute_in_child(app.open_sql, query, 60, CLOCK) as result:
        rows = list(result.rows)

    assert result.columns == ("a", "b", "c", "d", "e")
    assert rows == [(1, "é", None, 1.5, b"\0\xff")]
    assert not has_child()


def test_many_rows_arrive_in_order(app: App):
    query = (
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000) "
        "SELECT i FROM n"
    )

    with execute_in_child(app.open_sql, query, 60, CLOCK) as result:
        assert [number for (number,) in result.rows] == list(range(1, 3001))


def test_secrets_are_redacted_unless_revealed(app: App):
    query = "SELECT title FROM sessions"
    outputs = []
    for open_queries in (app.open_sql, partial(app.open_sql, reveal=True)):
        with execute_in_child(open_queries, query, 60, CLOCK) as result:
            outputs.append(repr(list(result.rows)))

    assert [SECRET in output for output in outputs] == [False, True]


def test_the_error_of_a_query_is_raised(app: App):
    with (
        pytest.raises(UserError, match="There is no column") as raised,
        execute_in_child(app.open_sql, "SELECT soup", 60, CLOCK),
    ):
        pass

    assert "--views" in raised.value.hint
    assert not has_child()


@pytest.mark.threat("W7")
def test_a_function_that_works_for_minutes_is_stopped(app: App):
    query = "SELECT instr(zeroblob(100000000), zeroblob(50000000) || x'01')"

    with (
        pytest.raises(UserError, match="took too long"),
        execute_in_child(app.open_sql, query, 0.1, CLOCK) as result,
    ):
        list(result.rows)

    assert not has_child()


@pytest.mark.threat("W7")
def test_a_query_that_needs_too_much_memory_is_stopped(app: App):
    query = "SELECT " + ", ".join(["zeroblob(250000000)"] * 8)

    with (
        pytest.raises(UserError, match="too much memory"),
        execute_in_child(app.open_sql, query, 60, CLOCK) as result,
    ):
        list(result.rows)


def test_a_long_cell_is_cut(app: App):
    query = f"SELECT printf('%.*c', {MAX_CELL_LENGTH + 1}, 'x'), zeroblob(5000000)"

    with execute_in_child(app.open_sql, query, 60, CLOCK) as result:
        ((text, digits),) = result.rows

    assert text.startswith("x" * MAX_CELL_LENGTH + "… [cut:")
    assert digits.startswith("00" * MAX_CELL_LENGTH + "… [cut:")


def test_time_between_fetching_rows_does_not_count(app: App):
    clock = FakeClock()
    query = "VALUES (1), (2)"

    with execute_in_child(app.open_sql, query, 1, clock) as result:
        clock.advance(60)

        assert list(result.rows) == [(1,), (2,)]


def test_leaving_early_ends_the_child(app: App):
    query = (
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
        "SELECT i FROM n"
    )

    with execute_in_child(app.open_sql, query, 60, CLOCK) as result:
        assert next(result.rows) == (1,)

    assert not has_child()
