"""Leslie's lock: a folder next to the file, as proper-lockfile creates it.

The process that creates the folder holds the lock and updates its mtime from time to
time. A folder that was not updated for ten seconds belongs to a dead process and may be
removed.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from leslied.errors import SinkError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.clock import Clock

STALE_SECONDS = 10.0
"""A lock that is older belongs to a dead process; Leslie has the same limit."""
RETRY_DELAYS_SECONDS = (0.1, 0.2, 0.4, 0.8, 1.0)
"""Delays between attempts; Leslie uses the same."""


class LockBusyError(SinkError):
    """Another process holds the lock, or took it over; a later attempt may succeed."""


class HeldLock(Struct):
    """A lock that this process holds, unless another process took it over as stale."""

    folder_fd: int
    """Descriptor of the folder that contains the lock."""
    name: str
    identity: tuple[int, int]
    """Inode and mtime of the lock folder after our last update."""

    def refresh(self) -> None:
        """Update the lock's mtime; raise LockBusyError if the lock was lost."""
        try:
            if _read_identity(self.folder_fd, self.name) != self.identity:
                raise LockBusyError(f"{self.name} was taken over by another process.")
            os.utime(self.name, dir_fd=self.folder_fd, follow_symlinks=False)
            self.identity = _read_identity(self.folder_fd, self.name)
        except OSError as error:
            raise LockBusyError(f"{self.name} is gone: {error.strerror}") from error

    def release(self) -> None:
        """Remove the lock, unless another process took it over."""
        with suppress(OSError):
            if _read_identity(self.folder_fd, self.name) == self.identity:
                os.rmdir(self.name, dir_fd=self.folder_fd)


@contextmanager
def hold_lock(
    folder_fd: int,
    name: str,
    clock: Clock,
    retry_delays: tuple[float, ...] = RETRY_DELAYS_SECONDS,
) -> Iterator[HeldLock]:
    """Hold the lock of this name in an open folder; sleep between attempts.

    Raise LockBusyError if another process still holds the lock at the last attempt, and
    SinkError if the lock cannot be created.
    """
    lock = _acquire(folder_fd, name, clock, retry_delays)
    try:
        yield lock
    finally:
        lock.release()


def _acquire(
    folder_fd: int,
    name: str,
    clock: Clock,
    retry_delays: tuple[float, ...],
) -> HeldLock:
    for delay in (*retry_delays, None):
        try:
            if _create_lock(folder_fd, name) or (
                _remove_stale_lock(folder_fd, name, clock)
                and _create_lock(folder_fd, name)
            ):
                return HeldLock(folder_fd, name, _read_identity(folder_fd, name))
        except OSError as error:
            raise SinkError(f"{name} cannot be created: {error.strerror}") from error
        if delay is not None:
            clock.sleep(delay)
    raise LockBusyError(f"Another process holds {name}.")


def _create_lock(folder_fd: int, name: str) -> bool:
    """Create the lock; return False if it already exists."""
    try:
        os.mkdir(name, 0o700, dir_fd=folder_fd)
    except FileExistsError:
        return False
    return True


def _remove_stale_lock(folder_fd: int, name: str, clock: Clock) -> bool:
    """Remove the lock if it is stale; return whether it no longer exists."""
    try:
        updated_at = os.stat(name, dir_fd=folder_fd, follow_symlinks=False).st_mtime
        if clock.now().timestamp() - updated_at <= STALE_SECONDS:
            return False
        os.rmdir(name, dir_fd=folder_fd)
    except FileNotFoundError:
        return True
    return True


def _read_identity(folder_fd: int, name: str) -> tuple[int, int]:
    status = os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
    return status.st_ino, status.st_mtime_ns
