"""Run tests in a copy of the repository, with and without a planted bug.

The working tree is never edited. Each copy belongs to one thread at a time.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import cache_from_source
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.catalogue import ROOT, Mutant

TIMEOUT_SECONDS = 180.0
"""Longest run of a mutant's tests; they take a few seconds on an idle machine."""
HANG_SECONDS = 60
"""Time after which a test of a mutant that may hang fails."""
_COPIED = ("leslied", "tests", "pyproject.toml")
_OPTIONS = (
    *("-q", "-p", "no:cacheprovider"),
    # The order and the examples are the same in every run.
    *("-p", "no:randomly", "--hypothesis-seed=0"),
)
_PASSED, _FAILED = 0, 1
"""Exit codes of pytest; any other means that tests did not run."""
_FAILURE = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


class Outcome(StrEnum):
    """What happened to a mutant."""

    CAUGHT = "caught"
    SURVIVED = "survived"
    TIMED_OUT = "timed out"
    NOT_RUN = "not run"
    """The tests could not even be collected, which proves nothing."""


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a mutant, and the first test that failed."""

    mutant: Mutant
    outcome: Outcome
    seconds: float
    failed_test: str = ""

    @property
    def is_caught(self) -> bool:
        """Whether the tests noticed the bug."""
        return self.outcome is Outcome.CAUGHT


class Copies:
    """Copies of the repository, of which each is used by one thread at a time."""

    def __init__(self, folder: Path, count: int) -> None:
        self._free: SimpleQueue[Path] = SimpleQueue()
        for number in range(count):
            copy = folder / f"copy-{number}" / "leslied"
            _copy_repository(copy)
            self._free.put(copy)

    @contextmanager
    def borrow(self) -> Iterator[Path]:
        """Wait for a copy and use it alone."""
        copy = self._free.get()
        try:
            yield copy
        finally:
            self._free.put(copy)


def _copy_repository(target: Path) -> None:
    """Copy what tests need: the package, the tests, and the settings of pytest."""
    target.mkdir(parents=True)
    ignore = shutil.ignore_patterns("__pycache__", "node_modules")
    for name in _COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=ignore)
        else:
            shutil.copy2(source, target / name)


def run_mutant(mutant: Mutant, copies: Copies) -> Result:
    """Run a mutant's tests in a copy that has its bug."""
    with copies.borrow() as copy, _planted(mutant, copy):
        started = time.monotonic()
        limit = [f"--timeout={HANG_SECONDS}"] if mutant.may_hang else []
        arguments = ["-x", *limit, *mutant.tests]
        code, output = run_pytest(copy, arguments, TIMEOUT_SECONDS)
        seconds = time.monotonic() - started
    failure = _FAILURE.search(output)
    return Result(mutant, judge(code), seconds, failure[1] if failure else "")


@contextmanager
def _planted(mutant: Mutant, copy: Path) -> Iterator[None]:
    """Edit the file in the copy, and restore it afterwards."""
    path = copy / mutant.file
    original = path.read_bytes()
    try:
        _replace_module(path, mutant.apply(copy).encode())
        yield
    finally:
        _replace_module(path, original)
        # Failing examples would make later runs depend on earlier ones.
        shutil.rmtree(copy / ".hypothesis", ignore_errors=True)


def _replace_module(path: Path, source: bytes) -> None:
    """Write a module, and delete its compiled form.

    Python compares only size and time in seconds, which may be the same.
    """
    path.write_bytes(source)
    Path(cache_from_source(str(path))).unlink(missing_ok=True)


def judge(exit_code: int | None) -> Outcome:
    """Return the outcome for an exit code of pytest, which is None after a timeout."""
    if exit_code is None:
        return Outcome.TIMED_OUT
    outcomes = {_PASSED: Outcome.SURVIVED, _FAILED: Outcome.CAUGHT}
    return outcomes.get(exit_code, Outcome.NOT_RUN)


def run_pytest(
    copy: Path, arguments: Iterable[str], timeout_seconds: float | None = None
) -> tuple[int | None, str]:
    """Run pytest in a copy; return its exit code, None after a timeout, and output."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *_OPTIONS, *arguments],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=timeout_seconds)
    except subprocess.TimeoutExpired:
        # The programs that tests started are in the same process group.
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        return None, output
    return process.returncode, output
