"""Every row of the threat table has a test, and docs/security.md lists them."""

from __future__ import annotations

import ast
import json

import pytest

from tests.support.threats import (
    PAGE,
    RESULTS,
    find_tests,
    format_result,
    iter_marked_tests,
    load_areas,
    render_page,
)

ROWS = [threat.id for area in load_areas() for threat in area.threats]


def test_every_row_is_named_by_a_test():
    assert [row for row in ROWS if row not in find_tests()] == []


def test_every_marker_names_rows_of_the_table():
    assert set(find_tests()) <= set(ROWS)


def test_the_page_is_up_to_date():
    assert PAGE.read_text("utf-8") == render_page(), "run: make docs"


def test_no_row_failed_in_the_last_run():
    results = json.loads(RESULTS.read_text("utf-8"))["rows"]

    assert {
        row: result for row, result in results.items() if "passed" not in result
    } == {}


@pytest.mark.parametrize(
    ("outcomes", "result"),
    [
        ({"passed": 2}, "passed"),
        ({"passed": 2, "skipped": 1}, "passed, some skipped"),
        ({"passed": 2, "failed": 1}, "**failed**"),
        ({"skipped": 1}, "not run"),
        ({}, "not run"),
    ],
)
def test_the_result_of_a_row_is_that_of_all_its_tests(outcomes: dict, result: str):
    assert format_result(outcomes) == result


def test_markers_of_modules_classes_and_tests_are_found():
    tree = ast.parse(
        "pytestmark = [pytest.mark.e2e, pytest.mark.threat('A1')]\n"
        "@pytest.mark.threat('A2')\n"
        "class TestX:\n"
        "    @pytest.mark.threat('A3', 'A1')\n"
        "    def test_y(self): ...\n"
        "@pytest.mark.fault('B1')\n"
        "def test_z(): ...\n"
        "def helper(): ...\n"
    )

    assert list(iter_marked_tests(tree, "f.py")) == [
        ("f.py::TestX::test_y", ["A1", "A2", "A3"]),
        ("f.py::test_z", ["A1"]),
    ]


def test_a_test_without_a_marker_is_not_found():
    tree = ast.parse("@pytest.mark.fault('B1')\ndef test_z(): ...\n")

    assert list(iter_marked_tests(tree, "f.py")) == []
