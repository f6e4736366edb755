"""Measure how long appended lines take to get into the store under load.

    python tests/bench/load.py [--sessions 50] [--rate 20] [--seconds 30] [--poison]
        [--sigterm] [--tree FOLDER]

Starts a real daemon with a home of its own, and appends lines to the logs of some
sessions, each at `--rate` lines a second with a prompt every four lines. The time from
an append until another connection sees the record is measured for each line. `--poison`
puts the bombs of `bombs.py` beside the sessions; `--sigterm` ends the daemon while it
is busy, starts another one and waits for the rest of the lines. `--tree` runs leslied
of another checkout.
"""

from __future__ import annotations

import argparse
import heapq
import os
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.bench.bombs import BOMBS, POISON_SET, Home, Process, make_unit
from tests.support.claude import ClaudeLogBuilder, encode_json_lines

POLL_SECONDS = 0.001
SAMPLE_SECONDS = 0.2
MAX_QUIET_SECONDS = 300
"""Lines are lost if nothing new was visible for so long."""
MAX_PREPARED_SECONDS = 60
"""Lines of a longer run would take too much memory; the rest is encoded meanwhile."""
LINES_PER_UNIT = 4
SESSIONS_PER_PROJECT = 10
LOAD_SESSION = "10ad{:04}-2222-4333-8444-555555555555"


@dataclass(frozen=True)
class Load:
    """How much is written, and beside what."""

    sessions: int = 1
    rate: float = 5.0
    """Lines of a session in a second."""
    seconds: float = 10.0
    is_poisoned: bool = False
    is_terminated: bool = False
    """Whether the daemon is ended while it is busy."""
    tree: Path | None = None
    """The checkout whose leslied runs; None for this one."""


@dataclass
class LoadResult:
    """What the daemon achieved."""

    lines: int = 0
    lost: int = 0
    """Lines that did not get into the store."""
    doubled: int = 0
    """Records that the store has twice, or twice in their session."""
    latencies: list[float] = field(default_factory=list)
    """Seconds from the append of each line until it was visible, sorted."""
    peak_mb: float = 0.0
    """Largest memory of one process."""
    total_mb: float = 0.0
    """Largest memory of all processes together, shared pages counted once."""
    cpu_seconds: float = 0.0
    """Processor time of the daemon until the last line was visible or it was ended."""
    drain_seconds: float = 0.0
    """Seconds from the last append until everything was visible."""
    sigterm_seconds: float = 0.0
    transcripts: int = 0
    """Transcripts that were written until the last line was visible."""
    stored_rate: float = 0.0
    """Lines that became visible in a second while lines were appended."""

    def get_percentile(self, percent: float) -> float:
        """Return the latency that this share of the lines did not exceed."""
        if not self.latencies:
            return float("inf")
        last = len(self.latencies) - 1
        return self.latencies[round(last * percent / 100)]


class LiveSession:
    """A session that is written line by line."""

    def __init__(self, home: Home, number: int) -> None:
        project = home.path / f"project{number // SESSIONS_PER_PROJECT}"
        git = project / ".git"
        for name in ("objects", "refs"):
            (git / name).mkdir(parents=True, exist_ok=True)
        (git / "HEAD").write_text("ref: refs/heads/main\n")
        (project / ".leslie").mkdir(exist_ok=True)
        self._builder = ClaudeLogBuilder(
            LOAD_SESSION.format(number),
            cwd=str(project),
            started_at=datetime.now(UTC).replace(tzinfo=None, microsecond=0),
        )
        self._lines = self._iter_lines()
        path = home.log_path(self._builder.session_id)
        self._fd = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)

    def prepare(self, count: int) -> None:
        """Encode lines before the measurement, which shares the processor."""
        lines = [next(self._lines) for _ in range(count)]
        self._lines = chain(lines, self._lines)

    def append(self) -> str:
        """Append the next line; return its id."""
        entry_id, data = next(self._lines)
        os.write(self._fd, data)
        return entry_id

    def _iter_lines(self) -> Iterator[tuple[str, bytes]]:
        number = 0
        while True:
            for line in make_unit(self._builder, number):
                yield line["uuid"], encode_json_lines(line)
            number += 1


class StoreObserver:
    """Another connection to the store, which sees new records."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self._db.execute("PRAGMA busy_timeout = 5000")
        self._version = -1
        self._last_id = 0

    def list_new(self) -> list[str]:
        """Return the entry ids of records that were committed since the last call."""
        (version,) = self._db.execute("PRAGMA data_version").fetchone()
        if version == self._version:
            return []
        self._version = version
        query = "SELECT id, native_id FROM record WHERE id > ? ORDER BY id"
        rows = self._db.execute(query, (self._last_id,)).fetchall()
        if rows:
            self._last_id = rows[-1][0]
        return [native_id for _, native_id in rows]

    def count_doubled(self) -> int:
        """Return how many lines of the live sessions are in the store again."""
        query = (
            "SELECT count(*) - count(DISTINCT r.native_id) FROM session s "
            "JOIN placement p ON p.session = s.id "
            "JOIN record r ON r.entry = p.entry AND r.is_current "
            "WHERE s.session_id LIKE ? AND r.type <> 'system_event'"
        )
        sessions = LOAD_SESSION[:4] + "%"
        return int(self._db.execute(query, (sessions,)).fetchone()[0])

    def count_transcripts(self) -> int:
        """Return how many transcripts were written."""
        query = "SELECT count(*) FROM transcript WHERE newest > 0"
        return int(self._db.execute(query).fetchone()[0])


class LoadRun:
    """One measurement in a home of its own."""

    def __init__(self, folder: Path, load: Load) -> None:
        self._load = load
        self._home = Home(folder)
        self._pending: dict[str, float] = {}
        """When each line was appended that is not visible yet, by its id."""
        self._next_sample = 0.0
        self._result = LoadResult()

    def run(self) -> LoadResult:
        """Write all lines, wait until they are visible, and end the daemon."""
        load, result = self._load, self._result
        sessions = [LiveSession(self._home, n) for n in range(load.sessions)]
        for session in sessions:
            prepared_seconds = min(load.seconds, MAX_PREPARED_SECONDS)
            session.prepare(int(load.rate * prepared_seconds) + 1)
        self._start_daemon()
        if load.is_poisoned:
            for name in POISON_SET:
                BOMBS[name](self._home)
        ticks_before = self._process.get_cpu_ticks()
        self._write(sessions)
        ended_at = time.monotonic()
        result.stored_rate = (result.lines - len(self._pending)) / load.seconds
        if load.is_terminated:
            self._take_cpu_time(ticks_before)
            self._end_daemon()
            self._observe(time.monotonic(), is_measured=True)
            self._start_daemon()
        self._wait_until_visible(is_measured=not load.is_terminated)
        result.drain_seconds = time.monotonic() - ended_at
        if not load.is_terminated:
            self._take_cpu_time(ticks_before)
        result.transcripts = self._observer.count_transcripts()
        if not load.is_terminated:
            self._end_daemon()
        else:
            self._process.popen.terminate()
            self._process.popen.wait()
        result.lost = len(self._pending)
        result.doubled = self._observer.count_doubled()
        result.latencies.sort()
        return result

    def _wait_until_visible(self, *, is_measured: bool) -> None:
        """Wait until every line is visible, or nothing happens any more."""
        pending, changed_at = len(self._pending), time.monotonic()
        while self._pending and time.monotonic() - changed_at < MAX_QUIET_SECONDS:
            self._observe(time.monotonic(), is_measured=is_measured)
            if len(self._pending) < pending:
                pending, changed_at = len(self._pending), time.monotonic()
            time.sleep(POLL_SECONDS)

    def _take_cpu_time(self, ticks_before: int) -> None:
        ticks = self._process.get_cpu_ticks() - ticks_before
        self._result.cpu_seconds = ticks / os.sysconf("SC_CLK_TCK")

    def _start_daemon(self) -> None:
        """Start the daemon and wait until it reads logs."""
        self._process = Process(self._home, 0, "run", tree=self._load.tree)
        text = f"started at {time.monotonic()}"
        self._home.write(text)
        while not self._home.has_prompt(text):
            assert self._process.is_running(), "the daemon ended"
            time.sleep(0.02)
        if not hasattr(self, "_observer"):
            self._observer = StoreObserver(self._home.store)
            self._observer.list_new()

    def _end_daemon(self) -> None:
        self._process.is_running()
        self._result.peak_mb = max(self._result.peak_mb, self._process.peak_mb)
        started_at = time.monotonic()
        self._process.popen.send_signal(signal.SIGTERM)
        self._process.popen.wait()
        self._result.sigterm_seconds = time.monotonic() - started_at

    def _write(self, sessions: list[LiveSession]) -> None:
        """Append all lines when they are due, and observe the store meanwhile."""
        interval = 1 / self._load.rate
        start = time.monotonic()
        # Sessions do not write at the same moment.
        due = [
            (start + interval * number / len(sessions), number)
            for number in range(len(sessions))
        ]
        heapq.heapify(due)
        while (now := time.monotonic()) < start + self._load.seconds:
            while due[0][0] <= now:
                due_at, number = heapq.heappop(due)
                entry_id = sessions[number].append()
                self._pending[entry_id] = time.monotonic()
                self._result.lines += 1
                heapq.heappush(due, (due_at + interval, number))
            self._observe(time.monotonic(), is_measured=True)
            time.sleep(POLL_SECONDS)

    def _observe(self, now: float, *, is_measured: bool) -> None:
        """Take the time of visible lines, and now and then the memory."""
        for entry_id in self._observer.list_new():
            appended_at = self._pending.pop(entry_id, None)
            if appended_at is not None and is_measured:
                self._result.latencies.append(time.monotonic() - appended_at)
        if now >= self._next_sample:
            self._next_sample = now + SAMPLE_SECONDS
            self._process.is_running()
            total_mb = self._process.get_total_mb()
            self._result.total_mb = max(self._result.total_mb, total_mb)


def measure_load(load: Load) -> LoadResult:
    """Run one load in a temporary home."""
    with tempfile.TemporaryDirectory(prefix="load-") as folder:
        return LoadRun(Path(folder), load).run()


def format_result(result: LoadResult) -> str:
    """Return the result as one line."""
    milliseconds = [
        f"{name} {result.get_percentile(percent) * 1000:.0f}"
        for name, percent in (("p50", 50), ("p99", 99), ("max", 100))
    ]
    return (
        f"{result.lines} lines, {result.lost} lost, {result.doubled} doubled, "
        f"{result.stored_rate:,.0f} stored in a second; "
        f"ms: {', '.join(milliseconds)}; "
        f"MB: {result.peak_mb:.0f} of one process, {result.total_mb:.0f} of all; "
        f"CPU {result.cpu_seconds:.1f} s; drained in {result.drain_seconds:.1f} s; "
        f"{result.transcripts} transcripts; SIGTERM {result.sigterm_seconds:.2f} s"
    )


def main() -> None:
    """Run one load and print what it showed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=1)
    parser.add_argument("--rate", type=float, default=5)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--poison", action="store_true")
    parser.add_argument("--sigterm", action="store_true")
    parser.add_argument("--tree", type=Path)
    options = parser.parse_args()
    load = Load(
        sessions=options.sessions,
        rate=options.rate,
        seconds=options.seconds,
        is_poisoned=options.poison,
        is_terminated=options.sigterm,
        tree=options.tree,
    )
    print(format_result(measure_load(load)), flush=True)


if __name__ == "__main__":
    main()
