"""The table of a soak, and the file from which docs/reliability.md shows it."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.bench.results import read_cpu_name
from tests.soak.progress import ROOT, Code

RESULTS = ROOT / "tests/support/reliability/soak.json"
PARTS = ("kills", "faults", "load", "poison", "stop", "fuzz")


@dataclass(frozen=True)
class SoakRow:
    """One figure beside its goal."""

    part: str
    what: str
    figure: str
    goal: str = ""
    met: bool | None = None
    date: str = ""
    commit: str = ""


def make_zero_row(part: str, what: str, count: int, **stamp: str) -> SoakRow:
    """Return a row whose goal is 0."""
    return SoakRow(part, what, f"{count:,}", "0", count == 0, **stamp)


def make_count_row(
    part: str, what: str, count: int, goal: int, **stamp: str
) -> SoakRow:
    """Return a row whose goal is to reach a number."""
    return SoakRow(part, what, f"{count:,}", f"≥ {goal:,}", count >= goal, **stamp)


def make_limit_row(
    part: str, what: str, value: float, limit: float, unit: str, **stamp: str
) -> SoakRow:
    """Return a row whose goal is to stay within a limit."""
    figure = f"{value:.2f}" if value < 10 else f"{value:,.0f}"
    return SoakRow(
        part, what, f"{figure} {unit}", f"≤ {limit:g} {unit}", value <= limit, **stamp
    )


def read_stamp(items: list[dict[str, Any]]) -> dict[str, str]:
    """Return date and commit of the newest piece of work."""
    return {name: items[-1][name] for name in ("date", "commit")}


def describe_machine() -> str:
    return (
        f"{os.cpu_count()} cores ({read_cpu_name()}), Linux {platform.release()}, "
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    )


def load_rows(path: Path = RESULTS) -> list[SoakRow]:
    """Return the rows of earlier soaks; none if there was no soak."""
    if not path.exists():
        return []
    results = json.loads(path.read_text("utf-8"))
    return [SoakRow(**row) for row in results["rows"]]


def replace_rows(old: Iterable[SoakRow], new: list[SoakRow]) -> list[SoakRow]:
    """Return all rows; new ones replace all old rows of their parts."""
    new_parts = {row.part for row in new}
    rows = [row for row in old if row.part not in new_parts] + new
    return sorted(rows, key=lambda row: PARTS.index(row.part))


def save_rows(rows: list[SoakRow], code: Code, path: Path = RESULTS) -> None:
    """Write the rows for docs/reliability.md."""
    results = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "commit": code.commit,
        "machine": describe_machine(),
        "rows": [asdict(row) for row in rows],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=2, ensure_ascii=False) + "\n"
    path.write_text(text, "utf-8")


def format_table(rows: list[SoakRow]) -> str:
    """Return the rows as a table for the terminal."""
    marks = {True: "met", False: "MISSED", None: ""}
    cells = [("part", "what", "figure", "goal", "")]
    cells += [(r.part, r.what, r.figure, r.goal, marks[r.met]) for r in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) for cell, width in zip(line, widths, strict=True)
        ).rstrip()
        for line in cells
    )
