"""Failpoints: named places in the code where a test can kill the process.

`LESLIED_CRASH_AT=name:n` kills the process with SIGKILL when it reaches the failpoint
for the nth time. Without the variable a failpoint costs one comparison.
"""

from __future__ import annotations

import os
import signal

_NAME, _, _COUNT = os.environ.get("LESLIED_CRASH_AT", "").partition(":")
_remaining = [int(_COUNT or 1)]


def failpoint(name: str) -> None:
    """Kill the process if this is the call that `LESLIED_CRASH_AT` selects."""
    if name != _NAME:
        return
    _remaining[0] -= 1
    if _remaining[0] <= 0:
        os.write(2, f"crash at {name}\n".encode())
        os.kill(os.getpid(), signal.SIGKILL)
