"""`leslied run`: the daemon, in the foreground."""

from __future__ import annotations

import json
import os
import signal
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import click

from leslied.cli.desk import sit_down
from leslied.daemon import Loop, Notifier, read_first
from leslied.log import open_log
from leslied.paths import PLATFORM, make_private_dir
from leslied.store import Store
from leslied.tail.watch import Watcher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import FrameType

    from leslied.cli.desk import Desk


@click.command()
@click.option("--log-json", is_flag=True, help="Write the log as JSON lines.")
@click.pass_context
def command(ctx: click.Context, *, log_json: bool) -> None:
    """Watch every agent's logs and keep what they write, until stopped.

    Stops within seconds on Ctrl-C or SIGTERM; whatever was not read yet is read at
    the next start. The config file is read again every half minute and on SIGHUP.
    """
    desk = sit_down(ctx)
    notifier = Notifier(desk.environ)
    if PLATFORM == "linux" and not desk.places.store_file.exists():
        read_first(partial(_scan, desk), notifier)
    with (
        Store(desk.places.store_file, desk.clock) as store,
        desk.open_reader() as reader,
    ):
        _sign(store, desk)
        make = partial(
            desk.make_streets, store, reader, is_light=True, on_progress=notifier.ping
        )
        streets = make()
        loop = Loop(
            streets=streets,
            renew=make,
            watcher=Watcher(streets.roots, _make_canary(desk), desk.clock),
            clock=desk.clock,
            log=open_log(as_json=log_json),
            notifier=notifier,
            is_paused=desk.places.pause_file.exists,
        )
        with _obeying_signals(loop):
            loop.run()


def _scan(desk: Desk, on_progress: Callable[[], None]) -> None:
    if desk.places.pause_file.exists():
        return
    with (
        Store(desk.places.store_file, desk.clock) as store,
        desk.open_reader() as reader,
    ):
        _sign(store, desk)
        for ingest in desk.make_streets(store, reader, on_progress=on_progress).ingests:
            ingest.scan()


def _sign(store: Store, desk: Desk) -> None:
    """`leslied status` can tell who holds the store."""
    now = desk.clock.now().isoformat(timespec="seconds")
    store.sign(json.dumps({"pid": os.getpid(), "since": now}))


def _make_canary(desk: Desk) -> Path:
    canary = desk.places.state_dir / "watch" / "canary"
    make_private_dir(canary.parent)
    return canary


@contextmanager
def _obeying_signals(loop: Loop) -> Iterator[None]:
    def obey(number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            loop.scan_soon()
        else:
            loop.stop()

    wanted = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    before = {number: signal.signal(number, obey) for number in wanted}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
