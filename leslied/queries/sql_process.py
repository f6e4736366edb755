"""Run a SQL query in a child process, which is killed when it takes too long.

SQLite checks a time limit only between the steps of a query, and one function over a
huge text can run for minutes. A process can be killed at any time, and its memory can
be limited.
"""

from __future__ import annotations

import os
import select
import signal
import struct
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from leslied import errors
from leslied.errors import LesliedError, UserError
from leslied.queries.scripts import SqlRows, make_timeout_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leslied.clock import Clock
    from leslied.queries.scripts import ScriptQueries

MAX_CELL_LENGTH = 4 * 1024 * 1024
"""Number of characters or bytes after which a cell is cut."""
_GRACE_SECONDS = 0.5
"""Time after the limit in which the child can still stop the query by itself."""
_MAX_MEMORY_BYTES = 384 * 1024 * 1024
"""Memory that a query may use, in addition to what the program needs."""
_MIN_CPU_SECONDS = 30
_FRAME_LENGTH = 64 * 1024
_FRAME_ROWS = 256
_MEMORY_ERROR = (
    UserError.__name__,
    "The query needs too much memory.",
    "Select fewer columns or shorter texts, such as substr(content, 1, 1000).",
)
_LENGTH = struct.Struct("!Q")
_CUT_NOTE = f"… [cut: longer than {MAX_CELL_LENGTH:,} characters]"


class _Frame(msgspec.Struct):
    """A message of the child: rows of the result, or an error.

    The first row is the names of the columns. An empty frame is sent when the query
    starts, and another one when it has ended.
    """

    rows: list[tuple[Any, ...]] = []
    error: tuple[str, str, str] | None = None
    """Name of the class, message and hint."""


_decode = msgspec.msgpack.Decoder(_Frame).decode


@contextmanager
def execute_in_child(
    open_queries: Callable[[], ScriptQueries], query: str, timeout: float, clock: Clock
) -> Iterator[SqlRows]:
    """Run one SELECT in a child process; raise UserError as `execute` does.

    `timeout` is in seconds; time in which the caller does not wait for the query does
    not count. Cells longer than MAX_CELL_LENGTH are cut. The child ends with the
    context.
    """
    child = _Child(open_queries, query, timeout)
    try:
        rows = _receive_rows(child, timeout, clock)
        yield SqlRows(next(rows), rows)
    finally:
        child.kill()


def _receive_rows(
    child: _Child, timeout: float, clock: Clock
) -> Iterator[tuple[Any, ...]]:
    """Yield the names of the columns, then the rows."""
    # The first frame is empty: the child has opened the store and starts the query.
    # The time until then does not count.
    child.receive(None)
    remaining_seconds = timeout + _GRACE_SECONDS
    while True:
        start = clock.monotonic()
        frame = child.receive(max(0, remaining_seconds))
        remaining_seconds -= clock.monotonic() - start
        if not frame.rows:
            return
        yield from map(tuple, frame.rows)


class _Child:
    """A process that runs a query and sends frames, each after its length."""

    def __init__(
        self, open_queries: Callable[[], ScriptQueries], query: str, timeout: float
    ) -> None:
        self._fd, sender = os.pipe()
        # Buffered output must not be printed by both processes.
        sys.stdout.flush()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._fd)
            _run(open_queries, query, timeout, sender)
        os.close(sender)

    def receive(self, timeout: float | None) -> _Frame:
        """Return the next frame; raise its error, or UserError after the timeout."""
        (length,) = _LENGTH.unpack(self._read(_LENGTH.size, timeout))
        frame = _decode(self._read(length, timeout))
        if frame.error:
            name, message, hint = frame.error
            raise getattr(errors, name)(message, hint)
        return frame

    def _read(self, length: int, timeout: float | None) -> bytearray:
        data = bytearray()
        while len(data) < length:
            readable, _, _ = select.select([self._fd], [], [], timeout)
            if not readable:
                raise make_timeout_error()
            part = os.read(self._fd, length - len(data))
            if not part:
                raise LesliedError(
                    "The process that runs the query ended unexpectedly.",
                    "Select less, such as substr(content, 1, 1000).",
                )
            data += part
        return data

    def kill(self) -> None:
        """End the process; do nothing if it has ended."""
        if self._pid:
            os.close(self._fd)
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
            self._pid = 0


def _run(
    open_queries: Callable[[], ScriptQueries], query: str, timeout: float, fd: int
) -> NoReturn:
    """Run the query in the child, send its result or error, and exit."""
    # The parent handles Ctrl-C, and ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _limit_resources(timeout)
    try:
        try:
            for rows in _execute(open_queries, query, timeout):
                _send(fd, _Frame(rows))
        except LesliedError as error:
            failure = (type(error).__name__, error.message, error.hint)
            _send(fd, _Frame(error=failure))
        except MemoryError:
            _send(fd, _Frame(error=_MEMORY_ERROR))
    except BrokenPipeError:
        pass
    finally:
        # Leave without the clean-up of the parent, such as temporary folders.
        os._exit(0)


def _execute(
    open_queries: Callable[[], ScriptQueries], query: str, timeout: float
) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the content of each frame that the child sends.

    It is empty before the query starts and after its end; the names of the columns come
    first, then groups of rows.
    """
    with open_queries() as queries:
        yield []
        result = queries.execute(query, (), timeout)
        yield [result.columns]
        rows: list[tuple[Any, ...]] = []
        length = 0
        for row in result.rows:
            cells = tuple(map(_cut, row))
            rows.append(cells)
            length += sum(len(c) for c in cells if isinstance(c, (str, bytes)))
            if length >= _FRAME_LENGTH or len(rows) >= _FRAME_ROWS:
                yield rows
                rows, length = [], 0
        if rows:
            yield rows
        yield []


def _cut(cell: Any) -> Any:
    """Cut a long cell and say so; a cut BLOB becomes hexadecimal digits."""
    if not isinstance(cell, (str, bytes)) or len(cell) <= MAX_CELL_LENGTH:
        return cell
    start = cell[:MAX_CELL_LENGTH]
    return (start if isinstance(start, str) else start.hex()) + _CUT_NOTE


def _send(fd: int, frame: _Frame) -> None:
    data = msgspec.msgpack.encode(frame)
    with open(fd, "wb", closefd=False) as file:
        file.write(_LENGTH.pack(len(data)))
        file.write(data)


def _limit_resources(timeout: float) -> None:
    """Limit memory if possible, and processor time, in case the parent is killed."""
    import resource  # noqa: PLC0415 - only the child needs it

    cpu_seconds = int(timeout) * 2 + _MIN_CPU_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
    with suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + _MAX_MEMORY_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
