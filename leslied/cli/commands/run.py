"""`leslied run`: run the daemon in the foreground."""

from __future__ import annotations

import json
import os
import signal
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import click

from leslied.app import get_app
from leslied.cli.help import LesliedCommand
from leslied.daemon import Loop, Notifier, run_initial_sync
from leslied.fs import make_private_dir
from leslied.log import make_logger
from leslied.paths import PLATFORM
from leslied.pipeline import Budget, Ingest
from leslied.store import Store
from leslied.tail.watch import Watcher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import FrameType

    from structlog.typing import FilteringBoundLogger

    from leslied.app import App


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied run", "run in this terminal until Ctrl-C"),
        ("leslied run --log-json 2> leslied.log", "with a machine-readable log"),
    ],
    see_also=["service", "sync", "pause"],
)
@click.option("--log-json", is_flag=True, help="Write the log as JSON lines.")
@click.pass_context
def command(ctx: click.Context, *, log_json: bool) -> None:
    """Watch the agents' logs and store new entries, until stopped.

    This is the daemon. `leslied service install` runs it in the background; run it
    yourself if there is no service manager, or to see its log.

    It stops within seconds on Ctrl-C or SIGTERM; unread entries are read at the next
    start. The config file is read again every 30 seconds and on SIGHUP.
    """
    app = get_app(ctx)
    notifier, log = Notifier(app.environ), make_logger(as_json=log_json)
    with _handling_signals() as signals:
        if PLATFORM == "linux" and not app.paths.store_file.exists():
            scan = partial(_run_initial_scan, app)
            run_initial_sync(scan, notifier, signals.stopping)
        with (
            _open_store(app, notifier, log) as store,
            app.open_reader() as reader,
        ):
            _write_lock_info(store, app)
            make_flow = partial(
                app.make_flow,
                store,
                reader,
                is_light=True,
                on_progress=lambda *_: notifier.ping(),
            )
            flow = make_flow()
            roots, canary = flow.watched_roots, _prepare_canary_path(app)
            signals.loop = Loop(
                flow=flow,
                make_flow=make_flow,
                watcher=Watcher(roots, canary, app.clock),
                clock=app.clock,
                log=log,
                notifier=notifier,
                is_paused=app.paths.pause_file.exists,
                stopping=signals.stopping,
            )
            signals.loop.run()


@dataclass(slots=True)
class _SignalState:
    """What signals have requested; they may arrive before the loop exists."""

    stopping: threading.Event = field(default_factory=threading.Event)
    loop: Loop | None = None

    def handle(self, number: int, _frame: FrameType | None) -> None:
        """Request a scan on SIGHUP, else a stop; wake the loop in both cases."""
        if number != signal.SIGHUP:
            self.stopping.set()
        if self.loop:
            self.loop.request_scan()


def _open_store(app: App, notifier: Notifier, log: FilteringBoundLogger) -> Store:
    """Open the store; log why it is rebuilt, if it must be."""

    def warn(reason: str) -> None:
        # A rebuild may take longer than a service manager waits for the start.
        notifier.ready()
        log.warning("store.rebuild", reason=reason)

    return app.open_store(warn, lambda *_: notifier.ping())


def _run_initial_scan(app: App, on_progress: Callable[[], None]) -> None:
    """Read all logs once, unless leslied is paused."""
    if app.paths.pause_file.exists():
        return
    with (
        Store(app.paths.store_file, app.clock) as store,
        app.open_reader() as reader,
    ):
        _write_lock_info(store, app)
        flow = app.make_flow(store, reader, on_progress=lambda *_: on_progress())
        flow.select(Ingest).run(Budget())


def _write_lock_info(store: Store, app: App) -> None:
    """Write pid and start time into the lock, for `leslied status`."""
    now = app.clock.now().isoformat(timespec="seconds")
    store.write_lock_info(json.dumps({"pid": os.getpid(), "since": now}))


def _prepare_canary_path(app: App) -> Path:
    """Create the folder of the file by which the watcher tests itself.

    Return the path of the file.
    """
    canary = app.paths.state_dir / "watch" / "canary"
    make_private_dir(canary.parent)
    return canary


@contextmanager
def _handling_signals() -> Iterator[_SignalState]:
    """Handle SIGTERM, SIGINT and SIGHUP; restore the previous handlers at the end."""
    signals = _SignalState()
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    previous_handlers = {
        number: signal.signal(number, signals.handle) for number in numbers
    }
    try:
        yield signals
    finally:
        for number, handler in previous_handlers.items():
            signal.signal(number, handler)
