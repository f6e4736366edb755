"""Tables whose rows are proved by tests: the rows, their tests, and their results.

A table is a TOML file, such as `threats.toml`. A test names the rows that it proves
with the table's marker, such as `@pytest.mark.threat("S1")`.
"""

from __future__ import annotations

import ast
import json
import platform
import subprocess
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table."""

    id: str
    title: str
    """What may happen: the threat or the fault, in one sentence."""
    behaviour: str
    not_run: str = ""
    """Why no test can run this row here."""


@dataclass(frozen=True, slots=True)
class Area:
    """Rows of one kind, with an optional note about all of them."""

    title: str
    note: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class RowTable:
    """A table, the marker that names its rows, and the results of the last run."""

    noun: str
    """Name of the marker, and of the key of a row's title in the TOML file."""
    path: Path
    results_path: Path

    def load_areas(self) -> list[Area]:
        """Load the table."""
        return [
            Area(
                area["title"],
                area.get("note", ""),
                tuple(self._iter_rows(area["rows"])),
            )
            for area in tomllib.loads(self.path.read_text("utf-8"))["areas"]
        ]

    def _iter_rows(self, rows: Mapping[str, Mapping[str, str]]) -> Iterator[Row]:
        for id_, row in rows.items():
            yield Row(
                id_,
                row[self.noun],
                " ".join(row["behaviour"].split()),
                " ".join(row.get("not_run", "").split()),
            )

    def list_rows(self) -> list[Row]:
        """Return the rows of all areas."""
        return [row for area in self.load_areas() for row in area.rows]

    def find_tests(self) -> Mapping[str, Sequence[str]]:
        """Return the ids of the tests that name each row, in the order of files."""
        return _find_tests(self.noun)

    def load_results(self) -> dict[str, Any]:
        """Return when and where the tests ran last, and the result of each row."""
        results: dict[str, Any] = json.loads(self.results_path.read_text("utf-8"))
        return results

    def render_overview(self) -> list[str]:
        """Return the lines of a table: each row, its tests and its result."""
        tests, results = self.find_tests(), self.load_results()["rows"]
        lines = [f"| row | {self.noun} | tests | result |", "|---|---|---|---|"]
        for row in self.list_rows():
            result = results.get(row.id, "not run")
            if row.not_run:
                result = f"not run here: {row.not_run}"
            link = f"[{row.id}](#{row.id.lower()})"
            count = len(tests.get(row.id, ()))
            lines.append(f"| {link} | {row.title} | {count} | {result} |")
        return lines

    def render_areas(self) -> list[str]:
        """Return the lines that list the behaviour and the tests of each row."""
        tests = self.find_tests()
        lines = []
        for area in self.load_areas():
            lines += ["", f"## {area.title}", *(["", area.note] if area.note else [])]
            for row in area.rows:
                lines += _render_row(row, tests.get(row.id, ()))
        return lines


@cache
def _find_tests(marker: str) -> dict[str, list[str]]:
    tests = defaultdict(list)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text("utf-8")
        if f"pytest.mark.{marker}" not in text:
            continue
        name = path.relative_to(ROOT).as_posix()
        for test_id, rows in iter_marked_tests(ast.parse(text), marker, name):
            for row in rows:
                tests[row].append(test_id)
    return dict(tests)


def iter_marked_tests(
    node: ast.Module | ast.ClassDef, marker: str, name: str, rows: Iterable[str] = ()
) -> Iterator[tuple[str, list[str]]]:
    """Yield the id of each marked test and the rows that its markers name.

    `rows` are those that markers of the module and of outer classes name.
    """
    rows = [*rows, *_find_rows(filter(_is_pytestmark, node.body), marker)]
    for child in node.body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef):
            child_rows = dict.fromkeys(
                [*rows, *_find_rows(child.decorator_list, marker)]
            )
            child_name = f"{name}::{child.name}"
            if isinstance(child, ast.ClassDef):
                yield from iter_marked_tests(child, marker, child_name, child_rows)
            elif child_rows and child.name.startswith("test_"):
                yield child_name, list(child_rows)


def _is_pytestmark(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"


def _find_rows(nodes: Iterable[ast.AST], marker: str) -> Iterator[str]:
    """Yield the rows that markers in these parts of the code name."""
    parts = [part for node in nodes for part in ast.walk(node)]
    for call in (part for part in parts if isinstance(part, ast.Call)):
        if ast.unparse(call.func) == f"pytest.mark.{marker}":
            for part in ast.walk(call):
                if isinstance(part, ast.Constant):
                    yield str(part.value)


def _render_row(row: Row, tests: Sequence[str]) -> list[str]:
    by_file: defaultdict[str, list[str]] = defaultdict(list)
    for test_id in tests:
        path, *names = test_id.split("::")
        by_file[path].append(names[-1].removeprefix("test_").replace("_", " "))
    lines = [
        *("", f"### {row.id}", ""),
        *(f"*{row.title}* {row.behaviour}", ""),
        *(f"- [{p}](../{p}): {'; '.join(names)}" for p, names in by_file.items()),
    ]
    return [*lines, f"- Not run here: {row.not_run}"] if row.not_run else lines


@dataclass(slots=True)
class Outcomes:
    """What happened to the tests of a row."""

    counts: Counter[str] = field(default_factory=Counter)
    skip_reasons: dict[str, None] = field(default_factory=dict)

    def format_result(self) -> str:
        """Return `passed`, or what else happened."""
        if self.counts["failed"]:
            return "**failed**"
        if self.counts["passed"]:
            is_complete = not self.counts["skipped"]
            return "passed" if is_complete else "passed, some skipped"
        reasons = "; ".join(self.skip_reasons)
        return f"skipped: {reasons}" if reasons else "not run"


class RowResults:
    """A pytest plugin that collects the outcomes of each row."""

    def __init__(self, table: RowTable) -> None:
        self._rows: defaultdict[str, list[str]] = defaultdict(list)
        for row, test_ids in table.find_tests().items():
            for test_id in test_ids:
                self._rows[test_id].append(row)
        self.outcomes: defaultdict[str, Outcomes] = defaultdict(Outcomes)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a test that ran, was skipped, or failed in a fixture."""
        if report.when != "call" and report.outcome == "passed":
            return
        for row in self._rows[report.nodeid.partition("[")[0]]:
            outcomes = self.outcomes[row]
            outcomes.counts[report.outcome] += 1
            if isinstance(report.longrepr, tuple):
                reason = report.longrepr[2].removeprefix("Skipped: ")
                outcomes.skip_reasons[reason] = None


def run_tests(table: RowTable, arguments: Sequence[str]) -> bool:
    """Run the marked tests, save and print the results; return whether all passed."""
    plugin = RowResults(table)
    exit_code = pytest.main(["-q", "-m", table.noun, *arguments], plugins=[plugin])
    rows = [row for row in table.list_rows() if not row.not_run]
    results = {row.id: plugin.outcomes[row.id].format_result() for row in rows}
    save_results(table, results)
    for row, result in results.items():
        print(f"{row:4} {result:22} {dict(plugin.outcomes[row].counts)}")
    is_complete = all("passed" in result for result in results.values())
    return exit_code == 0 and is_complete


def save_results(table: RowTable, results: Mapping[str, str]) -> None:
    """Save the result of each row with the date, the machine and the commit."""
    run = f"{platform.system()}, Python {platform.python_version()}"
    head = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "commit": read_commit()}
    text = json.dumps(head | {"run": run, "rows": dict(results)}, indent=1)
    table.results_path.write_text(text + "\n", encoding="utf-8")


def read_commit() -> str:
    """Return the short id of the current commit."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--short=8", "HEAD"]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    return process.stdout.strip()
