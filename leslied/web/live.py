"""Changes of the store, sent to every open page as server-sent events.

An event names the sessions that changed; a page then loads again those that it shows.
The store is polled only while a page is open.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from leslied.errors import EmptyStore, LesliedError, StoreUnusable
from leslied.model.times import to_us
from leslied.queries.annotations import load_annotations
from leslied.queries.operations.status import is_daemon_running

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from leslied.annotations import Snapshot
    from leslied.model.record import SessionKey
    from leslied.queries.context import QueryContext
    from leslied.store import StoreQueries
    from leslied.web.backend import Backend

_POLL_SECONDS = 0.1
_DAEMON_POLLS = 20
"""Number of polls after which to check again whether the daemon runs."""
_KEEP_ALIVE_SECONDS = 15.0
_MAX_WAITING_EVENTS = 1000
_RETRY_SECONDS = 5.0
"""Pause after an unexpected error."""


class Live:
    """The one poller of the store, and the pages that listen to it."""

    def __init__(self, backend: Backend, report: Callable[[Exception], None]) -> None:
        self._backend = backend
        self._report = report
        self._queues: set[asyncio.Queue[str | None]] = set()
        """For each open page, the events to send; None wakes it when we close."""
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False
        self._daemon_event = ""
        """The last event about the daemon, for pages that are opened later."""

    @property
    def has_listeners(self) -> bool:
        """Whether a page is open."""
        return bool(self._queues)

    async def listen(self) -> AsyncGenerator[str, None]:
        """Yield events until the client disconnects, or is dropped as too slow."""
        queue: asyncio.Queue[str | None] = asyncio.Queue(_MAX_WAITING_EVENTS)
        if self._daemon_event:
            queue.put_nowait(self._daemon_event)
        self._queues.add(queue)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._poll())
        try:
            yield ": connected\n\n"
            while not self._is_closed and queue in self._queues:
                try:
                    event = await asyncio.wait_for(queue.get(), _KEEP_ALIVE_SECONDS)
                    # None only ends the wait: `_is_closed` then ends the loop.
                    yield event or ""
                except TimeoutError:
                    yield ": still here\n\n"
        finally:
            self._queues.discard(queue)

    def close(self) -> None:
        """End all streams."""
        self._is_closed = True
        for queue in self._queues:
            with suppress(asyncio.QueueFull):
                queue.put_nowait(None)

    async def _poll(self) -> None:
        """Send events to the open pages until the last one is closed."""
        changes = ChangeFinder()
        is_store_unusable = False
        while self._queues and not self._is_closed:
            try:
                events = await self._backend.ask(changes.find)
                if is_store_unusable:
                    is_store_unusable = False
                    self._send({"type": "store"})
                for event in events:
                    self._send(event)
            except LesliedError as error:
                # A store that is missing or busy may be usable soon.
                is_store_unusable = isinstance(error, EmptyStore | StoreUnusable)
                if not self._daemon_event:
                    self._send({"type": "daemon", "is_running": False})
            except Exception as error:  # noqa: BLE001 - the poller outlives every error
                self._report(error)
                await asyncio.sleep(_RETRY_SECONDS)
            await asyncio.sleep(_POLL_SECONDS)

    def _send(self, event: dict[str, Any]) -> None:
        """Send an event to all clients, and drop those that do not read.

        Such a client connects again later, and then reloads what it shows.
        """
        text = f"data: {json.dumps(event)}\n\n"
        if event["type"] == "daemon":
            self._daemon_event = text
        for queue in list(self._queues):
            try:
                queue.put_nowait(text)
            except asyncio.QueueFull:
                self._queues.discard(queue)


class ChangeFinder:
    """Finds changes of the store, the annotations and the daemon's state."""

    def __init__(self) -> None:
        self._polls = 0
        self._reader: StoreQueries | None = None
        """The store that the last call of `find` read."""
        self._data_version: int | None = None
        self._last_read_order = 0
        """`read_order` of the newest entry that was reported, or was there before."""
        self._last_stop_us = 0
        """Time of the newest stop that was reported, or was there before."""
        self._waits: set[tuple[SessionKey, str]] = set()
        """Sessions that wait for the user, each with what it waits for."""
        self._is_daemon_running: bool | None = None
        self._annotations: Snapshot | None = None
        self._unsent_events: list[dict[str, Any]] = []
        """Events of a call of `find` that failed afterwards."""

    def find(self, context: QueryContext) -> list[dict[str, Any]]:
        """Return the events since the last call that did not fail.

        The first call finds no changes; it only returns whether the daemon runs. The
        event `store` says that everything may have changed.
        """
        self._unsent_events += self._find_daemon_events(context)
        self._unsent_events += self._find_session_events(context)
        self._unsent_events += self._find_annotation_events(context)
        events, self._unsent_events = self._unsent_events, []
        return events

    def _find_daemon_events(self, context: QueryContext) -> list[dict[str, Any]]:
        self._polls += 1
        # The first poll checks the daemon, and then one in `_DAEMON_POLLS`.
        if self._polls % _DAEMON_POLLS != 1:
            return []
        is_running = is_daemon_running(context)
        if is_running == self._is_daemon_running:
            return []
        self._is_daemon_running = is_running
        return [{"type": "daemon", "is_running": is_running}]

    def _find_annotation_events(self, context: QueryContext) -> list[dict[str, Any]]:
        old, new = self._annotations, load_annotations(context)
        self._annotations = new
        if old is None or old is new:
            return []
        changed_items = old.by_session.items() ^ new.by_session.items()
        ids = sorted({name.session_id for name, _ in changed_items})
        return [{"type": "annotations", "ids": ids}] if ids else []

    def _find_session_events(self, context: QueryContext) -> list[dict[str, Any]]:
        reader = context.reader
        if reader is not self._reader:
            return self._start(reader, context)
        feed = reader.change_feed
        version = feed.get_data_version()
        if version == self._data_version:
            return []
        waits = set(feed.list_waiting())
        keys = feed.list_changed_streams(self._last_read_order)
        stops = feed.list_stopped(self._last_stop_us)
        newest_read_order = feed.get_newest_read_order()
        # Nothing is remembered before every query has succeeded.
        keys += [key for key, _ in (*stops, *(waits ^ self._waits))]
        self._last_stop_us = max((at for _, at in stops), default=self._last_stop_us)
        self._last_read_order = newest_read_order
        self._waits = waits
        self._data_version = version
        ids = {key.session_id for key in keys}
        return [{"type": "sessions", "ids": sorted(ids)}] if ids else []

    def _start(
        self, reader: StoreQueries, context: QueryContext
    ) -> list[dict[str, Any]]:
        """Skip all changes of this store until now.

        Return the event `store` if it replaced another store, else no event.
        """
        is_first = self._reader is None
        feed = reader.change_feed
        self._data_version = feed.get_data_version()
        self._waits = set(feed.list_waiting())
        self._last_read_order = feed.get_newest_read_order()
        self._last_stop_us = to_us(context.now)
        self._reader = reader
        return [] if is_first else [{"type": "store"}]
