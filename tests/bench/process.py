"""Run a program and measure it: wall-clock time, CPU time, memory of all processes."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self

SAMPLE_SECONDS = 0.05
MAX_SECONDS = 900
_MAX_ERROR_CHARACTERS = 200


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
    """A program failed or took too long."""


def run_program(
    command: Sequence[str | Path],
    environ: Mapping[str, str],
    *,
    cwd: Path | None = None,
    stdin: bytes = b"",
) -> Cost:
    """Run a program to its end; raise ProgramError if it fails."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(
            list(map(str, command)),
            env=dict(environ),
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=errors,
        )
        assert process.stdin is not None
        process.stdin.write(stdin)
        process.stdin.close()
        with MemoryWatcher(process.pid) as memory:
            killer = threading.Timer(MAX_SECONDS, process.kill)
            killer.start()
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - start
            killer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            message = errors.read().decode(errors="replace").strip()
            raise ProgramError(
                f"{Path(command[0]).name} ended with {process.returncode}: "
                + message[-_MAX_ERROR_CHARACTERS:]
            )
        output.seek(0)
        largest = usage.ru_maxrss / 1024
        cpu = usage.ru_utime + usage.ru_stime
        return Cost(seconds, cpu, largest, max(memory.peak_mb, largest), output.read())


class MemoryWatcher:
    """Remember the largest memory of a process and its descendants together."""

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
            self.peak_mb = max(self.peak_mb, read_memory_mb(self._pid))


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
