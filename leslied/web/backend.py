"""Worker threads that answer web requests, each with its own connection to the store.

SQLite blocks while it reads, so queries must not run in the thread that serves all
clients. A query that takes too much processor time is interrupted.
"""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from leslied.errors import LesliedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from leslied.app import App
    from leslied.queries.context import QueryContext
    from leslied.store import StoreReader

_T = TypeVar("_T")
_NO_STORE = ()
"""Identity in a thread that must open the store before its next query."""
MAX_SECONDS = 5.0
"""Processor time of one query; on a busy machine, more time passes."""
_MAX_WAIT_SECONDS = 30.0
"""Longest time that a client waits for an answer."""


class TookTooLong(LesliedError):  # noqa: N818 - a state, not a failure
    """A query took too long and was interrupted."""

    def __init__(self) -> None:
        super().__init__(
            "This took too long and was stopped.",
            "Ask for less: one project, or a shorter time.",
        )


class Backend:
    """The threads that run queries, and the open store of each thread."""

    def __init__(
        self, app: App, threads: int, max_seconds: float = MAX_SECONDS
    ) -> None:
        self._app = app
        self._max_seconds = max_seconds
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="query")
        self._local = threading.local()
        """Each thread has a `context` for its queries, the `identity` of its open
        store, and the `deadline` of its current query."""
        self._is_closed = False

    async def ask(self, query: Callable[[QueryContext], _T]) -> _T:
        """Return the answer to a query, which runs in one of the threads.

        Raise TookTooLong if the answer takes too long.
        """
        loop = asyncio.get_running_loop()
        answer = loop.run_in_executor(self._executor, self._ask, query)
        try:
            return await asyncio.wait_for(answer, _MAX_WAIT_SECONDS)
        except TimeoutError:
            raise TookTooLong from None

    def open_soon(self) -> None:
        """Open the store while a page loads its files, before its first query."""
        self._executor.submit(self._ask, _open_store)

    def close(self) -> None:
        """Interrupt the queries that are running, and end the threads."""
        self._is_closed = True
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _ask(self, query: Callable[[QueryContext], _T]) -> _T:
        identity = self._identify_store()
        if getattr(self._local, "identity", _NO_STORE) != identity:
            self._open(identity)
        self._local.deadline = time.thread_time() + self._max_seconds
        try:
            return query(self._local.context)
        except Exception as error:
            # The next query may succeed with a store that is opened again.
            self._local.identity = _NO_STORE
            if self._is_past_deadline() and _is_interrupt(error):
                raise TookTooLong from None
            raise

    def _open(self, identity: tuple[int, ...]) -> None:
        """Open the store in this thread: for the first time, or again."""
        if hasattr(self._local, "context"):
            self._local.context.__exit__()
        self._local.context = replace(
            self._app.open_queries(), open_reader=self._open_reader
        )
        self._local.identity = identity

    def _open_reader(self) -> StoreReader:
        reader = self._app.open_reader()
        reader.set_interrupt(self._is_past_deadline)
        return reader

    def _is_past_deadline(self) -> bool:
        """Return whether the query in this thread must end."""
        is_late: bool = time.thread_time() > self._local.deadline
        return is_late or self._is_closed

    def _identify_store(self) -> tuple[int, ...]:
        """Return numbers that differ between a store and one that replaces it."""
        with suppress(OSError):
            status = self._app.paths.store_file.stat()
            return status.st_dev, status.st_ino
        return (0,)


def _open_store(context: QueryContext) -> None:
    """Open the store and load the rules of redaction before a query needs them."""
    context.redact("")
    context.reader.list_agent_names()


def _is_interrupt(error: BaseException) -> bool:
    """Return whether SQLite was interrupted; the store's own error may wrap it."""
    name = getattr(error, "sqlite_errorname", "")
    cause = error.__cause__
    return name == "SQLITE_INTERRUPT" or (cause is not None and _is_interrupt(cause))
