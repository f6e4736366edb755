"""Rows about a daemon at work: how soon appended lines are in the store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.bench.environment import Bench
from tests.bench.rows import Goal, Program, Row, Sample, Task

SECONDS, QUICK_SECONDS = 30.0, 8.0


def measure_load(**options: Any) -> Callable[[Bench], Sample]:
    """Append lines at a rate while the daemon runs; end it while it is busy."""

    def measure(bench: Bench) -> Sample:
        from tests.bench.load import Load  # noqa: PLC0415
        from tests.bench.load import measure_load as run_load  # noqa: PLC0415

        seconds = QUICK_SECONDS if bench.is_quick else SECONDS
        result = run_load(Load(seconds=seconds, **options))
        assert result.lost == 0, f"{result.lost} lines were lost"
        return {
            "p50": 1000 * result.get_percentile(50),
            "p99": 1000 * result.get_percentile(99),
            "rss": result.total_mb,
            "sigterm": result.sigterm_seconds,
        }

    return measure


def make_rows(name: str, label: str, goals: dict[str, float], **load: Any) -> list[Row]:
    """Make the rows of one load."""
    task = Task(f"live {name}", (Program("leslied", measure_load(**load), 3),))
    figures = {
        "p50": ("append to commit, p50", "ms"),
        "p99": ("append to commit, p99", "ms"),
        "rss": ("RSS of all processes", "MB"),
        "sigterm": ("end after SIGTERM", "s"),
    }
    return [
        Row("Live", f"{label}: {what}", task, figure, unit).with_goal(
            Goal(limit=goals[figure]) if figure in goals else None
        )
        for figure, (what, unit) in figures.items()
    ]


ROWS = [
    *make_rows(
        "quiet", "1 session × 5 lines/s", {"p50": 10, "p99": 50}, sessions=1, rate=5.0
    ),
    *make_rows(
        "50x20",
        "50 sessions × 20 lines/s",
        {"p99": 1_000, "rss": 120, "sigterm": 2},
        sessions=50,
        rate=20.0,
    ),
    *make_rows(
        "200x50",
        "200 sessions × 50 lines/s",
        {"p99": 2_000, "rss": 120, "sigterm": 2},
        sessions=200,
        rate=50.0,
    ),
    *make_rows(
        "poison",
        "1 session beside hostile logs",
        {"p99": 1_000, "rss": 150, "sigterm": 2},
        sessions=1,
        rate=5.0,
        is_poisoned=True,
    ),
]
