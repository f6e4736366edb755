"""Results of a bench: JSON lines that survive an interruption, and their statistics."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import statistics
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from tests.bench.peers import PEERS
from tests.bench.rows import Row, Sample


class Spread(NamedTuple):
    """The median of some runs, the extremes, and the number of runs."""

    median: float
    least: float
    largest: float
    runs: int


class Figures(NamedTuple):
    """What a row shows: our figure, the peer's, and what is allowed."""

    ours: Spread | None
    peer: Spread | None
    limit: float | None

    @property
    def ratio(self) -> float | None:
        if self.ours is None or self.peer is None or not self.peer.median:
            return None
        return self.ours.median / self.peer.median

    @property
    def is_met(self) -> bool | None:
        """Whether the goal is met; None without a goal or a figure."""
        if self.ours is None or self.limit is None:
            return None
        return self.ours.median <= self.limit


@dataclass(frozen=True, slots=True)
class Result:
    """One run of one program, or why it failed."""

    task: str
    program: str
    commit: str
    date: str
    sample: Sample = field(default_factory=dict)
    error: str = ""
    seconds: float = 0.0
    """How long the measurement took, with its preparation."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Where and when a bench ran."""

    date: str
    commit: str
    cpu: str
    cores: int
    kernel: str
    python: str
    sqlite: str
    is_isolated: bool
    load_before: float
    load_after: float | None = None
    problems: list[str] = field(default_factory=list)

    def describe(self) -> Iterator[str]:
        """Yield sentences for the page."""
        yield (
            f"Measured on {self.date} at commit {self.commit} on {self.cores} cores "
            f"({self.cpu}), Linux {self.kernel}, Python {self.python}, "
            f"SQLite {self.sqlite}."
        )
        after = "unknown" if self.load_after is None else f"{self.load_after:.1f}"
        yield f"The load was {self.load_before:.1f} before and {after} after the bench."
        if self.is_isolated:
            yield "No program had a network, except for loopback."
        else:
            yield "The network could not be taken away on this machine."
        yield from (
            f"{problem}: its rows have no figures." for problem in self.problems
        )


def read_machine(root: Path, *, is_isolated: bool, problems: list[str]) -> Machine:
    """Describe this machine, now."""
    return Machine(
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        commit=read_commit(root),
        cpu=read_cpu_name(),
        cores=os.cpu_count() or 0,
        kernel=platform.release(),
        python=platform.python_version(),
        sqlite=sqlite3.sqlite_version,
        is_isolated=is_isolated,
        load_before=os.getloadavg()[0],
        problems=problems,
    )


def read_cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if "model name" in line]
    return names[0] if names else platform.machine()


def read_commit(root: Path) -> str:
    """Return the short commit, with a mark if leslied or the bench was changed."""
    changed = _run_git(root, "status", "--porcelain", "--", "leslied", "tests/bench")
    return _run_git(root, "rev-parse", "--short", "HEAD") + ("+" if changed else "")


def _run_git(root: Path, *args: str) -> str:
    command = ["git", "-C", str(root), *args]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    return process.stdout.strip()


class ResultFile:
    """Results of all benches, one JSON object in each line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.results: list[Result] = []
        self.machine: Machine | None = None
        for line in path.read_text("utf-8").splitlines() if path.exists() else ():
            self._load(json.loads(line))

    def _load(self, line: dict) -> None:
        if "machine" in line:
            self._set_machine(Machine(**line["machine"]))
        elif "forget" in line:
            self.results = [r for r in self.results if r.task != line["forget"]]
        else:
            self.results.append(Result(**line))

    def _set_machine(self, machine: Machine) -> None:
        """Set the machine; a bench that continues keeps the load before its start."""
        if self.machine and self.machine.commit == machine.commit:
            machine = replace(machine, load_before=self.machine.load_before)
        self.machine = machine

    def add(self, result: Result) -> None:
        self._append(asdict(result))

    def add_machine(self, machine: Machine) -> None:
        self._append({"machine": asdict(machine)})

    def forget(self, task: str) -> None:
        """Forget the results of a task, because it is measured again."""
        self._append({"forget": task})

    def _append(self, line: dict) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        self._load(line)

    def list_results(self, task: str, program: str) -> list[Result]:
        """Return the results of a program at the commit that was measured last."""
        results = [r for r in self.results if (r.task, r.program) == (task, program)]
        return [r for r in results if r.commit == results[-1].commit]

    def count_runs(self, task: str, program: str, commit: str) -> int:
        """Return how often a program was measured at a commit."""
        results = self.list_results(task, program)
        return sum(r.commit == commit for r in results)

    def get_spread(self, task: str, program: str, figure: str) -> Spread | None:
        """Return the statistics of a figure, or None if it was not measured."""
        values = [
            result.sample[figure]
            for result in self.list_results(task, program)
            if figure in result.sample
        ]
        if not values:
            return None
        median = statistics.median(values)
        return Spread(median, min(values), max(values), len(values))

    def get_figures(self, row: Row) -> Figures:
        """Return what a row shows."""
        ours = self.get_spread(row.task.name, row.program, row.figure)
        peer = None
        if row.peer:
            figure = row.peer_figure or row.figure
            peer = self.get_spread(row.task.name, row.peer, figure)
        limit = row.goal and row.goal.get_limit(peer and peer.median)
        return Figures(ours, peer, limit)

    def has_run(self, row: Row) -> bool:
        """Return whether a row was measured, even if it failed."""
        return bool(self.list_results(row.task.name, row.program))

    def find_error(self, row: Row) -> str:
        """Return why a row has no figure of ours, or an empty string."""
        errors = [r.error for r in self.list_results(row.task.name, row.program)]
        return next((error for error in errors if error), "")


def list_peer_versions() -> str:
    """Return the names and versions of the peers for the page."""
    return ", ".join(f"{peer.name} {peer.version}" for peer in PEERS.values())
