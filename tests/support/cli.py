"""Running the real command in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.waiting import PATIENCE_SECONDS


@dataclass(frozen=True)
class CommandResult:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@contextmanager
def interruptible_children() -> Iterator[None]:
    """Let processes started in this block be ended by SIGINT.

    A shell without job control starts background jobs with SIGINT ignored, and whatever
    pytest starts inherits that. `exec` keeps a signal ignored, but gives one that is
    handled its default action. So it is enough to handle SIGINT here; a `preexec_fn` is
    not safe in a process with threads, and warns of them since Python 3.12.
    """
    before = signal.getsignal(signal.SIGINT)
    if before == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class LesliedRunner:
    """`leslied` in one home, with an environment of its own."""

    def __init__(self, home: Path, cwd: Path | None = None) -> None:
        self.home, self.cwd = home, cwd
        self.environ = {
            # From another folder too it is this leslied, not one installed elsewhere.
            "PYTHONPATH": str(Path(__file__).resolve().parents[2]),
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            # `make coverage` measures the program in its own process, too.
            **{k: v for k, v in os.environ.items() if k.startswith("COVERAGE_")},
        }

    def __call__(self, *words: str, **environ: str) -> CommandResult:
        done = subprocess.run(
            [sys.executable, "-m", "leslied", *words],
            env=self.environ | environ,
            cwd=self.cwd,
            capture_output=True,
            check=False,
            timeout=PATIENCE_SECONDS,
            text=True,
        )
        return CommandResult(done.returncode, done.stdout, done.stderr)

    def start(
        self, *words: str, environ: dict[str, str] | None = None, **options: Any
    ) -> subprocess.Popen[Any]:
        """Start the command and return its process; the caller has to end it.

        Options are those of `subprocess.Popen`.
        """
        with interruptible_children():
            return subprocess.Popen(
                [sys.executable, "-m", "leslied", *words],
                env=self.environ | (environ or {}),
                cwd=self.cwd,
                **options,
            )
