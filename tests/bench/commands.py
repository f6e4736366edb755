"""Time the commands that read a store.

    LESLIED_DATA_DIR=FOLDER python tests/bench/commands.py [list|sync|search|stats …]

The store must have been created by `leslied sync`. Commands are timed with their
start-up; searches are timed again without it, in this process.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import get_args

from leslied.model.stats import Grouping
from leslied.queries.search import search_entries
from leslied.queries.search_query import parse_query
from leslied.store import StoreReader

RUNS = 11
QUERIES = (
    "quokkaphylax",
    "handler",
    "nowhere",
    "handler OR test",
    "hand*",
    '"handler took"',
    "handler -test",
    "handler tool:Bash",
    "handler project:nowhere",
    "handler role:user",
    "tool:nowhere",
    "is:error",
)
COMMANDS = {
    "list": [("--help",), ("list",), ("status",), ("show", "last"), ("list", "--json")],
    "sync": [("sync",)],
    "search": [("search", query) for query in QUERIES[:3]],
    "stats": [
        ("statusline",),
        *(("stats", "--json", "--by", group) for group in get_args(Grouping)),
    ],
}


def time_command(*args: str) -> tuple[float, float]:
    """Run a command; return its wall-clock seconds and its CPU seconds."""
    before, start = _get_child_cpu_seconds(), time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "leslied", *args],
        check=True,
        input=b"{}",
        stdout=subprocess.DEVNULL,
    )
    return time.perf_counter() - start, _get_child_cpu_seconds() - before


def _get_child_cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def time_commands(group: str) -> None:
    """Print the median and the best time of each command of a group."""
    for args in COMMANDS[group]:
        durations = [time_command(*args) for _ in range(RUNS)]
        wall, cpu = (
            1000 * statistics.median(seconds)
            for seconds in zip(*durations, strict=True)
        )
        best = 1000 * min(seconds for seconds, _ in durations)
        print(f"{wall:6.0f} ms, best {best:5.0f}, cpu {cpu:5.0f}  {' '.join(args)}")


def time_searches(store: Path) -> None:
    """Print the median and the best time of each query, in both orders."""
    with StoreReader(store) as reader:
        for query in QUERIES:
            parsed = parse_query(query, {})
            for mode in ("newest", "rank"):
                durations = []
                for _ in range(RUNS):
                    start = time.perf_counter()
                    result = search_entries(
                        reader, parsed, mode, 20, stop_cutoff_us=0, redact=str
                    )
                    durations.append(time.perf_counter() - start)
                print(
                    f"{1000 * statistics.median(durations):6.1f} ms, best "
                    f"{1000 * min(durations):5.1f}, {len(result.hits):2d} hits  "
                    f"{mode:6} {query}"
                )


def main() -> None:
    groups = sys.argv[1:] or list(COMMANDS)
    for group in groups:
        time_commands(group)
    if "search" in groups:
        time_searches(Path(os.environ["LESLIED_DATA_DIR"]) / "store.db")


if __name__ == "__main__":
    main()
