"""Part `stop`: end leslied with SIGTERM in the midst of its work, and take the time."""

from __future__ import annotations

import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

from tests.bench.bombs import Home, Process
from tests.bench.load import Load, measure_load
from tests.soak.options import SoakOptions
from tests.soak.progress import Progress
from tests.soak.table import SoakRow, make_limit_row, read_stamp
from tests.support.claude import ClaudeLogBuilder, encode_json_lines
from tests.support.waiting import wait_until

PART = "stop"
MAX_SECONDS = 2.0
LOAD = Load(sessions=50, rate=20, seconds=3, is_terminated=True)
LOG_COUNT = 40
TURNS_PER_LOG = 500
MAX_DELAY_SECONDS = 1.0
"""The signal comes at a random moment of this time after the work has begun."""


def run(options: SoakOptions, progress: Progress) -> None:
    """Stop leslied as often as is missing in each kind of work."""
    for work, measure in MEASURES.items():
        done = sum(item["work"] == work for item in progress.items)
        for number in range(done, options.stops):
            folder = options.scratch / "stop"
            folder.mkdir()
            seconds = measure(folder, random.Random(number))
            shutil.rmtree(folder)
            progress.add(work=work, seconds=seconds)
            print(f"stop: {work}, {number + 1} of {options.stops}", flush=True)


def stop_under_load(_: Path, __: random.Random) -> float:
    """Stop the daemon while 50 sessions are written."""
    return measure_load(LOAD).sigterm_seconds


def stop_first_sync(folder: Path, rng: random.Random) -> float:
    """Stop the daemon while it reads logs for the first time."""
    home = make_home(folder)
    process = Process(home, 0, "run")
    return _stop(process, home.store, rng)


def stop_rebuild(folder: Path, rng: random.Random) -> float:
    """Stop `leslied rebuild`."""
    home = make_home(folder)
    sync = Process(home, 0, "sync")
    assert sync.popen.wait() == 0
    process = Process(home, 0, "rebuild")
    return _stop(process, home.store.with_name("store.db.new"), rng)


MEASURES: dict[str, Callable[[Path, random.Random], float]] = {
    "load": stop_under_load,
    "first sync": stop_first_sync,
    "rebuild": stop_rebuild,
}


def make_home(folder: Path) -> Home:
    """Write logs that take some seconds to read."""
    home = Home(folder)
    for number in range(LOG_COUNT):
        builder = ClaudeLogBuilder(
            f"{number:08x}-2222-4333-8444-555555555555", cwd=str(home.project)
        )
        lines = [
            line
            for turn in range(TURNS_PER_LOG)
            for line in (builder.prompt(f"do {turn}"), builder.answer("done " * 400))
        ]
        home.log_path(builder.session_id).write_bytes(encode_json_lines(*lines))
    return home


def _stop(process: Process, store: Path, rng: random.Random) -> float:
    """Send SIGTERM when the store is being written; return how long the end took."""
    wait_until(lambda: store.exists() or not process.is_running())
    time.sleep(rng.uniform(0, MAX_DELAY_SECONDS))
    assert process.is_running(), "leslied ended before it could be stopped"
    start = time.monotonic()
    process.popen.send_signal(signal.SIGTERM)
    process.popen.wait()
    return time.monotonic() - start


def list_rows(progress: Progress, _: SoakOptions) -> list[SoakRow]:
    """Return the longest time for each kind of work."""
    stamp = read_stamp(progress.items)
    rows = []
    for work in MEASURES:
        seconds = [item["seconds"] for item in progress.items if item["work"] == work]
        if seconds:
            what = f"end after SIGTERM during {work}, max of {len(seconds)}"
            row = make_limit_row(PART, what, max(seconds), MAX_SECONDS, "s", **stamp)
            rows.append(row)
    return rows
