"""The program that Claude Code starts at each hook.

    python -I -S program.py DATA_DIR

One JSON object comes on standard input; on standard output goes what the model is to
be told, or nothing. Whatever happens, it leaves with 0, says nothing else, and is gone
after two seconds: an agent must not notice that leslied is broken.
"""

from __future__ import annotations

import os
import sys

_TIMEOUT_SECONDS = 2.0
_MAX_BYTES = 32_000_000


def main() -> None:
    """The event is answered, or nothing was said."""
    try:
        _silence_stderr()
        _set_alarm()
        said = _respond(sys.argv[1], _read_all()) if sys.argv[1][:1] == "/" else b""
        while said:
            said = said[os.write(1, said) :]
    finally:
        # Not even a traceback, a flush or an exit handler of a broken library.
        os._exit(0)


def _silence_stderr() -> None:
    """Nothing reaches the agent's standard error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _set_alarm() -> None:
    # The module `signal` loads enum and more: 5 ms.
    import _signal as signal  # type: ignore[import-not-found]  # noqa: PLC0415

    signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
    signal.setitimer(signal.ITIMER_REAL, _TIMEOUT_SECONDS)


def _read_all() -> bytes:
    parts = []
    size = 0
    while size < _MAX_BYTES and (part := os.read(0, 65_536)):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _respond(data_dir: str, payload: bytes) -> bytes:
    """Loads leslied from beside this file; the standard library goes first."""
    import time  # noqa: PLC0415

    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - no pathlib
    sys.path.append(os.path.dirname(os.path.dirname(here)))  # noqa: PTH120
    from leslied.hooks.respond import respond  # noqa: PLC0415

    return respond(data_dir, payload, time.time_ns())


if __name__ == "__main__":
    main()
