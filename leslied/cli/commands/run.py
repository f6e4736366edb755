"""`leslied run`: run the daemon in the foreground."""

from __future__ import annotations

import sys
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import click

from leslied import jobs
from leslied.app import get_app
from leslied.cli.help import LesliedCommand
from leslied.daemon import (
    Loop,
    Notifier,
    PageStarter,
    handle_signals,
    hold_daemon_lock,
    run_initial_sync,
)
from leslied.log import make_logger
from leslied.paths import PLATFORM
from leslied.service import find_program
from leslied.web.listener import open_socket

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from structlog.typing import FilteringBoundLogger

    from leslied.app import App

_T = TypeVar("_T")


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied run", "run in this terminal until Ctrl-C"),
        ("leslied run --log-json 2> leslied.log", "with a machine-readable log"),
    ],
    see_also=["service", "sync", "pause", "web"],
)
@click.option("--log-json", is_flag=True, help="Write the log as JSON lines.")
@click.pass_context
def command(ctx: click.Context, *, log_json: bool) -> None:
    """Watch the agents' logs and store new entries, until stopped.

    This is the daemon. `leslied service install` runs it in the background. Run it
    yourself if you have no service manager, or to watch its log.

    It stops within seconds on Ctrl-C or SIGTERM; unread entries are read at the next
    start. The config file is read again every 30 seconds and on SIGHUP. With the
    setting `web.enabled`, the daemon serves the page, too: see `leslied web`.
    """
    app = get_app(ctx)
    notifier, redact = Notifier(app.environ), app.load_redact()
    log = make_logger(redact, as_json=log_json)
    warn, ping = _make_warn(notifier, log), lambda *_: notifier.ping()
    with handle_signals() as signals, hold_daemon_lock(app.paths):
        _run_first_sync(app, notifier, signals.stopping)
        if signals.stopping.is_set():
            return
        with (
            app.open_store(warn, ping) as store,
            app.open_reader() as reader,
            closing(_make_page_starter(app, log)) as page,
        ):
            build_flow = partial(
                app.make_flow, store, reader, is_daemon=True, on_progress=ping
            )
            make_flow = partial(_make_flow, app, page, build_flow)
            flow = make_flow()
            signals.loop = Loop(
                flow=flow,
                make_flow=make_flow,
                watcher=jobs.make_watcher(app, flow.watched_roots),
                clock=app.clock,
                log=log,
                notifier=notifier,
                is_paused=app.paths.pause_file.exists,
                publish=partial(jobs.write_lock_info, app, store, app.clock.now()),
                stopping=signals.stopping,
            )
            signals.loop.run()


def _run_first_sync(app: App, notifier: Notifier, stopping: threading.Event) -> None:
    """Read the existing logs in a child process, if none was read before."""
    if PLATFORM == "linux" and app.is_first_run():
        run_initial_sync(partial(jobs.run_initial_scan, app), notifier, stopping)


def _make_page_starter(app: App, log: FilteringBoundLogger) -> PageStarter:
    """Return the object that starts `leslied web` when a browser connects."""
    program = find_program(sys.argv[0], sys.executable, app.environ.get("PATH"))
    return PageStarter(
        open_socket=open_socket,
        command=[*program, "web", "--socket"],
        environ={
            **app.environ,
            "LESLIED_CONFIG": str(app.paths.config_file),
            # Modules in the working directory are not leslied's.
            "PYTHONSAFEPATH": "1",
        },
        clock=app.clock,
        log=log,
    )


def _make_flow(app: App, page: PageStarter, build_flow: Callable[[], _T]) -> _T:
    """Build a flow with the current settings, and pass on those of the web page."""
    flow = build_flow()
    settings = app.load_settings().web
    page.apply(settings.port if settings.enabled else None)
    return flow


def _make_warn(notifier: Notifier, log: FilteringBoundLogger) -> Callable[[str], None]:
    """Return a function that reports readiness and logs why the store is rebuilt."""

    def warn(reason: str) -> None:
        # A rebuild may take longer than a service manager waits for the start.
        notifier.ready()
        log.warning("store.rebuild", reason=reason)

    return warn
