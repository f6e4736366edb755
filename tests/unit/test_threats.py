"""Every row of the threat table has a test, and docs/security.md lists them."""

from __future__ import annotations

from tests.support.threats import PAGE, TABLE, render_page

ROWS = [row.id for row in TABLE.list_rows()]


def test_every_row_is_named_by_a_test():
    assert [row for row in ROWS if row not in TABLE.find_tests()] == []


def test_every_marker_names_rows_of_the_table():
    assert set(TABLE.find_tests()) <= set(ROWS)


def test_the_page_is_up_to_date():
    assert PAGE.read_text("utf-8") == render_page(), "run: make docs"


def test_no_row_failed_in_the_last_run():
    results = TABLE.load_results()["rows"]

    assert {
        row: result for row, result in results.items() if "passed" not in result
    } == {}
