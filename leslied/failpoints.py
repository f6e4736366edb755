"""Failpoints: named places in the code where a test can kill the process.

`LESLIED_CRASH_AT=name:n` kills the process with SIGKILL when it reaches the failpoint
for the nth time. Without the variable a failpoint costs one comparison.
"""

from __future__ import annotations

import os
import signal

_SELECTED_NAME, _, _SELECTED_CALL = os.environ.get("LESLIED_CRASH_AT", "").partition(
    ":"
)
_remaining_calls = [int(_SELECTED_CALL or 1)]
"""Calls until the crash; a list, so that `failpoint` can change the number."""


def failpoint(name: str) -> None:
    """Kill the process if this is the call that `LESLIED_CRASH_AT` selects."""
    if name != _SELECTED_NAME:
        return
    _remaining_calls[0] -= 1
    if _remaining_calls[0] <= 0:
        os.write(2, f"crash at {name}\n".encode())
        os.kill(os.getpid(), signal.SIGKILL)
