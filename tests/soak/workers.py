"""Run work in several processes that end with the soak, however it ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

POLL_SECONDS = 0.5


def run_in_workers(
    work: Callable[[Item], Result], items: Iterable[Item], workers: int
) -> Iterator[Result]:
    """Yield the result of each item as soon as it is there.

    If the caller stops early, the work is killed with all processes that it started.
    """
    context = multiprocessing.get_context("fork")
    pool = ProcessPoolExecutor(
        workers, mp_context=context, initializer=_lead_group, initargs=(os.getpid(),)
    )
    try:
        for future in as_completed([pool.submit(work, item) for item in items]):
            yield future.result()
        pool.shutdown()
    finally:
        for process in multiprocessing.active_children():
            with suppress(ProcessLookupError):
                os.killpg(process.pid or 0, signal.SIGKILL)
        pool.shutdown(cancel_futures=True)


def _lead_group(parent: int) -> None:
    """Make this process the leader of a group that ends with its parent."""
    os.setpgid(0, 0)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(POLL_SECONDS)
    os.killpg(0, signal.SIGKILL)
