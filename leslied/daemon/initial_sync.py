"""Run the first sync in a child process.

A process rarely returns memory to the system, and the daemon runs for weeks. So the
logs that already exist when the daemon starts are read by a child that then exits.
"""

from __future__ import annotations

import multiprocessing
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

_POLL_SECONDS = 0.2
"""Longest time until the parent notices that `stopping` was set."""
_TERMINATE_TIMEOUT_SECONDS = 0.8
"""Seconds the child has to finish a commit before it is killed (which is safe, too)."""

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection
    from threading import Event

    from leslied.daemon.notify import Notifier

    Scan = Callable[[Callable[[], None]], object]
    """A function that reads logs; its argument is the progress callback."""


def run_initial_sync(scan: Scan, notifier: Notifier, stopping: Event) -> None:
    """Run `scan` in a child process until it ends or `stopping` is set.

    `scan` receives a callback that it must call on progress. Errors of the child are
    ignored, because the daemon's own scans read everything that the child did not.
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_run_child, args=(scan, sender))
    child.start()
    sender.close()
    notifier.ready()
    try:
        with suppress(EOFError):
            while not stopping.is_set():
                if receiver.poll(_POLL_SECONDS):
                    receiver.recv()
                    notifier.ping()
    finally:
        child.terminate()
        child.join(_TERMINATE_TIMEOUT_SECONDS)
        child.kill()
        child.join()


def _run_child(scan: Scan, sender: Connection) -> None:
    """Run `scan` and report its progress; after SIGTERM, exit at the next commit."""
    received_signals: list[int] = []

    def report_progress() -> None:
        sender.send(None)
        if received_signals:
            raise SystemExit(0)

    signal.signal(signal.SIGTERM, lambda number, _: received_signals.append(number))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(Exception):
        scan(report_progress)
