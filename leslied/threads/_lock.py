"""Leslie's lock: a folder next to the file, as proper-lockfile creates it.

The process that creates the folder holds the lock and updates its mtime from time to
time. A folder that was not updated for ten seconds belongs to a dead process and may be
removed.
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
"""Delays between attempts; Leslie uses the same."""
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class LockBusyError(SinkError):
    """Another process holds the lock; the caller tries again later."""


@dataclass(slots=True)
class HeldLock:
    """A lock that this process holds, unless another process took it over as stale."""

    fd: int
    name: str
    identity: tuple[int, int]
    """Inode and mtime of the lock folder after our last update."""

    def refresh(self) -> None:
        """Update the lock's mtime; raise LockBusyError if the lock was lost."""
        try:
            if _read_identity(self.fd, self.name) != self.identity:
                raise LockBusyError(f"{self.name} was taken over by another process.")
            os.utime(self.name, dir_fd=self.fd, follow_symlinks=False)
            self.identity = _read_identity(self.fd, self.name)
        except OSError as error:
            raise LockBusyError(f"{self.name} is gone: {error.strerror}") from error

    def release(self) -> None:
        """Remove the lock, unless another process took it over."""
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
    """Hold the lock `folder/name`; call `pause` between attempts to acquire it.

    Raise LockBusyError if another process holds it after the last attempt.
    """
    try:
        fd = os.open(folder, _FOLDER_FLAGS)
    except OSError as error:
        raise SinkError(f"{folder} cannot be opened: {error.strerror}") from error
    try:
        lock = _acquire(fd, name, clock, pause, retry_delays)
        try:
            yield lock
        finally:
            lock.release()
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
            raise SinkError(f"{name} cannot be created: {error.strerror}") from error
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
    """Remove the lock if it is stale; return whether it no longer exists."""
    try:
        updated_at = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mtime
        if clock.now().timestamp() - updated_at <= STALE_SECONDS:
            return False
        os.rmdir(name, dir_fd=fd)
    except FileNotFoundError:
        return True
    return True


def _read_identity(fd: int, name: str) -> tuple[int, int]:
    status = os.stat(name, dir_fd=fd, follow_symlinks=False)
    return status.st_ino, status.st_mtime_ns
