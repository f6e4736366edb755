"""Linux file events that also report which folders cannot be watched.

watchdog ignores that a folder below a watched one cannot be watched, for example
because the user's limit of inotify watches is reached. Its changes would be missed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from watchdog.observers.api import BaseObserver
from watchdog.observers.inotify import InotifyEmitter
from watchdog.observers.inotify_c import InotifyFD

if TYPE_CHECKING:
    from collections.abc import Callable

    from watchdog.observers.inotify_c import (
        CallbackId,
        Mask,
        WatchCallback,
        WatchDescriptor,
    )

    OnUnwatched = Callable[[Path, Exception], None]
    """Function that is called with a folder that is not watched, and the reason."""


class _Inotify(InotifyFD):
    """An inotify instance that reports each folder that it cannot watch."""

    def __init__(self, on_unwatched: OnUnwatched) -> None:
        super().__init__()
        self._on_unwatched = on_unwatched

    def add_callback(
        self, path: bytes, mask: Mask, callback: WatchCallback, id_: CallbackId
    ) -> WatchDescriptor:
        """Watch a folder; report an error before watchdog may ignore it."""
        try:
            return super().add_callback(path, mask, callback, id_)
        except OSError as error:
            self._on_unwatched(Path(os.fsdecode(path)), error)
            raise


class InotifyObserver(BaseObserver):
    """watchdog's observer for Linux, with the inotify instance above."""

    def __init__(self, on_unwatched: OnUnwatched) -> None:
        self._inotify = _Inotify(on_unwatched)
        self._inotify.start()
        super().__init__(InotifyEmitter, inotify_fd=self._inotify)

    def on_thread_stop(self) -> None:
        """End the threads of the emitters and the one that reads from the kernel."""
        super().on_thread_stop()
        self._inotify.stop()
        self._inotify.join()
