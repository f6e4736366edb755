"""`leslied run`: the daemon, in the foreground."""

from __future__ import annotations

import json
import os
import signal
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from leslied.cli.desk import make_exclude, sit_down
from leslied.daemon import Loop
from leslied.log import open_log
from leslied.paths import make_private_dir
from leslied.pipeline import Ingest, Stops
from leslied.store import Store
from leslied.tail.watch import Watcher

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType


@click.command()
@click.option("--log-json", is_flag=True, help="Write the log as JSON lines.")
@click.pass_context
def command(ctx: click.Context, *, log_json: bool) -> None:
    """Watch every agent's logs and keep what they write, until stopped.

    Stops within seconds on Ctrl-C or SIGTERM; whatever was not read yet is read at
    the next start.
    """
    desk = sit_down(ctx)
    settings = desk.load_settings()
    log = open_log(as_json=log_json)
    canary = desk.places.state_dir / "watch" / "canary"
    make_private_dir(canary.parent)
    with Store(desk.places.store_file, desk.clock) as store:
        now = desk.clock.now().isoformat(timespec="seconds")
        store.sign(json.dumps({"pid": os.getpid(), "since": now}))
        agents = list(desk.agent_roots(settings))
        ingests = [
            Ingest(
                adapter=adapter,
                store=store,
                roots=tuple(roots),
                is_excluded=make_exclude(settings, adapter.name),
            )
            for adapter, roots in agents
        ]
        folders = [root.path for _, roots in agents for root in roots]
        watcher = Watcher(folders, canary, desk.clock)
        with desk.open_reader() as reader:
            stops = Stops(store=store, registries=desk.registries(settings))
            settle = desk.make_settle(store, reader, settings)
            settle = replace(settle, live=stops.live)
            loop = Loop(
                ingests=ingests,
                stops=stops,
                settle=settle,
                watcher=watcher,
                clock=desk.clock,
                log=log,
                is_paused=desk.places.pause_file.exists,
            )
            log.info("daemon.start", agents=[a.name for a, _ in agents])
            with _stopping_on_signals(loop):
                loop.run()
        log.info("daemon.stop")


@contextmanager
def _stopping_on_signals(loop: Loop) -> Iterator[None]:
    def stop(_number: int, _frame: FrameType | None) -> None:
        loop.stop()

    wanted = (signal.SIGTERM, signal.SIGINT)
    before = {number: signal.signal(number, stop) for number in wanted}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
