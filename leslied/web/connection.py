"""Connections of clients: how long each of them may take, and how many there are.

uvicorn waits forever for the rest of a request, and for a client that does not read its
answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

REQUEST_SECONDS = 10.0
"""Time from the start of a request to its end."""
READING_SECONDS = 30.0
"""Time that a client may take to read data before more of it is sent."""
MAX_CONNECTIONS = 128
"""Connections that get an answer at the same time; a browser opens at most six."""


class TimedConnection(H11Protocol):
    """A connection that is closed when its client is too slow."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._request_timer: asyncio.TimerHandle | None = None
        self._reading_timer: asyncio.TimerHandle | None = None

    def connection_made(  # type: ignore[override] # as in uvicorn
        self, transport: asyncio.Transport
    ) -> None:
        """Start to wait for a request; refuse clients beyond twice the limit."""
        super().connection_made(transport)
        if len(self.connections) > 2 * MAX_CONNECTIONS:
            transport.abort()
            return
        self._start_request_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timers."""
        self._stop_request_timer()
        # This cancels the timer that waits for the client to read.
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Handle data, and wait for the rest of a request for a limited time only."""
        self._start_request_timer()
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._stop_request_timer()

    def pause_writing(self) -> None:
        """Wait until the client has read, for a limited time only."""
        super().pause_writing()
        self._reading_timer = self.loop.call_later(
            READING_SECONDS, self.transport.abort
        )

    def resume_writing(self) -> None:
        """Continue to write, because the client has read."""
        if self._reading_timer is not None:
            self._reading_timer.cancel()
            self._reading_timer = None
        super().resume_writing()

    def _start_request_timer(self) -> None:
        if self._request_timer is None:
            self._request_timer = self.loop.call_later(
                REQUEST_SECONDS, self.transport.abort
            )

    def _stop_request_timer(self) -> None:
        if self._request_timer is not None:
            self._request_timer.cancel()
            self._request_timer = None
