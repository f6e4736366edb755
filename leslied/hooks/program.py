"""The program that Claude Code starts for each hook event.

    python -I -S program.py DATA_DIR

It reads one JSON object from standard input and writes the text to inject, or nothing,
to standard output. It always exits with 0 within two seconds and writes nothing else: a
broken leslied must not disturb the agent.
"""

from __future__ import annotations

import os
import sys

_TIMEOUT_SECONDS = 2.0
_MAX_EVENT_BYTES = 32_000_000


def main() -> None:
    """Answer the event on standard output and exit with 0, whatever happens."""
    try:
        os.umask(0o077)
        _silence_stderr()
        _set_alarm()
        data_dir = sys.argv[1]
        # A relative path would depend on the agent's working directory.
        answer = _respond(data_dir, _read_event()) if data_dir[:1] == "/" else b""
        while answer:
            answer = answer[os.write(1, answer) :]
    finally:
        # This skips tracebacks, flushes and exit handlers, which could fail or print.
        os._exit(0)


def _silence_stderr() -> None:
    """Redirect standard error to /dev/null."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _set_alarm() -> None:
    """Exit with 0 when the timeout has passed."""
    # Importing `signal` would load enum and more, which takes 5 ms.
    import _signal as signal  # type: ignore[import-not-found]  # noqa: PLC0415

    signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
    signal.setitimer(signal.ITIMER_REAL, _TIMEOUT_SECONDS)


def _read_event() -> bytes:
    """Return all of standard input, up to a limit."""
    parts = []
    size = 0
    while size < _MAX_EVENT_BYTES and (part := os.read(0, 65_536)):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _respond(data_dir: str, payload: bytes) -> bytes:
    """Import leslied and return the answer to the event.

    Python runs without site packages, so the folder of the package is added to
    `sys.path`: at the end, so that it cannot shadow the standard library.
    """
    import time  # noqa: PLC0415

    folder = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - slow
    sys.path.append(os.path.dirname(os.path.dirname(folder)))  # noqa: PTH120
    from leslied.hooks.respond import respond  # noqa: PLC0415

    return respond(data_dir, payload, time.time_ns())


if __name__ == "__main__":
    main()
