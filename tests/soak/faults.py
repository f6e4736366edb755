"""Part `faults`: let each system call of a run fail once, in each way.

Every write, fsync, rename, unlink and ftruncate is hit with SIGKILL, ENOSPC and EIO,
each in a run of its own. An undisturbed run must then reach the state of a run without
faults. Needs strace.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import Any

from tests.soak.fault_bench import FAULTS, SCENARIOS, FaultBench, FaultPoint
from tests.soak.options import SoakOptions
from tests.soak.progress import Progress
from tests.soak.table import SoakRow, make_zero_row, read_stamp
from tests.soak.workers import run_in_workers

PART = "faults"
PROGRESS_EVERY = 50


def run(options: SoakOptions, progress: Progress) -> None:
    """Hit the points that are missing."""
    if not shutil.which("strace"):
        print("faults: strace is not installed, so no call can be made to fail.")
        return
    points = list_points(options.scratch)[: options.fault_points]
    done = {_get_point(item) for item in progress.items}
    missing = [point for point in points if point not in done]
    hit = partial(hit_point, options.scratch, options.state)
    for result in run_in_workers(hit, missing, options.workers):
        progress.add(total=len(points), **result)
        if result["problems"]:
            print(format_failure(result), flush=True)
        if len(progress.items) % PROGRESS_EVERY == 0:
            print(f"faults: {len(progress.items):,} of {len(points):,}", flush=True)


def format_failure(item: dict[str, Any]) -> str:
    """Return one line: the call that failed, and what is wrong after it."""
    point = _get_point(item)
    place = f"{point.scenario}, {point.syscall} {point.number}, {point.fault}"
    return f"faults: {place}: {'; '.join(item['problems'])}"


def _get_point(item: dict[str, Any]) -> FaultPoint:
    return FaultPoint(**{name: item[name] for name in FaultPoint.__annotations__})


def list_points(scratch: Path) -> list[FaultPoint]:
    """Return every call of an undisturbed run of each scenario, with each fault.

    Calls that are made rarely come first, so that a part of the points has all kinds.
    """
    points = [
        FaultPoint(scenario, syscall, number, fault)
        for scenario in SCENARIOS
        for syscall, count in _get_bench(scratch, scenario).count_calls().items()
        for number in range(1, count + 1)
        for fault in FAULTS
    ]
    return sorted(points, key=lambda point: point.number)


@cache
def _make_bench(scratch: Path, scenario: str, pid: int) -> FaultBench:
    folder = scratch / f"faults-{pid}-{scenario.replace(' ', '-')}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return FaultBench(folder, scenario)


def _get_bench(scratch: Path, scenario: str) -> FaultBench:
    """Return the home of this process for a scenario."""
    return _make_bench(scratch, scenario, os.getpid())


def hit_point(scratch: Path, state: Path, point: FaultPoint) -> dict[str, Any]:
    """Let one call fail and recover; keep the home if the state is wrong."""
    bench = _get_bench(scratch, point.scenario)
    is_hit, problems = False, []
    try:
        is_hit = bench.hit(point)
        problems = bench.recover() if is_hit else []
    except subprocess.TimeoutExpired:
        problems = ["the run hangs"]
    except Exception as error:  # noqa: BLE001 - the other points are worth hitting
        problems = [f"{type(error).__name__}: {error}"[:500]]
    if problems:
        name = f"{point.scenario}-{point.syscall}-{point.number}-{point.fault}"
        bench.keep(state / "failed" / name.replace(" ", "-"))
    return asdict(point) | {"is_hit": is_hit, "problems": problems}


def list_rows(progress: Progress, options: SoakOptions) -> list[SoakRow]:
    """Return the figures of all points that were tried."""
    stamp = read_stamp(progress.items)
    items = progress.items
    goal = items[-1]["total"]
    hits = [item for item in items if item["is_hit"]]
    rows = [
        SoakRow(
            PART,
            "system calls hit with SIGKILL, ENOSPC or EIO",
            f"{len(hits):,}",
            f"{goal:,}",
            len(hits) == goal,
            **stamp,
        )
    ]
    for fault in FAULTS:
        wrong = sum(bool(i["problems"]) for i in items if i["fault"] == fault)
        what = f"wrong state, error or hang after {fault}"
        rows.append(make_zero_row(PART, what, wrong, **stamp))
    return rows
