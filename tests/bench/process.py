"""Run a program and measure it: wall-clock time, CPU time, memory of all processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self

SAMPLE_SECONDS = 0.05
MAX_SECONDS = 900
_MAX_ERROR_CHARACTERS = 200
_LAUNCHER = """
import os, sys, time
start = time.perf_counter()
pid = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(pid, 0)
seconds = time.perf_counter() - start
cpu = usage.ru_utime + usage.ru_stime
os.write(int(sys.argv[1]), f"{seconds} {cpu} {usage.ru_maxrss}".encode())
sys.exit(abs(os.waitstatus_to_exitcode(status)))
"""
"""Starts a program and measures it, in a small process.

The kernel counts the memory that a process had before `exec` as its own, so a program
that the bench started itself would never need less than the bench.
"""


class Cost(NamedTuple):
    """What one run of a program cost."""

    seconds: float
    cpu_seconds: float
    largest_mb: float
    """Largest RSS of one process; the kernel counts it."""
    all_mb: float
    """Largest memory of all processes together; pages that they share count once."""
    output: bytes = b""

    def to_sample(self, name: str) -> dict[str, float]:
        """Return the figures under a name of the caller's choice."""
        return {
            name: self.seconds,
            f"{name} cpu": self.cpu_seconds,
            f"{name} rss": self.largest_mb,
            f"{name} all rss": self.all_mb,
        }


class ProgramError(Exception):
    """A program failed."""


def run_program(
    command: Sequence[str | Path],
    environ: Mapping[str, str],
    *,
    cwd: Path | None = None,
    stdin: bytes = b"",
) -> Cost:
    """Run a program to its end; raise ProgramError if it fails."""
    with (
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as errors,
        tempfile.TemporaryFile() as report,
    ):
        launcher = [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(report.fileno())]
        process = subprocess.Popen(
            [*launcher, *map(str, command)],
            env=dict(environ),
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=errors,
            pass_fds=[report.fileno()],
            start_new_session=True,
        )
        with MemoryWatcher(process.pid) as memory:
            try:
                process.communicate(stdin, timeout=MAX_SECONDS)
            finally:
                _end_session(process)
        if process.returncode:
            errors.seek(0)
            message = errors.read().decode(errors="replace").strip()
            raise ProgramError(
                f"{Path(command[0]).name} ended with {process.returncode}: "
                + message[-_MAX_ERROR_CHARACTERS:]
            )
        output.seek(0)
        report.seek(0)
        seconds, cpu_seconds, kilobytes = map(float, report.read().split())
        largest_mb = kilobytes / 1024
        all_mb = max(memory.peak_mb, largest_mb)
        return Cost(seconds, cpu_seconds, largest_mb, all_mb, output.read())


def _end_session(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of a program, if it took too long or the user interrupts."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class MemoryWatcher:
    """Remember the largest memory of the descendants of a process together."""

    def __init__(self, pid: int) -> None:
        self.peak_mb = 0.0
        self._pid = pid
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._is_over.wait(SAMPLE_SECONDS):
            _, *pids = iter_tree(self._pid)
            self.peak_mb = max(self.peak_mb, sum(map(_read_pss_kb, pids)) / 1024)


def iter_tree(pid: int) -> Iterator[int]:
    """Yield the ids of a process and of its descendants."""
    pids = [pid]
    while pids:
        pid = pids.pop()
        yield pid
        try:
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text()
        except OSError:
            continue
        pids += map(int, children.split())


def read_memory_mb(pid: int) -> float:
    """Return the memory of a process and its descendants, shared pages counted once."""
    return sum(map(_read_pss_kb, iter_tree(pid))) / 1024


def _read_pss_kb(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def read_cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process and of its living descendants."""
    return sum(map(_read_cpu_ns, iter_tree(pid))) / 1e9


def _read_cpu_ns(pid: int) -> int:
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    try:
        return sum(int(path.read_text().split()[0]) for path in threads)
    except OSError:
        return 0
