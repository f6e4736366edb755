"""Rows about a daemon at work: how soon appended lines are in the store."""

from __future__ import annotations

import sqlite3
import statistics
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.bench.environment import Bench
from tests.bench.rows import Goal, Program, Row, Sample, Task
from tests.support.claude import ClaudeLogBuilder, encode_json_lines

SECONDS, QUICK_SECONDS = 15.0, 5.0
AGENTSVIEW_APPENDS = 5
AGENTSVIEW_PAUSE_SECONDS = 6
"""agentsview reads at most every five seconds; a line after that is its best case."""
MAX_WAIT_SECONDS = 60
POLL_SECONDS = 0.005
LOAD_RUNS = 2
RATE_SESSIONS = 200
RATE_SECONDS = 10.0
MIN_RATE, MAX_RATE = 500.0, 64_000.0
"""Lines in a second of all sessions, between which the highest rate is searched."""
RATE_STEPS = 3
"""Bisections after the doubling: the result is at most 7 % too low."""
MAX_HELD_P99_SECONDS = 1.0


def measure_load(**options: Any) -> Callable[[Bench], Sample]:
    """Append lines at a rate while the daemon runs; end another one while it is busy.

    The second daemon is measured separately: what it has not read when it ends would be
    missing in the latencies.
    """

    def measure(bench: Bench) -> Sample:
        from tests.bench.load import Load  # noqa: PLC0415
        from tests.bench.load import measure_load as run_load  # noqa: PLC0415

        seconds = QUICK_SECONDS if bench.is_quick else SECONDS
        result = run_load(Load(seconds=seconds, **options))
        ended = run_load(Load(seconds=QUICK_SECONDS, is_terminated=True, **options))
        lost = result.lost + ended.lost
        assert lost == 0, f"{lost} lines were lost"
        return {
            "p50": 1000 * result.get_percentile(50),
            "p99": 1000 * result.get_percentile(99),
            "rss": result.total_mb,
            "sigterm": ended.sigterm_seconds,
        }

    return measure


def measure_highest_rate(bench: Bench) -> Sample:
    """Find the highest rate of many sessions at which lines are stored soon enough."""
    from tests.bench.load import Load  # noqa: PLC0415
    from tests.bench.load import measure_load as run_load  # noqa: PLC0415

    seconds = QUICK_SECONDS if bench.is_quick else RATE_SECONDS

    def is_held(rate: float) -> bool:
        load = Load(RATE_SESSIONS, rate=rate / RATE_SESSIONS, seconds=seconds)
        return run_load(load).get_percentile(99) <= MAX_HELD_P99_SECONDS

    return {"rate": find_highest_rate(is_held)}


def find_highest_rate(is_held: Callable[[float], bool]) -> float:
    """Double the rate until it is not held, then bisect; return 0 if none is held."""
    highest, rate = 0.0, MIN_RATE
    while rate <= MAX_RATE and is_held(rate):
        highest, rate = rate, 2 * rate
    if not highest or rate > MAX_RATE:
        return highest
    for _ in range(RATE_STEPS):
        middle = (highest + rate) / 2
        if is_held(middle):
            highest = middle
        else:
            rate = middle
    return highest


def measure_agentsview(bench: Bench) -> Sample:
    """Append single lines, each after agentsview has been quiet for some time."""
    durations_ms = []
    with bench.scratch() as folder:
        builder = ClaudeLogBuilder()
        log = folder / "projects/-home-dev-app" / f"{builder.session_id}.jsonl"
        log.parent.mkdir(parents=True)
        log.write_bytes(encode_json_lines(builder.prompt("first")))
        store = folder / "agentsview/sessions.db"
        with bench.serve_agentsview(folder, config=folder):
            for number in range(2 if bench.is_quick else AGENTSVIEW_APPENDS):
                time.sleep(AGENTSVIEW_PAUSE_SECONDS)
                text = f"prompt {number}"
                line = encode_json_lines(builder.prompt(text))
                start = time.perf_counter()
                with log.open("ab") as file:
                    file.write(line)
                while not _has_message(store, text):
                    time.sleep(POLL_SECONDS)
                    assert time.perf_counter() - start < MAX_WAIT_SECONDS, text
                durations_ms.append(1000 * (time.perf_counter() - start))
    return {"p50": statistics.median(durations_ms), "p99": max(durations_ms)}


def _has_message(store: Path, text: str) -> bool:
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as db:
        query = "SELECT 1 FROM messages WHERE content = ?"
        return db.execute(query, (text,)).fetchone() is not None


def make_rows(task: Task, label: str, goals: dict[str, float]) -> list[Row]:
    """Make the rows of one load."""
    figures = {
        "p50": ("append to commit, p50", "ms"),
        "p99": ("append to commit, p99", "ms"),
        "rss": ("RSS of all processes", "MB"),
        "sigterm": ("end after SIGTERM", "s"),
    }
    peers = {program.name for program in task.programs} - {"leslied"}
    return [
        Row(
            "Live",
            f"{label}: {what}",
            task,
            figure,
            unit,
            *(peers if unit == "ms" else ()),
            goal=Goal(limit=goals[figure]) if figure in goals else None,
        )
        for figure, (what, unit) in figures.items()
    ]


def make_task(name: str, *others: Program, is_quick: bool = True, **load: Any) -> Task:
    """Make a task that runs the daemon under a load."""
    ours = Program("leslied", measure_load(**load), LOAD_RUNS)
    return Task(f"live {name}", (ours, *others), is_quick=is_quick)


_AGENTSVIEW = Program("agentsview", measure_agentsview, 1)
ROWS = [
    *make_rows(
        make_task("quiet", _AGENTSVIEW, sessions=1, rate=5.0),
        "1 session × 5 lines/s",
        {"p50": 10, "p99": 50},
    ),
    *make_rows(
        make_task("50x20", sessions=50, rate=20.0),
        "50 sessions × 20 lines/s",
        {"p99": 1_000, "rss": 120, "sigterm": 2},
    ),
    *make_rows(
        make_task("200x50", sessions=200, rate=50.0, is_quick=False),
        "200 sessions × 50 lines/s",
        {"p99": 2_000, "rss": 120, "sigterm": 2},
    ),
    Row(
        "Live",
        "200 sessions: highest rate held with p99 ≤ 1 s",
        Task(
            "live rate",
            (Program("leslied", measure_highest_rate, LOAD_RUNS),),
            is_quick=False,
        ),
        "rate",
        "lines/s",
    ),
    *make_rows(
        make_task("poison", sessions=1, rate=5.0, is_poisoned=True, is_quick=False),
        "1 session beside hostile logs",
        {"p99": 1_000, "rss": 150, "sigterm": 2},
    ),
]
