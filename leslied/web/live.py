"""Changes of the store, sent to every open page as server-sent events.

An event names the sessions that changed; a page asks again for what it shows. The store
is polled only while a page is open.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from leslied.errors import LesliedError
from leslied.model.times import to_us
from leslied.queries.annotations import load_annotations
from leslied.queries.operations.status import is_daemon_running

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from leslied.annotations import Snapshot
    from leslied.model.record import SessionKey
    from leslied.queries.context import QueryContext
    from leslied.web.backend import Backend

_POLL_SECONDS = 0.1
_DAEMON_POLLS = 20
"""Polls between two looks at whether the daemon runs."""
_KEEP_ALIVE_SECONDS = 15.0
_MAX_WAITING_EVENTS = 1000


class Live:
    """The one poller of the store, and the pages that listen to it."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._queues: set[asyncio.Queue[str]] = set()
        self._task: asyncio.Task[None] | None = None

    async def listen(self) -> AsyncIterator[str]:
        """Yield events until the client is gone."""
        queue: asyncio.Queue[str] = asyncio.Queue(_MAX_WAITING_EVENTS)
        self._queues.add(queue)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._poll())
        try:
            yield ": connected\n\n"
            while True:
                try:
                    yield await asyncio.wait_for(queue.get(), _KEEP_ALIVE_SECONDS)
                except TimeoutError:
                    yield ": still here\n\n"
        finally:
            self._queues.discard(queue)

    async def _poll(self) -> None:
        changes = ChangeFinder()
        while self._queues:
            with suppress(LesliedError):
                for event in await self._backend.ask(changes.find):
                    self._send(f"data: {json.dumps(event)}\n\n")
            await asyncio.sleep(_POLL_SECONDS)

    def _send(self, text: str) -> None:
        for queue in self._queues:
            # A client that does not read misses events, and reloads when it reads on.
            with suppress(asyncio.QueueFull):
                queue.put_nowait(text)


class ChangeFinder:
    """Finder of what changed in the store since it was asked last."""

    def __init__(self) -> None:
        self._polls = 0
        self._version: int | None = None
        self._read_order = 0
        self._stopped_us = 0
        self._waiting: set[tuple[SessionKey, str]] = set()
        self._is_daemon_running: bool | None = None
        self._annotations: Snapshot | None = None

    def find(self, context: QueryContext) -> list[dict[str, Any]]:
        """Return the events since the last call; the first call returns no changes."""
        return [
            *self._find_daemon_events(context),
            *self._find_changes(context),
            *self._find_annotation_events(context),
        ]

    def _find_daemon_events(self, context: QueryContext) -> list[dict[str, Any]]:
        self._polls += 1
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
        changed = old.by_session.items() ^ new.by_session.items()
        ids = sorted({name.session_id for name, _ in changed})
        return [{"type": "annotations", "ids": ids}] if ids else []

    def _find_changes(self, context: QueryContext) -> list[dict[str, Any]]:
        feed = context.reader.change_feed
        version = feed.get_data_version()
        if version == self._version:
            return []
        is_first, self._version = self._version is None, version
        waiting = set(feed.list_waiting())
        changed, self._waiting = waiting ^ self._waiting, waiting
        if is_first:
            self._read_order = feed.get_newest_read_order()
            self._stopped_us = to_us(context.now)
            return []
        keys = feed.list_changed_streams(self._read_order)
        stops = feed.list_stopped(self._stopped_us)
        self._read_order = feed.get_newest_read_order()
        self._stopped_us = max((at for _, at in stops), default=self._stopped_us)
        keys += [key for key, _ in (*stops, *changed)]
        ids = {key.session_id for key in keys}
        return [{"type": "sessions", "ids": sorted(ids)}] if ids else []
