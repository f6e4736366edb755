"""`leslied web`: the local page."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from leslied.app import get_app
from leslied.cli.help import LesliedCommand
from leslied.web.access import Access
from leslied.web.listener import PortInUse, adopt_socket, make_link, open_socket
from leslied.web.running import find_running_port, is_running

if TYPE_CHECKING:
    from leslied.app import App
    from leslied.web.listener import Listener

_IDLE_SECONDS = 600.0
"""Time after which a server that the daemon started ends, if nobody uses it."""


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied web", "serve the page and print a link to it"),
        ("leslied web --open", "open it in the browser, too"),
        ("leslied web --logout", "end the logins of all browsers"),
    ],
    see_also=["list", "show", "search", "run"],
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Listen on this port; 0 chooses a free one.  [default: 7373, or web.port]",
)
@click.option(
    "--open", "opens_browser", is_flag=True, help="Open the page in the browser."
)
@click.option("--logout", is_flag=True, help="End the logins of all browsers.")
@click.option("--socket", "descriptor", type=click.IntRange(3), hidden=True)
@click.pass_context
def command(
    ctx: click.Context,
    port: int | None,
    descriptor: int | None,
    *,
    opens_browser: bool,
    logout: bool,
) -> None:
    """Serve a page to browse sessions, on this machine only.

    The printed link works once, within ten minutes; the browser then stays logged in
    for a month. No other machine can reach the page, and it loads nothing from the
    network. If the page is already being served, only a new link is printed.

    With the setting `web.enabled`, the daemon starts the page when a browser connects.
    """
    app = get_app(ctx)
    access = Access(app.paths, app.clock)
    if logout:
        access.end_all_logins()
        click.echo("All browsers are logged out. For a new link: leslied web")
    elif descriptor is not None:
        _serve_for_daemon(app, access, descriptor)
    else:
        _serve(app, access, port, opens_browser=opens_browser)


def _serve(app: App, access: Access, port: int | None, *, opens_browser: bool) -> None:
    """Serve the page, or print a link to the server that already does."""
    if port is None:
        running_port = find_running_port(access, app.paths.web_port_file)
        if running_port is not None:
            _print_link(access, running_port, opens_browser=opens_browser)
            return
        port = app.load_settings().web.port
    try:
        listener = open_socket(port)
    except PortInUse:
        if not is_running(access, port):
            raise
        _print_link(access, port, opens_browser=opens_browser)
        return
    with listener:
        _serve_socket(app, access, listener, opens_browser=opens_browser)


def _serve_socket(
    app: App, access: Access, listener: Listener, *, opens_browser: bool
) -> None:
    # The import takes 100 ms, and a link needs no server.
    from leslied.web.server import serve  # noqa: PLC0415

    def announce() -> None:
        _print_link(access, listener.getsockname()[1], opens_browser=opens_browser)
        click.echo(click.style("Press Ctrl-C to stop.", dim=True))

    serve(app, access, listener, announce)


def _serve_for_daemon(app: App, access: Access, descriptor: int) -> None:
    """Serve the page on the daemon's socket while somebody uses it."""
    from leslied.web.server import Lifetime, serve  # noqa: PLC0415

    # The daemon holds the other end of standard input open while it runs.
    lifetime = Lifetime(
        idle_seconds=_IDLE_SECONDS, parent_descriptor=sys.stdin.fileno()
    )
    with adopt_socket(descriptor) as listener:
        # The daemon needs no announcement that the server listens.
        serve(app, access, listener, lambda: None, lifetime)


def _print_link(access: Access, port: int, *, opens_browser: bool) -> None:
    link = make_link(port, access.make_code())
    click.echo(f"Open this link in your browser; it works once:\n\n  {link}\n")
    if opens_browser:
        click.launch(link)
