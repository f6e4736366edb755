"""What `make bench` measures: the table's rows, their goals, and the tasks behind them.

A task runs programs in turn and gets a sample from each run: figures by name. A row
shows one figure of a task. To add rows, write a module with tasks and rows like
`tests/bench/sync.py`, and add its ROWS to `load_rows` below.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.bench.environment import Bench

Sample = Mapping[str, float]
"""Figures of one run, by name; `NAME cpu` and `NAME rss` belong to `NAME`."""
OURS = "leslied"
DEFAULT_RUNS = 5
MODULES = (
    "sync",
    "append",
    "live",
    "hook",
    "questions",
    "idle",
    "curves",
    "speed",
    "web",
)
"""Modules of this package with ROWS, in the order of the page."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program that a task measures; without a peer of its name, it is skipped."""

    name: str
    measure: Callable[[Bench], Sample]
    runs: int = DEFAULT_RUNS


@dataclass(frozen=True, slots=True)
class Task:
    """Programs that are measured in turn, each once per round."""

    name: str
    programs: tuple[Program, ...]
    corpora: tuple[str, ...] = ()
    is_quick: bool = True
    """Whether `make bench-quick` has time for it."""


@dataclass(frozen=True, slots=True)
class Goal:
    """The most that a figure may be: a multiple of the peer's, plus a constant."""

    factor: float = 0
    limit: float = 0

    def get_limit(self, peer: float | None) -> float | None:
        """Return the largest figure that meets the goal, or None without a peer."""
        if self.factor and peer is None:
            return None
        return self.factor * (peer or 0) + self.limit

    def format(self, unit: str) -> str:
        parts = []
        if self.factor:
            parts.append(f"{self.factor:g} ×")
        if self.limit:
            parts.append(f"{self.limit:g} {unit}".strip())
        return "≤ " + " + ".join(parts)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: a figure of a task, beside a peer's."""

    section: str
    name: str
    task: Task
    figure: str
    unit: str = "s"
    peer: str = ""
    peer_figure: str = ""
    """The peer's figure; the same as ours if empty."""
    goal: Goal | None = None
    program: str = OURS

    def with_goal(self, goal: Goal | None) -> Row:
        return replace(self, goal=goal)

    def __post_init__(self) -> None:
        names = {program.name for program in self.task.programs}
        assert {self.program, self.peer} - {""} <= names, self.name


def load_rows() -> list[Row]:
    """Return all rows, in the order of the page."""
    modules = (importlib.import_module(f"tests.bench.{name}") for name in MODULES)
    return [row for module in modules for row in module.ROWS]
