"""Linux file events, without repetitions, and which folders cannot be watched.

If a folder below a watched one cannot be watched, for example because the user's limit
of inotify watches is reached, watchdog ignores that: the folder's changes would be
missed.

watchdog passes each event through three threads, which compete with ours for the
interpreter lock. So a file that changes again before anybody has looked at it causes
no further event.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING

from watchdog.observers.api import BaseObserver
from watchdog.observers.inotify import InotifyEmitter
from watchdog.observers.inotify_c import (
    InotifyConstants,
    InotifyEvent,
    InotifyFD,
    Mask,
    WatchDescriptor,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from watchdog.observers.inotify_c import CallbackId, WatchCallback

    OnUnwatched = Callable[[Path, Exception], None]
    """Function that is called with a folder that is not watched, and the reason."""


_HEADER = struct.Struct("iIII")
"""Watch descriptor, mask, cookie and length of the name, which follows."""
_BUFFER_BYTES = 256 * 1024
_REPEAT_PAUSE_SECONDS = 0.01
"""Pause after a read that brought nothing but repetitions. Events gather meanwhile, so
that the thread does not wake up, and take the interpreter lock, for each line."""


class _Inotify(InotifyFD):
    """An inotify instance that drops repetitions and reports unwatched folders."""

    def __init__(
        self, on_unwatched: OnUnwatched, unhandled_changes: set[bytes]
    ) -> None:
        super().__init__()
        self._on_unwatched = on_unwatched
        self._unhandled_changes = unhandled_changes

    def add_callback(
        self, path: bytes, mask: Mask, callback: WatchCallback, id_: CallbackId
    ) -> WatchDescriptor:
        """Watch a folder; report an error before watchdog may ignore it."""
        try:
            return super().add_callback(path, mask, callback, id_)
        except OSError as error:
            self._on_unwatched(Path(os.fsdecode(path)), error)
            raise

    def read_events(
        self, *, event_buffer_size: int = _BUFFER_BYTES
    ) -> list[InotifyEvent]:
        """Wait for events and return them, without those that repeat another one."""
        data = self._read_event_buffer(event_buffer_size)
        events = self._parse_events(data)
        if data and not events:
            # Let more repetitions gather, so that this thread wakes up less often.
            self.stopped_event.wait(_REPEAT_PAUSE_SECONDS)
        return events

    def _parse_events(self, data: bytes) -> list[InotifyEvent]:
        """Return the events in the data, without those in `_unhandled_changes`."""
        events, start, changes = [], 0, self._unhandled_changes
        while start < len(data):
            wd, mask, cookie, length = _HEADER.unpack_from(data, start)
            end = start + _HEADER.size + length
            event = data[start:end]
            start = end
            if mask == InotifyConstants.IN_MODIFY:
                if event in changes:
                    continue
                changes.add(event)
            else:
                # If a folder was moved, the same bytes now mean another path.
                changes.clear()
            # Of the events without a watch, only an overflow means something.
            if wd != -1 or mask & InotifyConstants.IN_Q_OVERFLOW:
                name = event[_HEADER.size :].rstrip(b"\0")
                events.append(
                    InotifyEvent(WatchDescriptor(wd), Mask(mask), cookie, name)
                )
        return events


class InotifyObserver(BaseObserver):
    """watchdog's observer for Linux, with the inotify instance above."""

    def __init__(
        self, on_unwatched: OnUnwatched, unhandled_changes: set[bytes]
    ) -> None:
        """Make an observer; events that are in `unhandled_changes` are not repeated.

        The observer adds events to the set. Whoever handles the changes clears it
        before looking at the files.
        """
        self._inotify = _Inotify(on_unwatched, unhandled_changes)
        self._inotify.start()
        super().__init__(InotifyEmitter, inotify_fd=self._inotify)

    def on_thread_stop(self) -> None:
        """End the threads of the emitters and the one that reads from the kernel."""
        super().on_thread_stop()
        self._inotify.stop()
        self._inotify.join()
