"""Time `leslied stats` on a store.

    LESLIED_DATA_DIR=FOLDER python tests/bench/stats.py

The store is one that `leslied sync` has made; start-up is included.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time

GROUPS = ("day", "week", "model", "agent", "project", "tool", "block", "session")
RUNS = 9


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


def main() -> None:
    asked = [("stats", "--json", "--by", by) for by in GROUPS]
    for words in [("statusline",), *asked]:
        took = [run(*words) for _ in range(RUNS)]
        wall, cpu = (1000 * statistics.median(each) for each in zip(*took, strict=True))
        best = 1000 * min(took)[0]
        print(f"{wall:6.0f} ms, best {best:5.0f}, cpu {cpu:5.0f}  {' '.join(words)}")


if __name__ == "__main__":
    main()
