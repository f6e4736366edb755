"""Serve the page on demand, in a process that exists only while the page is used.

The daemon only listens. At the first connection it starts a child process, which takes
over the socket and ends when nobody uses the page any more; so the daemon itself never
needs the memory of a web server.
"""

from __future__ import annotations

import os
import select
import subprocess
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from leslied.errors import LesliedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from structlog.typing import FilteringBoundLogger

    from leslied.clock import Clock

_FIRST_PAUSE_SECONDS = 1.0
"""Pause after a child that ended with an error; it doubles with each further one."""
_MAX_PAUSE_SECONDS = 60.0
_HEALTHY_SECONDS = 60.0
"""An error of a child that ran longer than this counts as the first error again."""
_TERMINATE_SECONDS = 1.5
"""Time that a child has to end, before it is killed."""


class Listener(Protocol):
    """A socket that listens."""

    def fileno(self) -> int:
        """Return its descriptor."""

    def close(self) -> None:
        """Close it."""


@dataclass(slots=True, kw_only=True)
class PageStarter:
    """Holder of the socket of the page, and starter of the process that serves it."""

    open_socket: Callable[[int], Listener]
    """Function that listens on a port; it may raise a LesliedError."""
    command: Sequence[str]
    """Command that serves the page; the number of the descriptor is appended."""
    environ: Mapping[str, str]
    clock: Clock
    log: FilteringBoundLogger
    _port: int | None = None
    """Port on which the daemon listens."""
    _reason: str = ""
    """Why the port cannot be used, as it was logged last."""
    _worker: _Worker | None = None

    def apply(self, port: int | None) -> None:
        """Listen on this port from now on, or on none; log if that is impossible."""
        if port == self._port:
            return
        self.close()
        if port is None:
            return
        try:
            listener = self.open_socket(port)
        except LesliedError as error:
            if error.message != self._reason:
                self.log.warning("web.listen", reason=error.message, hint=error.hint)
            self._reason = error.message
            return
        self._reason, self._port = "", port
        self._worker = _Worker(
            listener,
            [*self.command, str(listener.fileno())],
            self.environ,
            self.clock,
            self.log,
        )
        self._worker.start()
        self.log.info("web.listen", port=port)

    def close(self) -> None:
        """End the child and stop listening."""
        if self._worker:
            self._worker.stop()
        self._worker, self._port = None, None


@dataclass(slots=True, eq=False)
class _Worker:
    """The thread that waits for connections and for the child."""

    listener: Listener
    command: Sequence[str]
    environ: Mapping[str, str]
    clock: Clock
    log: FilteringBoundLogger
    _stopping: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _child: subprocess.Popen[bytes] | None = None
    _wake_pipe: tuple[int, int] = field(default_factory=os.pipe)
    _thread: threading.Thread = field(init=False)

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="page", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the child, by force if it takes too long, and then the thread."""
        with self._lock:
            self._stopping.set()
            child = self._child
        os.write(self._wake_pipe[1], b"x")
        if child:
            child.terminate()
            with suppress(subprocess.TimeoutExpired):
                child.wait(_TERMINATE_SECONDS)
            child.kill()
        self._thread.join()
        self.listener.close()
        for descriptor in self._wake_pipe:
            os.close(descriptor)

    def _run(self) -> None:
        """Start a child at each connection; after failures, pause longer each time."""
        pause_seconds = 0.0
        while self._wait_for_connection():
            started_at = self.clock.monotonic()
            code = self._run_child()
            if self._stopping.is_set():
                return
            is_healthy = self.clock.monotonic() - started_at > _HEALTHY_SECONDS
            if code == 0 or is_healthy:
                pause_seconds = 0.0
            if code:
                pause_seconds = min(
                    max(2 * pause_seconds, _FIRST_PAUSE_SECONDS), _MAX_PAUSE_SECONDS
                )
                self.log.warning("web.exit", code=code, retry_seconds=pause_seconds)
                self.clock.wait(self._stopping, pause_seconds)

    def _wait_for_connection(self) -> bool:
        """Wait until a client connects; return False if the daemon stops instead."""
        select.select([self.listener.fileno(), self._wake_pipe[0]], [], [])
        return not self._stopping.is_set()

    def _run_child(self) -> int:
        """Serve in a child until it ends; return its exit code."""
        with self._lock:
            if self._stopping.is_set():
                return 0
            try:
                self._child = self._start_child()
            except OSError as error:
                self.log.warning("web.start", reason=error.strerror)
                return 1
        self.log.info("web.start", pid=self._child.pid)
        # The child notices by the end of its input that the daemon was killed.
        with self._child as child:
            code = child.wait()
        with self._lock:
            self._child = None
        return code

    def _start_child(self) -> subprocess.Popen[bytes]:
        descriptor = self.listener.fileno()
        return subprocess.Popen(  # noqa: S603 - no shell, leslied itself
            self.command,
            env=self.environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=(descriptor,),
        )
