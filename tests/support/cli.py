"""Running the real command in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Command:
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
        }

    def __call__(self, *words: str, **environ: str) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "leslied", *words],
            env=self.environ | environ,
            cwd=self.cwd,
            capture_output=True,
            check=False,
            timeout=60,
            text=True,
        )
        return Ran(done.returncode, done.stdout, done.stderr)
