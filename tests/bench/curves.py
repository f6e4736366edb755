"""Rows about growth: what an operation costs when there is ten times as much."""

from __future__ import annotations

import math
from collections.abc import Callable

from tests.bench.environment import Bench
from tests.bench.rows import Goal, Program, Row, Sample, Task

AXES = (
    "sessions",
    "threads of a project",
    "units of a session",
    "subagents of a session",
    "log in 10 KB",
    "tombstones",
)
SIZES, QUICK_SIZES = (10, 100, 1000), (10, 100)
OPERATIONS = (
    "append a line",
    "settle a unit",
    "update relations",
    "update asset index",
    "archive the unit",
    "scan, nothing new",
    "list",
    "search",
    "stats --by day",
)
LINEAR = "scan, nothing new"
"""Operation that looks at every log, and so grows with their number."""
LEAST_MS = 1.0
"""An operation that takes less at the largest size is cheap enough."""


def make_task_name(axis: str) -> str:
    return f"growth {axis}"


def measure_growth(axis: str) -> Callable[[Bench], Sample]:
    """Measure all operations at three sizes; exponents are those of the last step."""

    def measure(bench: Bench) -> Sample:
        from tests.bench import growth  # noqa: PLC0415

        sizes = QUICK_SIZES if bench.is_quick else SIZES
        costs = [growth.measure_axis(axis, size) for size in sizes]
        sample = {}
        for name in OPERATIONS:
            cpu_ms = [each[name].cpu_ms for each in costs]
            for size, value in zip(sizes, cpu_ms, strict=True):
                sample[f"{name}, {size}"] = value
            ratio = math.log(cpu_ms[-1] / cpu_ms[-2])
            sample[name] = ratio / math.log(sizes[-1] / sizes[-2])
        steep = [
            sample[name]
            for name in OPERATIONS
            if name != LINEAR and costs[-1][name].cpu_ms >= LEAST_MS
        ]
        return sample | {"largest": max(steep, default=0.0)}

    return measure


ROWS = [
    Row(
        "Growth",
        f"growth with {axis}: largest exponent",
        Task(
            make_task_name(axis),
            (Program("leslied", measure_growth(axis), 1),),
            is_quick=False,
        ),
        "largest",
        "",
        goal=Goal(limit=0.3),
    )
    for axis in AXES
]
