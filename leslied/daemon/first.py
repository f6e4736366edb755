"""The first sync, in a process of its own.

A process keeps the memory it once needed, and the daemon stays for weeks: what stood
there before leslied came is read by a child that then ends.
"""

from __future__ import annotations

import multiprocessing
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection
    from types import FrameType

    from leslied.daemon.notify import Notifier

    Scan = Callable[[Callable[[], None]], object]


def read_first(scan: Scan, notifier: Notifier) -> None:
    """The scan is done, or was told to stop; it calls what it is given on progress.

    Whatever the child could not do, the daemon's own scans will do.
    """
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_scan, args=(scan, theirs))
    before = {n: signal.signal(n, _leave) for n in (signal.SIGTERM, signal.SIGINT)}
    child.start()
    theirs.close()
    notifier.ready()
    try:
        with suppress(EOFError):
            while True:
                ours.recv()
                notifier.ping()
    finally:
        child.terminate()
        child.join()
        for number, handler in before.items():
            signal.signal(number, handler)


def _scan(scan: Scan, theirs: Connection) -> None:
    with suppress(Exception):
        scan(lambda: theirs.send(None))


def _leave(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)
