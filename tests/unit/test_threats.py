"""Every row of the threat table has a test, and docs/security.md lists them."""

from __future__ import annotations

import ast
import json

import pytest

from tests.support.threats import (
    PAGE,
    RESULTS,
    ROOT,
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


def test_every_marker_is_recognized():
    """A marker of a class or a module would not appear on the page."""
    marker_count, row_count = 0, 0
    for path in (ROOT / "tests").rglob("test_*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        marker_count += sum(
            isinstance(node, ast.Call)
            and ast.unparse(node.func) == "pytest.mark.threat"
            for node in ast.walk(tree)
        )
        row_count += len(list(iter_marked_tests(tree, path.name)))

    assert marker_count == row_count


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


def test_tests_in_classes_and_with_several_rows_are_found():
    tree = ast.parse(
        "class TestX:\n"
        "    @pytest.mark.threat('A1', 'A2')\n"
        "    @pytest.mark.heavy\n"
        "    def test_y(self): ...\n"
        "@pytest.mark.fault('B1')\n"
        "def test_z(): ...\n"
    )

    assert list(iter_marked_tests(tree, "f.py")) == [
        ("f.py::TestX::test_y", ["A1", "A2"])
    ]
