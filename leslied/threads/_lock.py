"""Leslie's lock: a folder beside the file, as proper-lockfile makes it.

Whoever makes the folder holds the lock and touches it now and then; one that nobody
touched for ten seconds belongs to a dead process and may be taken away.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leslied.errors import SinkError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from leslied.clock import Clock

STALE_SECONDS = 10.0
RETRY_DELAYS_SECONDS = (0.1, 0.2, 0.4, 0.8, 1.0)
"""Seconds between the tries, as Leslie waits for us."""
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class LockBusyError(SinkError):
    """Somebody else is writing; it will be tried again."""


@dataclass(slots=True)
class HeldLock:
    """A lock that is ours, as long as nobody thinks we are dead."""

    fd: int
    name: str
    identity: tuple[int, int]
    """The lock folder's number and time, as we left them."""

    def refresh(self) -> None:
        """The lock was ours all the time and counts as fresh again."""
        try:
            if _read_identity(self.fd, self.name) != self.identity:
                raise LockBusyError(f"{self.name} was taken over by another process.")
            os.utime(self.name, dir_fd=self.fd, follow_symlinks=False)
            self.identity = _read_identity(self.fd, self.name)
        except OSError as error:
            raise LockBusyError(f"{self.name} is gone: {error.strerror}") from error

    def release(self) -> None:
        """The lock is free, unless it is somebody else's by now."""
        with suppress(OSError):
            if _read_identity(self.fd, self.name) == self.identity:
                os.rmdir(self.name, dir_fd=self.fd)


@contextmanager
def hold_lock(
    folder: Path,
    name: str,
    clock: Clock,
    pause: Callable[[float], object],
    retry_delays: tuple[float, ...] = RETRY_DELAYS_SECONDS,
) -> Iterator[HeldLock]:
    """`folder/name` is ours meanwhile; `pause` is called between the tries."""
    try:
        fd = os.open(folder, _FOLDER_FLAGS)
    except OSError as error:
        raise SinkError(f"{folder} cannot be opened: {error.strerror}") from error
    try:
        held = _acquire(fd, name, clock, pause, retry_delays)
        try:
            yield held
        finally:
            held.release()
    finally:
        os.close(fd)


def _acquire(
    fd: int,
    name: str,
    clock: Clock,
    pause: Callable[[float], object],
    retry_delays: tuple[float, ...],
) -> HeldLock:
    for seconds in (*retry_delays, None):
        try:
            if _create_lock(fd, name) or (
                _remove_stale_lock(fd, name, clock) and _create_lock(fd, name)
            ):
                return HeldLock(fd, name, _read_identity(fd, name))
        except OSError as error:
            raise SinkError(f"{name} cannot be made: {error.strerror}") from error
        if seconds is not None:
            pause(seconds)
    raise LockBusyError(f"Another process holds {name}.")


def _create_lock(fd: int, name: str) -> bool:
    try:
        os.mkdir(name, 0o700, dir_fd=fd)
    except FileExistsError:
        return False
    return True


def _remove_stale_lock(fd: int, name: str, clock: Clock) -> bool:
    """A lock that nobody touched for long is gone; says whether it is."""
    try:
        touched = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mtime
        if clock.now().timestamp() - touched <= STALE_SECONDS:
            return False
        os.rmdir(name, dir_fd=fd)
    except FileNotFoundError:
        return True
    return True


def _read_identity(fd: int, name: str) -> tuple[int, int]:
    found = os.stat(name, dir_fd=fd, follow_symlinks=False)
    return found.st_ino, found.st_mtime_ns
