"""The first sync, in a process of its own.

A process keeps the memory it once needed, and the daemon stays for weeks: what stood
there before leslied came is read by a child that then ends.
"""

from __future__ import annotations

import multiprocessing
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

_POLL_SECONDS = 0.2
_TERMINATE_TIMEOUT_SECONDS = 4.0
"""Seconds the child has to finish a commit before it is killed, which is safe, too."""

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection
    from threading import Event

    from leslied.daemon.notify import Notifier

    Scan = Callable[[Callable[[], None]], object]


def run_initial_sync(scan: Scan, notifier: Notifier, stopping: Event) -> None:
    """The scan is done, or was told to stop; it calls what it is given on progress.

    Whatever the child could not do, the daemon's own scans will do.
    """
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_run_child, args=(scan, theirs))
    child.start()
    theirs.close()
    notifier.ready()
    try:
        with suppress(EOFError):
            while not stopping.is_set():
                if ours.poll(_POLL_SECONDS):
                    ours.recv()
                    notifier.ping()
    finally:
        child.terminate()
        child.join(_TERMINATE_TIMEOUT_SECONDS)
        child.kill()
        child.join()


def _run_child(scan: Scan, sender: Connection) -> None:
    """The scan ends by itself, or after the commit during which it is told to."""
    told: list[int] = []

    def tell() -> None:
        sender.send(None)
        if told:
            raise SystemExit(0)

    signal.signal(signal.SIGTERM, lambda number, _: told.append(number))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(Exception):
        scan(tell)
