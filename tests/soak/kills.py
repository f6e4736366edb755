"""Part `kills`: kill the daemon 10,000 times while logs grow.

A round kills the daemon of a new home some times and then checks everything in it, so
that the logs stay small and each kill takes the same time. Rounds run beside each
other. A round that was interrupted starts again from the beginning.
"""

from __future__ import annotations

import collections
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from tests.soak.options import SoakOptions
from tests.soak.progress import Progress
from tests.soak.table import SoakRow, make_count_row, make_zero_row, read_stamp
from tests.soak.workers import run_in_workers
from tests.support.crash_loop import (
    COMMIT_FAILPOINTS,
    WRITE_FAILPOINTS,
    run_crash_loop,
)

PART = "kills"
KILLS_PER_ROUND = 100
FAST_TURNS_PER_RUN = 10
"""Turns that a run finds; reading more takes longer than starting the daemon."""
MIN_KILLS_INSIDE = 200
"""Kills that must land inside commits, and as many inside file writes."""


def run(options: SoakOptions, progress: Progress) -> None:
    """Run the missing rounds."""
    kills_per_round = min(KILLS_PER_ROUND, options.kills)
    done = {item["round"] for item in progress.items}
    rounds = -(-options.kills // kills_per_round)
    missing = [number for number in range(rounds) if number not in done]
    work = partial(run_round, options.scratch, options.state, kills_per_round)
    for result in run_in_workers(work, missing, options.workers):
        progress.add(**result)
        print(format_progress(progress, options.kills), flush=True)


def run_round(scratch: Path, state: Path, kills: int, number: int) -> dict[str, Any]:
    """Run a round in a new home; keep the home if something went wrong."""
    home = scratch / f"kills-{number}"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    start = time.monotonic()
    result: dict[str, Any] = {"round": number, "error": ""}
    try:
        report = run_crash_loop(
            home,
            kills,
            seed=number,
            fast_turns=FAST_TURNS_PER_RUN,
        )
        result |= asdict(report)
    except Exception as error:  # noqa: BLE001 - the other rounds are worth running
        result["error"] = f"{type(error).__name__}: {error}"[:2000]
    result["seconds"] = round(time.monotonic() - start, 1)
    if is_damaged(result):
        shutil.copytree(home, state / "failed" / home.name, dirs_exist_ok=True)
    shutil.rmtree(home)
    return result


def is_damaged(item: dict[str, Any]) -> bool:
    """Return whether a round failed or found damage."""
    return bool(item["error"]) or any(item["damage"].values())


def format_progress(progress: Progress, goal: int) -> str:
    kills = sum(count_kills(progress).values())
    failed = sum(map(is_damaged, progress.items))
    seconds = progress.items[-1]["seconds"]
    return (
        f"kills: {kills:,} of {goal:,}; {failed} rounds with damage; "
        f"the last round took {seconds} s"
    )


def count_kills(progress: Progress) -> collections.Counter[str]:
    """Return the number of kills by location."""
    total: collections.Counter[str] = collections.Counter()
    for item in progress.items:
        total.update(item.get("kills_by_location", {}))
    return total


def list_rows(progress: Progress, options: SoakOptions) -> list[SoakRow]:
    """Return the figures of all finished rounds."""
    stamp = read_stamp(progress.items)
    kills = count_kills(progress)
    inside = {
        "commits": sum(kills[name] for name in COMMIT_FAILPOINTS),
        "file writes": sum(kills[name] for name in WRITE_FAILPOINTS),
    }
    histogram = ", ".join(f"{name} {count:,}" for name, count in sorted(kills.items()))
    errors = sum(bool(item["error"]) for item in progress.items)
    count: Callable[..., int] = partial(_sum_values, progress.items)
    return [
        make_count_row(
            PART, "SIGKILLs of the daemon", kills.total(), options.kills, **stamp
        ),
        *(
            make_count_row(PART, f"kills inside {what}", n, MIN_KILLS_INSIDE, **stamp)
            for what, n in inside.items()
        ),
        SoakRow(PART, "kills by place", histogram, **stamp),
        SoakRow(PART, "lines written", f"{count('lines'):,}", **stamp),
        make_zero_row(PART, "lines lost", count("damage", "lost"), **stamp),
        make_zero_row(PART, "lines doubled", count("damage", "doubled"), **stamp),
        make_zero_row(PART, "records invented", count("damage", "invented"), **stamp),
        make_zero_row(PART, "records misplaced", count("damage", "misplaced"), **stamp),
        SoakRow(PART, "transcripts compared", f"{count('transcripts'):,}", **stamp),
        make_zero_row(PART, "files torn", count("damage", "torn_files"), **stamp),
        make_zero_row(
            PART,
            "files missing or doubled",
            count("damage", "missing_files") + count("damage", "doubled_files"),
            **stamp,
        ),
        make_zero_row(
            PART, "rounds without progress or with an error", errors, **stamp
        ),
    ]


def _sum_values(items: list[dict[str, Any]], *names: str) -> int:
    total = 0
    for item in items:
        value: Any = item
        for name in names:
            value = value.get(name, 0) if isinstance(value, dict) else 0
        total += value
    return total
