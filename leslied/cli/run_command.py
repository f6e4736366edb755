"""`leslied run`: the daemon, in the foreground."""

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

from leslied.cli.desk import sit_down
from leslied.cli.help import Command
from leslied.daemon import Loop, Notifier, run_initial_sync
from leslied.log import make_logger
from leslied.paths import PLATFORM, make_private_dir
from leslied.store import Store
from leslied.tail.watch import Watcher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import FrameType

    from leslied.cli.desk import Desk


@click.command(
    cls=Command,
    examples=[
        ("leslied run", "in this terminal, until Ctrl-C"),
        ("leslied run --log-json 2> leslied.log", "with a log for programs"),
    ],
    see_also=["service", "sync", "pause"],
)
@click.option("--log-json", is_flag=True, help="Write the log as JSON lines.")
@click.pass_context
def command(ctx: click.Context, *, log_json: bool) -> None:
    """Watch every agent's logs and keep what they write, until stopped.

    This is the daemon. `leslied service install` runs it for you; run it yourself
    where there is no service manager, or to see what it says.

    Stops within seconds on Ctrl-C or SIGTERM; whatever was not read yet is read at
    the next start. The config file is read again every half minute and on SIGHUP.
    """
    desk = sit_down(ctx)
    notifier = Notifier(desk.environ)
    with _obeying_signals() as orders:
        if PLATFORM == "linux" and not desk.places.store_file.exists():
            run_initial_sync(partial(_scan, desk), notifier, orders.stopping)
        with (
            Store(desk.places.store_file, desk.clock) as store,
            desk.open_reader() as reader,
        ):
            _sign(store, desk)
            make = partial(
                desk.make_streets,
                store,
                reader,
                is_light=True,
                on_progress=lambda *_: notifier.ping(),
            )
            streets = make()
            orders.loop = Loop(
                pipeline=streets,
                make_pipeline=make,
                watcher=Watcher(streets.watched_roots, _make_canary(desk), desk.clock),
                clock=desk.clock,
                log=make_logger(as_json=log_json),
                notifier=notifier,
                is_paused=desk.places.pause_file.exists,
                stopping=orders.stopping,
            )
            orders.loop.run()


@dataclass(slots=True)
class _Orders:
    """What signals asked for; they may come before there is a loop to obey."""

    stopping: threading.Event = field(default_factory=threading.Event)
    loop: Loop | None = None

    def obey(self, number: int, _frame: FrameType | None) -> None:
        """A hangup means: look again, now. Any other signal means: stop."""
        if number != signal.SIGHUP:
            self.stopping.set()
        if self.loop:
            self.loop.request_scan()


def _scan(desk: Desk, on_progress: Callable[[], None]) -> None:
    if desk.places.pause_file.exists():
        return
    with (
        Store(desk.places.store_file, desk.clock) as store,
        desk.open_reader() as reader,
    ):
        _sign(store, desk)
        streets = desk.make_streets(store, reader, on_progress=lambda *_: on_progress())
        for ingest in streets.ingests:
            ingest.scan()


def _sign(store: Store, desk: Desk) -> None:
    """`leslied status` can tell who holds the store."""
    now = desk.clock.now().isoformat(timespec="seconds")
    store.write_lock_info(json.dumps({"pid": os.getpid(), "since": now}))


def _make_canary(desk: Desk) -> Path:
    canary = desk.places.state_dir / "watch" / "canary"
    make_private_dir(canary.parent)
    return canary


@contextmanager
def _obeying_signals() -> Iterator[_Orders]:
    orders = _Orders()
    wanted = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    before = {number: signal.signal(number, orders.obey) for number in wanted}
    try:
        yield orders
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
