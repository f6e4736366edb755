"""`leslied inbox`: messages to agents and their delivery state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from leslied.app import get_app
from leslied.cli.completion import complete_recipient
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import emit, format_table, json_option
from leslied.queries.threads.inbox import load_inbox
from leslied.rendering.humanize import format_ago

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leslied.app import App
    from leslied.queries.threads.inbox import QueuedMessage

_COLUMNS = ("ID", "THREAD", "STATE", "QUEUED", "TEXT")


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied inbox", "show all messages"),
        ("leslied inbox thread-5e551e11", "show the messages to one thread"),
    ],
    see_also=["inject", "hooks"],
)
@click.argument(
    "thread", metavar="[THREAD]", default="", shell_complete=complete_recipient
)
@json_option
@click.pass_context
def command(ctx: click.Context, *, thread: str, as_json: bool) -> None:
    """Show messages sent with `leslied inject` and their delivery state.

    A message is `queued` until the thread's next prompt, `claimed` once a hook has
    passed it to the agent, and `delivered` once it appears in the agent's log. If the
    agent dies before it writes the message to its log, the message is sent again.
    """
    app = get_app(ctx)
    with app.open_queries() as queries:
        inbox = load_inbox(queries, thread)
    emit(inbox.to_dict, lambda: _lines(inbox.messages, app), as_json=as_json)


def _lines(messages: list[QueuedMessage], app: App) -> Iterable[str]:
    if not messages:
        return ['There are no messages. Send one with: leslied inject THREAD "text"']
    now = app.clock.now()
    rows = [
        (
            message.id,
            message.thread_id,
            message.state,
            format_ago(message.queued_at, now),
            message.text,
        )
        for message in messages
    ]
    return format_table(_COLUMNS, rows, flexible="TEXT", droppable=("QUEUED", "ID"))
