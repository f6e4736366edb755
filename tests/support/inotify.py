"""Limits of inotify, for folders of this process or for a daemon, and no events."""

from __future__ import annotations

import ctypes
import errno
import os
import subprocess
from pathlib import Path

import pytest
from watchdog.observers import inotify_c
from watchdog.observers.api import BaseObserver, EventEmitter


class WatchLimit:
    """The limit of inotify watches of this process, which some folders are beyond."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.refused_names: set[str] = set()
        self._add_watch = inotify_c.inotify_add_watch
        monkeypatch.setattr(inotify_c, "inotify_add_watch", self._add)

    def _add(
        self, instance: int, path: bytes, mask: inotify_c.Mask
    ) -> inotify_c.WatchDescriptor:
        if Path(os.fsdecode(path)).name in self.refused_names:
            ctypes.set_errno(errno.ENOSPC)
            return inotify_c.WatchDescriptor(-1)
        return self._add_watch(instance, path, mask)


class _SilentEmitter(EventEmitter):
    """An emitter of a file system that reports no changes."""

    def queue_events(self, timeout: float) -> None:
        self.stopped_event.wait(timeout)


def make_silent_observer(_: object = None) -> BaseObserver:
    """Return an observer that starts like any other, but has no events."""
    return BaseObserver(_SilentEmitter)


def limit_inotify(**limits: int) -> list[str]:
    """Return the start of a command that runs the rest of it with these limits.

    Names are those below `/proc/sys/user/max_inotify_`. The limits hold in a user
    namespace of the command's own; skip the test if the machine does not allow one.
    """
    script = "".join(
        f"echo {number} > /proc/sys/user/max_inotify_{name} && "
        for name, number in limits.items()
    )
    command = ["unshare", "--user", "--map-root-user", "sh", "-c", script + 'exec "$@"']
    try:
        subprocess.run([*command, "sh", "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("user namespaces are not allowed here")
    return [*command, "sh"]
