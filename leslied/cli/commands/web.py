"""`leslied web`: the local page."""

from __future__ import annotations

import click

from leslied.app import get_app
from leslied.cli.help import LesliedCommand
from leslied.web.server import DEFAULT_PORT, open_socket, serve


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied web", "serve the page and print a link to it"),
        ("leslied web --open", "open it in the browser, too"),
    ],
    see_also=["list", "show", "search"],
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    help="Listen on this port; 0 chooses a free one.",
)
@click.option("--open", "opens", is_flag=True, help="Open the page in the browser.")
@click.pass_context
def command(ctx: click.Context, port: int, *, opens: bool) -> None:
    """Serve a page to browse sessions, on this machine only.

    The printed link works once, within ten minutes; the browser then stays logged in.
    No other machine can reach the page, and it loads nothing from the network.
    """

    def announce(link: str) -> None:
        click.echo(f"Open this link in your browser; it works once:\n\n  {link}\n")
        click.echo(click.style("Press Ctrl-C to stop.", dim=True))
        if opens:
            click.launch(link)

    with open_socket(port) as listener:
        serve(get_app(ctx), listener, announce)
