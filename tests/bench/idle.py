"""Rows about a daemon that has nothing to do."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

from tests.bench.environment import Bench
from tests.bench.process import read_cpu_seconds, read_memory_mb
from tests.bench.rows import Goal, Program, Row, Sample, Task

SECONDS = 75
"""Long enough for two scans of all logs."""
MAX_WAIT_SECONDS = 300
BUSY_SECONDS = 0.005
"""CPU time in an interval above which the daemon was scanning."""
INTERVAL_SECONDS = 1.0
QUIET_INTERVALS = 5


def measure_idle(bench: Bench) -> Sample:
    """Run the daemon beside logs whose transcripts and archive are complete."""
    data = bench.get_store("leslied --stop-all", "small")
    daemon = subprocess.Popen(
        [sys.executable, "-m", "leslied", "run"],
        env=bench.make_leslied_environ(data, "small"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_until_quiet(daemon.pid)
        sample = _watch(daemon.pid, SECONDS)
    finally:
        start = time.perf_counter()
        daemon.send_signal(signal.SIGTERM)
        daemon.wait(60)
    return sample | {"sigterm": time.perf_counter() - start}


def _wait_until_quiet(pid: int) -> None:
    """Wait until the daemon has done nothing for some intervals."""
    quiet, cpu, until = 0, -1.0, time.monotonic() + MAX_WAIT_SECONDS
    while quiet < QUIET_INTERVALS:
        assert time.monotonic() < until, "the daemon does not get idle"
        time.sleep(INTERVAL_SECONDS)
        now = read_cpu_seconds(pid)
        quiet = quiet + 1 if now - cpu < BUSY_SECONDS else 0
        cpu = now


def _watch(pid: int, seconds: float) -> dict[str, float]:
    """Return CPU time beside scans and in them, and memory."""
    idle, idle_seconds, scan = 0.0, 0.0, 0.0
    cpu = read_cpu_seconds(pid)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        start = time.monotonic()
        time.sleep(INTERVAL_SECONDS)
        used, cpu = (now := read_cpu_seconds(pid)) - cpu, now
        if used > BUSY_SECONDS:
            scan += used
        else:
            idle, idle_seconds = idle + used, idle_seconds + time.monotonic() - start
    return {
        "cpu": 100 * idle / idle_seconds,
        "with scans": 100 * (idle + scan) / seconds,
        "rss": read_memory_mb(pid),
    }


TASK = Task("idle", (Program("leslied", measure_idle, 1),), ("small",), is_quick=False)
ROWS = [
    Row("Idle", "idle beside 20,000 logs: CPU", TASK, "cpu", "%", goal=Goal(0, 0.1)),
    Row("Idle", "idle beside 20,000 logs: CPU with scans", TASK, "with scans", "%"),
    Row("Idle", "idle beside 20,000 logs: RSS", TASK, "rss", "MB", goal=Goal(0, 50)),
    Row("Idle", "idle: end after SIGTERM", TASK, "sigterm", "s", goal=Goal(0, 2)),
]
