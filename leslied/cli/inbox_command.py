"""`leslied inbox`: what was left for agents, and what arrived."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from leslied.cli.app import get_app
from leslied.cli.completion import complete_recipient
from leslied.cli.help import LesliedCommand
from leslied.cli.output import emit, format_ago, format_table, json_option
from leslied.errors import UserError
from leslied.hooks import inbox, injection_state
from leslied.model.codec import encode_time

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leslied.cli.app import App

_COLUMNS = ("ID", "THREAD", "STATE", "QUEUED", "TEXT")


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied inbox", "all messages"),
        ("leslied inbox thread-5e551e11", "those of one thread"),
    ],
    see_also=["inject", "hooks"],
)
@click.argument(
    "wanted", metavar="[THREAD]", default="", shell_complete=complete_recipient
)
@json_option
@click.pass_context
def command(ctx: click.Context, *, wanted: str, as_json: bool) -> None:
    """Show messages for agents: queued, claimed by a prompt, or delivered.

    For when you left a message with `leslied inject` and wonder what became of it.
    Claimed means said to the agent, but not yet seen in its log; an agent that dies
    before it writes the message down gets it again.
    """
    app = get_app(ctx)
    messages = _load_messages(app, wanted)
    data = {"messages": [_message_to_dict(message, app) for message in messages]}
    emit(data, lambda: _lines(messages, app), as_json=as_json)


def _load_messages(app: App, wanted: str) -> list[inbox.InboxMessage]:
    """The messages, newest last, as the logs prove them now."""
    folder = str(app.paths.data_dir)
    threads = [t for t in inbox.list_threads(folder) if t.startswith(wanted)]
    if wanted and not threads:
        raise UserError(
            f"There is no message for a thread that starts with {wanted!r}.",
            "See all of them: leslied inbox",
        )
    now_ns = int(app.clock.now().timestamp() * 1e9)
    found = [m for each in threads for m in inbox.list_messages(folder, each)]
    inbox.settle(
        found, now_ns, lambda name: injection_state.load(folder, name).transcript
    )
    return sorted(found, key=lambda message: message.at_ns)


def _message_to_dict(message: inbox.InboxMessage, app: App) -> dict[str, Any]:
    return {
        "id": message.id,
        "thread_id": message.thread,
        "state": message.state,
        "queued_at": encode_time(_queued_at(message)),
        "session_id": message.session or None,
        "text": app.redact(message.read_text()),
    }


def _queued_at(message: inbox.InboxMessage) -> datetime:
    return datetime.fromtimestamp(message.at_ns // 1_000_000_000, UTC)


def _lines(messages: list[inbox.InboxMessage], app: App) -> Iterable[str]:
    if not messages:
        return ['No messages. Leave one: leslied inject THREAD "text"']
    now = app.clock.now()
    rows = [
        (
            message.id,
            message.thread,
            message.state,
            format_ago(_queued_at(message), now),
            app.redact(message.read_text()),
        )
        for message in messages
    ]
    return format_table(_COLUMNS, rows, stretch=4, droppable=("QUEUED", "ID"))
