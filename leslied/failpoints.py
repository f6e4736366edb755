"""Named points at which a test may kill the program.

`LESLIED_CRASH_AT=name:n` ends the process, as SIGKILL does, the nth time it reaches the
point. Without the variable a point costs a comparison.
"""

from __future__ import annotations

import os
import signal

_NAME, _, _COUNT = os.environ.get("LESLIED_CRASH_AT", "").partition(":")
_remaining = [int(_COUNT or 1)]


def failpoint(name: str) -> None:
    """Go on, or die here."""
    if name != _NAME:
        return
    _remaining[0] -= 1
    if _remaining[0] <= 0:
        os.write(2, f"crash at {name}\n".encode())
        os.kill(os.getpid(), signal.SIGKILL)
