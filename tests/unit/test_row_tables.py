"""Rows of a table, the tests that name them, and the results of these tests."""

from __future__ import annotations

import ast
import json
from collections import Counter
from pathlib import Path

import pytest

from tests.support.row_tables import (
    Outcomes,
    Row,
    RowResults,
    RowTable,
    iter_marked_tests,
    save_results,
)
from tests.support.threats import TABLE

TEXT = """
[[areas]]
title = "Bytes"
[areas.rows.A1]
fault = "A line is torn."
behaviour = \"\"\"
It is read
once.\"\"\"
[areas.rows.A2]
fault = "A file is locked."
behaviour = "It is read."
not_run = "Nothing locks files here."
"""


@pytest.fixture
def table(tmp_path: Path) -> RowTable:
    """Return a table of two rows that no test names."""
    path = tmp_path / "faults.toml"
    path.write_text(TEXT)
    return RowTable("no_such_marker", path, tmp_path / "results.json")


@pytest.fixture
def faults(table: RowTable) -> RowTable:
    """Return the same table with the marker of its rows."""
    return RowTable("fault", table.path, table.results_path)


def make_report(
    nodeid: str, outcome: str, when: str = "call", longrepr: object = None
) -> pytest.TestReport:
    return pytest.TestReport(nodeid, ("", 0, ""), {}, outcome, longrepr, when)  # type: ignore[arg-type]


def test_a_row_has_its_texts_in_one_line_each(faults: RowTable):
    first, second = faults.list_rows()

    assert first == Row("A1", "A line is torn.", "It is read once.")
    assert second.not_run == "Nothing locks files here."


def test_the_overview_shows_the_result_or_why_there_is_none(faults: RowTable):
    save_results(faults, {"A1": "**failed**"})

    lines = faults.render_overview()

    assert lines[-2].endswith("| **failed** |")
    assert lines[-1].endswith("| not run here: Nothing locks files here. |")


def test_a_row_without_a_result_was_not_run(faults: RowTable):
    save_results(faults, {})

    assert faults.render_overview()[-2].endswith("| not run |")


def test_results_are_saved_with_date_and_commit(table: RowTable):
    save_results(table, {"A1": "passed"})

    results = json.loads(table.results_path.read_text())
    assert results["rows"] == {"A1": "passed"}
    assert results["date"]
    assert len(results["commit"]) == 8


def test_the_areas_list_tests_by_file():
    lines = TABLE.render_areas()

    assert "### P2" in lines
    assert any(
        line.startswith("- [tests/unit/test_folders.py](../tests/unit/test_folders.py)")
        for line in lines
    )


def test_the_areas_say_which_rows_cannot_be_run(faults: RowTable):
    assert faults.render_areas()[-1] == "- Not run here: Nothing locks files here."


@pytest.mark.parametrize(
    ("counts", "reasons", "result"),
    [
        ({"passed": 2}, [], "passed"),
        ({"passed": 2, "skipped": 1}, ["no strace"], "passed, some skipped"),
        ({"passed": 2, "failed": 1}, [], "**failed**"),
        ({"skipped": 1}, ["no strace"], "skipped: no strace"),
        ({}, [], "not run"),
    ],
)
def test_the_result_of_a_row_is_that_of_all_its_tests(
    counts: dict, reasons: list[str], result: str
):
    outcomes = Outcomes(Counter(counts), dict.fromkeys(reasons))

    assert outcomes.format_result() == result


def test_outcomes_are_counted_for_the_rows_that_a_test_names():
    results = RowResults(TABLE)
    test_id = TABLE.find_tests()["P2"][0]
    results.pytest_runtest_logreport(make_report(test_id, "passed", when="setup"))
    results.pytest_runtest_logreport(make_report(f"{test_id}[x]", "passed"))
    skip = ("f.py", 1, "Skipped: no strace")
    results.pytest_runtest_logreport(make_report(test_id, "skipped", longrepr=skip))

    outcomes = results.outcomes["P2"]
    assert outcomes.counts == {"passed": 1, "skipped": 1}
    assert list(outcomes.skip_reasons) == ["no strace"]


def test_an_error_in_a_fixture_is_a_failure_of_its_row():
    results = RowResults(TABLE)
    test_id = TABLE.find_tests()["P2"][0]
    results.pytest_runtest_logreport(make_report(test_id, "failed", when="setup"))

    assert results.outcomes["P2"].format_result() == "**failed**"


def test_markers_of_modules_classes_and_tests_are_found():
    tree = ast.parse(
        "pytestmark = [pytest.mark.e2e, pytest.mark.threat('A1')]\n"
        "@pytest.mark.threat('A2')\n"
        "class TestX:\n"
        "    @pytest.mark.threat('A3', *('A1', 'A4'))\n"
        "    def test_y(self): ...\n"
        "@pytest.mark.fault('B1')\n"
        "def test_z(): ...\n"
        "def helper(): ...\n"
    )

    assert list(iter_marked_tests(tree, "threat", "f.py")) == [
        ("f.py::TestX::test_y", ["A1", "A2", "A3", "A4"]),
        ("f.py::test_z", ["A1"]),
    ]


def test_a_test_without_a_marker_is_not_found():
    tree = ast.parse("@pytest.mark.fault('B1')\ndef test_z(): ...\n")

    assert list(iter_marked_tests(tree, "threat", "f.py")) == []
