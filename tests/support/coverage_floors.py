"""Check measured coverage against the floors: `make coverage`.

Branch coverage of each pure package has to reach 95 %, and coverage of all lines and
branches 90 %. A package below its goal has an entry in `FLOORS`: its coverage when the
entry was added. Floors may only rise; remove an entry when the goal is reached.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PURE_PACKAGES = (
    "agents",
    "guide",
    "model",
    "prices",
    "redact",
    "rendering",
    "sessions",
    "sinks",
)
PURE_GOAL, WHOLE_GOAL = 95.0, 90.0
WHOLE = "leslied"

FLOORS: dict[str, float] = {
    "leslied.model": 94.4,
    "leslied.prices": 94.1,
    "leslied.sinks": 93.8,
}
"""Floors in percent of the packages below their goal. They may only rise."""


@dataclass(frozen=True)
class Measure:
    """Coverage of one package in percent, with its goal and its floor."""

    name: str
    percent: float
    goal: float
    floor: float

    @property
    def is_below_floor(self) -> bool:
        return self.percent < self.floor

    def format(self) -> str:
        """Return the line of this package in the printed table."""
        line = f"{self.name:20} {self.percent:6.2f} %"
        if self.is_below_floor:
            return f"{line}   {self.floor - self.percent:.2f} below {self.floor}"
        if self.percent < self.goal:
            missing = self.goal - self.percent
            return f"{line}   {missing:.2f} below the goal {self.goal}"
        if self.floor < self.goal:
            return f"{line}   reached the goal: remove its floor"
        return line


def measure(
    report: Mapping[str, Any], floors: Mapping[str, float] = FLOORS
) -> list[Measure]:
    """Return the measures of a `coverage json` report, the whole program last."""
    packages = [
        _make_measure(
            f"{WHOLE}.{package}", _compute_branch_percent(report, package), floors
        )
        for package in PURE_PACKAGES
    ]
    whole = float(report["totals"]["percent_covered"])
    return [*packages, _make_measure(WHOLE, whole, floors)]


def _make_measure(name: str, percent: float, floors: Mapping[str, float]) -> Measure:
    goal = WHOLE_GOAL if name == WHOLE else PURE_GOAL
    return Measure(name, percent, goal, floors.get(name, goal))


def _compute_branch_percent(report: Mapping[str, Any], package: str) -> float:
    """Return a package's branch coverage in percent."""
    folder = f"{WHOLE}/{package}/"
    files = [
        file["summary"]
        for path, file in report["files"].items()
        if path.startswith(folder)
    ]
    total = sum(summary["num_branches"] for summary in files)
    covered = sum(summary["covered_branches"] for summary in files)
    # A package without measurements must not pass.
    return 100.0 * covered / total if total else 0.0


def main(path: str) -> int:
    """Print every measure; return 1 if one is below its floor."""
    measures = measure(json.loads(Path(path).read_text()))
    print("Branches of pure packages, then lines and branches of everything:")
    print(*(item.format() for item in measures), sep="\n")
    return int(any(item.is_below_floor for item in measures))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
