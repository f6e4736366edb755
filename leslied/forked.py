"""Use of a second processor: forked processes that exchange values with their parent.

Being forked, such a process inherits everything that it needs; it holds no lock.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from leslied.errors import LesliedError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
    from multiprocessing.connection import Connection

T = TypeVar("T")
S = TypeVar("S")
_MAX_FILE_DESCRIPTORS = 65536
"""Limit of the descriptors that a forked process closes."""
_PIPE_BYTES = 1024 * 1024
"""Size of a pipe: with Linux's own 64 KiB, the processes wait for each other."""


def can_fork() -> bool:
    """Return whether a second process would help and forking one is safe."""
    return (
        sys.platform == "linux"
        and len(os.sched_getaffinity(0)) > 1
        and threading.active_count() == 1
    )


def iter_in_fork(values: Iterable[T]) -> Generator[T, None, None]:
    """Iterate over the values in a forked process that starts now; yield them here.

    Raise the LesliedError that ended the process, or one that says that it ended early.
    """
    import multiprocessing  # noqa: PLC0415 - costs 15 ms, and few runs need it

    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    enlarge_pipe(sender)
    child = context.Process(target=_send, args=(values, sender), daemon=True)
    child.start()
    sender.close()

    def receive() -> Generator[T, None, None]:
        try:
            yield from _receive(receiver)
        finally:
            receiver.close()
            child.join()

    return receive()


def map_in_two_processes(function: Callable[[S], T], values: Sequence[S]) -> list[T]:
    """Return the results of a function; a forked process computes half of them."""
    middle = len(values) // 2
    second_half = iter_in_fork(map(function, values[middle:]))
    return [*map(function, values[:middle]), *second_half]


def enlarge_pipe(sender: Connection) -> None:
    """Let a pipe hold more before its sender must wait."""
    # The system limits how much memory the pipes of a user take.
    with suppress(OSError, AttributeError):
        fcntl.fcntl(sender, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def detach(connection: Connection) -> None:
    """Close all inherited file descriptors except those up to 2 and this connection.

    So the store's lock ends with the parent, even if this process still runs. Signals
    are ignored: the parent closes the connection, which ends this process.
    """
    os.closerange(3, connection.fileno())
    os.closerange(connection.fileno() + 1, _MAX_FILE_DESCRIPTORS)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _receive(receiver: Connection) -> Iterator[T]:
    """Yield the values that `_send` sends; raise its LesliedError."""
    try:
        while (message := receiver.recv()) is not None:
            value, error = message
            if error:
                raise error
            yield value
    except EOFError as error:
        raise LesliedError(
            "A second process ended unexpectedly.",
            "Nothing was lost. To continue, run: leslied sync",
        ) from error


def _send(values: Iterable[T], sender: Connection) -> None:
    """Send every value, then None, or the LesliedError that ended the work."""
    detach(sender)
    try:
        try:
            for value in values:
                sender.send((value, None))
            sender.send(None)
        except LesliedError as error:
            sender.send((None, error))
    except BrokenPipeError:
        pass
    except Exception:  # noqa: BLE001 - reported here
        # multiprocessing would print the message, which may quote a session's text.
        sys.excepthook(*sys.exc_info())
        raise SystemExit(1) from None
