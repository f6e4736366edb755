"""Time the commands that look, on a store.

    LESLIED_DATA_DIR=FOLDER python tests/bench/look.py [list|search|stats …]

The store is one that `leslied sync` has made. Commands are timed with their start-up;
searches once more without it, as a program that is running asks.
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

from leslied.lookup import parse_query, search_entries
from leslied.model.stats import Grouping
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
    "search": [("search", query) for query in QUERIES[:3]],
    "stats": [
        ("statusline",),
        *(("stats", "--json", "--by", by) for by in get_args(Grouping)),
    ],
}


def run(*words: str) -> tuple[float, float]:
    """Seconds on the wall, and of a core."""
    before, began = _cpu(), time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "leslied", *words],
        check=True,
        input=b"{}",
        stdout=subprocess.DEVNULL,
    )
    return time.perf_counter() - began, _cpu() - before


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def time_commands(group: str) -> None:
    for words in COMMANDS[group]:
        took = [run(*words) for _ in range(RUNS)]
        wall, cpu = (1000 * statistics.median(each) for each in zip(*took, strict=True))
        best = 1000 * min(took)[0]
        print(f"{wall:6.0f} ms, best {best:5.0f}, cpu {cpu:5.0f}  {' '.join(words)}")


def time_searches(store: Path) -> None:
    with StoreReader(store) as reader:
        for query in QUERIES:
            wanted = parse_query(query, {})
            for manner in ("newest", "rank"):
                took = []
                for _ in range(RUNS):
                    began = time.perf_counter()
                    hits = search_entries(
                        reader, wanted, manner, 20, quiet_us=0, redact=str
                    )
                    took.append(time.perf_counter() - began)
                print(
                    f"{1000 * statistics.median(took):6.1f} ms, best "
                    f"{1000 * min(took):5.1f}, {len(hits.hits):2d} hits  "
                    f"{manner:6} {query}"
                )


def main() -> None:
    groups = sys.argv[1:] or list(COMMANDS)
    for group in groups:
        time_commands(group)
    if "search" in groups:
        time_searches(Path(os.environ["LESLIED_DATA_DIR"]) / "store.db")


if __name__ == "__main__":
    main()
