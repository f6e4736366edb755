"""Threads that ask questions, each with its own connection to the store.

SQLite blocks while it reads, so questions must not run in the thread that serves all
clients.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from leslied.app import App
    from leslied.queries.context import QueryContext

_T = TypeVar("_T")
_UNOPENED = ()


class Backend:
    """The threads that ask, and what they ask with."""

    def __init__(self, app: App, threads: int) -> None:
        self._app = app
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="query")
        self._local = threading.local()

    async def ask(self, question: Callable[[QueryContext], _T]) -> _T:
        """Return the answer to a question, asked in one of the threads."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, self._ask, question)

    def close(self) -> None:
        """Wait for the questions that are being answered, and end the threads."""
        self._executor.shutdown(cancel_futures=True)

    def _ask(self, question: Callable[[QueryContext], _T]) -> _T:
        store = self._identify_store()
        if getattr(self._local, "store", _UNOPENED) != store:
            self._open(store)
        try:
            return question(self._local.context)
        except Exception:
            # What failed may work with a store that is opened again.
            self._local.store = _UNOPENED
            raise

    def _open(self, store: tuple[int, ...]) -> None:
        """Open the store in this thread: for the first time, or because it changed."""
        if hasattr(self._local, "context"):
            self._local.context.__exit__()
        self._local.context = self._app.open_queries()
        self._local.store = store

    def _identify_store(self) -> tuple[int, ...]:
        """Return what tells a store from the one that replaces it."""
        with suppress(OSError):
            status = self._app.paths.store_file.stat()
            return status.st_dev, status.st_ino
        return (0,)
