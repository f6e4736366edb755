"""The server: it answers on a socket until a signal arrives or nobody needs it."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import uvicorn

from leslied.errors import describe_error
from leslied.log import make_logger
from leslied.web.application import Application
from leslied.web.connection import MAX_CONNECTIONS, TimedConnection
from leslied.web.running import recorded_port

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator

    from leslied.app import App
    from leslied.web.access import Access

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class Lifetime:
    """When a server ends by itself; by default never."""

    idle_seconds: float | None = None
    """Time without a request or an open page."""
    parent_descriptor: int | None = None
    """Descriptor that the parent process keeps open while it runs."""


def serve(
    app: App,
    access: Access,
    listener: socket.socket,
    announce: Callable[[], None],
    lifetime: Lifetime | None = None,
) -> None:
    """Answer requests until a signal arrives, or the lifetime ends.

    `announce` is called as soon as the server listens.
    """
    port = listener.getsockname()[1]
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    application = Application(app, access, port, _make_report(app))
    config = uvicorn.Config(
        application.guard,
        loop="asyncio",
        http=TimedConnection,
        ws="none",
        log_config=None,
        # Its messages contain tracebacks, which may contain the text of a session.
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=1,
    )
    with recorded_port(app.paths.web_port_file, port):
        announce()
        server = _Server(config, application, lifetime or Lifetime())
        server.run(sockets=[listener])


class _Server(uvicorn.Server):
    """uvicorn's server, which ends normally on a signal, and also when it is idle."""

    def __init__(
        self, config: uvicorn.Config, application: Application, lifetime: Lifetime
    ) -> None:
        super().__init__(config)
        self._live = application.live
        self._lifetime = lifetime
        self._last_request_count = 0
        self._last_used_at = 0.0
        """Event loop's time when a new request or an open page was last noticed."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle the signals, which uvicorn would raise again at the end."""
        previous = {
            number: signal.signal(number, self.handle_exit) for number in _SIGNALS
        }
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and watch the parent process."""
        await super().startup(sockets)
        self._last_used_at = asyncio.get_running_loop().time()
        if self._lifetime.parent_descriptor is not None:
            asyncio.get_running_loop().add_reader(
                self._lifetime.parent_descriptor, self._check_parent
            )

    async def on_tick(self, counter: int) -> bool:
        """Return whether to end."""
        return await super().on_tick(counter) or self._is_idle()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams of open pages first: they would never end by themselves."""
        self._live.close()
        await super().shutdown(sockets)

    def _check_parent(self) -> None:
        """End the server if the parent process has ended.

        Nothing holds the other end of the descriptor open then, so that reading from it
        returns no bytes.
        """
        descriptor = self._lifetime.parent_descriptor
        if descriptor is not None and not os.read(descriptor, 1):
            self.should_exit = True

    def _is_idle(self) -> bool:
        now = asyncio.get_running_loop().time()
        request_count = self.server_state.total_requests
        if request_count != self._last_request_count or self._live.has_listeners:
            self._last_request_count, self._last_used_at = request_count, now
        limit = self._lifetime.idle_seconds
        return limit is not None and now - self._last_used_at > limit


def _make_report(app: App) -> Callable[[Exception], None]:
    """Return a function that logs an unexpected error without its message.

    The message may quote the text of a session.
    """
    log: Any = None

    def report(error: Exception) -> None:
        nonlocal log
        log = log or make_logger(app.load_redact(), as_json=not sys.stderr.isatty())
        log.error("web.fail", reason=describe_error(error))

    return report
