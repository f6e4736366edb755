"""Part `load`: 200 sessions write 50 lines a second each, for ten minutes."""

from __future__ import annotations

import dataclasses
from typing import Any

from tests.bench.load import Load, LoadResult, measure_load
from tests.soak.options import SoakOptions
from tests.soak.progress import Progress
from tests.soak.table import SoakRow, make_limit_row, make_zero_row, read_stamp

PART = "load"
LOAD = Load(sessions=200, rate=50)
GOALS = {"p99": 1.0, "peak_mb": 120.0}
"""Seconds from an append to the store, and memory of the largest process."""


def run(options: SoakOptions, progress: Progress) -> None:
    """Measure the load, unless it was measured for as long already."""
    run_load(PART, LOAD, options, progress)


def run_load(part: str, load: Load, options: SoakOptions, progress: Progress) -> None:
    """Measure a load for the minutes that the options name."""
    if any(item["minutes"] == options.minutes for item in progress.items):
        return
    text = f"{load.sessions} sessions × {load.rate:g} lines/s"
    print(f"{part}: {text} for {options.minutes:g} minutes", flush=True)
    seconds = 60 * options.minutes
    result = measure_load(dataclasses.replace(load, seconds=seconds))
    progress.add(minutes=options.minutes, load=text, **summarize(result))


def summarize(result: LoadResult) -> dict[str, Any]:
    """Return the figures of a run that the table shows."""
    return {
        "lines": result.lines,
        "lost": result.lost,
        "doubled": result.doubled,
        "stored_rate": result.stored_rate,
        "p50": result.get_percentile(50),
        "p99": result.get_percentile(99),
        "max": result.get_percentile(100),
        "peak_mb": result.peak_mb,
        "total_mb": result.total_mb,
    }


def list_rows(progress: Progress, _: SoakOptions) -> list[SoakRow]:
    """Return the figures of the newest run."""
    return list_load_rows(PART, progress, GOALS)


def list_load_rows(
    part: str, progress: Progress, goals: dict[str, float]
) -> list[SoakRow]:
    """Return the figures of the newest run of a load, beside their goals."""
    item, stamp = progress.items[-1], read_stamp(progress.items)
    load = f"{item['load']}, {item['minutes']:g} minutes"
    what = "append to store"
    return [
        SoakRow(part, f"{load}: lines", f"{item['lines']:,}", **stamp),
        make_zero_row(part, "lines lost", item["lost"], **stamp),
        make_zero_row(part, "lines doubled", item["doubled"], **stamp),
        *_list_rates(part, item, stamp),
        SoakRow(part, f"{what}, p50", f"{item['p50']:.2f} s", **stamp),
        make_limit_row(part, f"{what}, p99", item["p99"], goals["p99"], "s", **stamp),
        SoakRow(part, f"{what}, max", f"{item['max']:.2f} s", **stamp),
        make_limit_row(
            part,
            "RSS of the largest process",
            item["peak_mb"],
            goals["peak_mb"],
            "MB",
            **stamp,
        ),
        SoakRow(
            part, "memory of all processes", f"{item['total_mb']:,.0f} MB", **stamp
        ),
    ]


def _list_rates(
    part: str, item: dict[str, Any], stamp: dict[str, Any]
) -> list[SoakRow]:
    """Return the rate at which lines were stored, which older runs do not have."""
    if "stored_rate" not in item:
        return []
    rate = f"{item['stored_rate']:,.0f} lines/s"
    return [SoakRow(part, "stored while lines were appended", rate, **stamp)]
