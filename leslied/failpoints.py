"""Failpoints: named points at which a test can kill the program.

`LESLIED_CRASH_AT=name:n` kills the process with SIGKILL when it reaches the failpoint
for the nth time. Without the variable a failpoint costs one comparison.
"""

from __future__ import annotations

import os
import signal

_NAME, _, _COUNT = os.environ.get("LESLIED_CRASH_AT", "").partition(":")
_remaining = [int(_COUNT or 1)]


def failpoint(name: str) -> None:
    """Kill the process if the environment asks for it at this point."""
    if name != _NAME:
        return
    _remaining[0] -= 1
    if _remaining[0] <= 0:
        os.write(2, f"crash at {name}\n".encode())
        os.kill(os.getpid(), signal.SIGKILL)
