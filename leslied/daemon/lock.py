"""One daemon for each data folder, even if somebody removes that folder.

The store's own lock is in the data folder and would be removed with it. This lock is
in the state folder.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from leslied.errors import AlreadyRunning
from leslied.fs import make_private_dir

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.paths import AppPaths


@contextmanager
def hold_daemon_lock(paths: AppPaths) -> Iterator[None]:
    """Hold the lock of a data folder; raise AlreadyRunning if another daemon does."""
    make_private_dir(paths.state_dir)
    data_dir = os.fsencode(paths.data_dir.resolve())
    name = f"daemon-{hashlib.sha256(data_dir).hexdigest()[:16]}.lock"
    fd = os.open(paths.state_dir / name, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyRunning(
                f"Another leslied daemon runs with the data folder {paths.data_dir}.",
                "Stop it first, or see: leslied status",
            ) from None
        yield
    finally:
        os.close(fd)
