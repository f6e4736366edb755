"""Run the real command in a subprocess."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.waiting import MAX_WAIT_SECONDS


@dataclass(frozen=True)
class CommandResult:
    """Exit code and output of a finished command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@contextmanager
def interruptible_children() -> Iterator[None]:
    """Let processes started in this block be ended by SIGINT.

    A shell without job control starts background jobs with SIGINT ignored, and the
    child processes of such a job inherit this. `exec` leaves ignored signals ignored,
    but resets handled signals to their default action. So it is enough to handle
    SIGINT here. A `preexec_fn` is not safe in a process with threads.
    """
    previous_handler = signal.getsignal(signal.SIGINT)
    if previous_handler == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous_handler)


class LesliedRunner:
    """Run `leslied` with its own home and a minimal environment."""

    def __init__(self, home: Path, cwd: Path | None = None) -> None:
        self.home, self.cwd = home, cwd
        self.environ = {
            # Run this checkout, not an installed leslied, from any working directory.
            "PYTHONPATH": str(Path(__file__).resolve().parents[2]),
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            # `make coverage` measures subprocesses, too.
            **{k: v for k, v in os.environ.items() if k.startswith("COVERAGE_")},
        }

    def __call__(self, *args: str, **environ: str) -> CommandResult:
        process = subprocess.run(
            [sys.executable, "-m", "leslied", *args],
            env=self.environ | environ,
            cwd=self.cwd,
            capture_output=True,
            check=False,
            timeout=MAX_WAIT_SECONDS,
            text=True,
        )
        return CommandResult(process.returncode, process.stdout, process.stderr)

    def start(
        self,
        *args: str,
        environ: dict[str, str] | None = None,
        prefix: Sequence[str] = (),
        **options: Any,
    ) -> subprocess.Popen[Any]:
        """Start the command and return its process; the caller has to end it.

        `prefix` is a program that runs the command, with its arguments. Options are
        those of `subprocess.Popen`.
        """
        with interruptible_children():
            return subprocess.Popen(
                [*prefix, sys.executable, "-m", "leslied", *args],
                env=self.environ | (environ or {}),
                cwd=self.cwd,
                **options,
            )
