"""The daemon: time, signals and the service manager.

`Loop` runs the pipeline until it is stopped, `run_initial_sync` ingests existing logs
in a child process, `hold_daemon_lock` prevents a second daemon, `handle_signals`
makes signals stop the daemon or request a scan, `PageStarter` starts the process that
serves the page, and `Notifier` reports the daemon's state to the service manager.
"""

from __future__ import annotations

from leslied.daemon.initial_sync import run_initial_sync
from leslied.daemon.lock import hold_daemon_lock
from leslied.daemon.loop import Loop
from leslied.daemon.notify import Notifier
from leslied.daemon.page_starter import PageStarter
from leslied.daemon.signals import handle_signals

__all__ = [
    "Loop",
    "Notifier",
    "PageStarter",
    "handle_signals",
    "hold_daemon_lock",
    "run_initial_sync",
]
