"""`leslied inbox`: messages to agents and their delivery state."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from leslied.app import get_app
from leslied.cli.completion import complete_recipient
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import emit, format_ago, format_table, json_option
from leslied.errors import UserError
from leslied.hooks import inbox, injection_state
from leslied.model.codec import encode_time
from leslied.model.times import to_ns

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leslied.app import App

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
    messages = _load_messages(app, thread)
    data = {"messages": [_message_to_dict(message, app) for message in messages]}
    emit(data, lambda: _lines(messages, app), as_json=as_json)


def _load_messages(app: App, prefix: str) -> list[inbox.InboxMessage]:
    """Return the messages, newest last, with states updated from the agents' logs.

    Raises UserError if no thread that starts with the prefix has messages.
    """
    folder = str(app.paths.data_dir)
    threads = [t for t in inbox.list_threads(folder) if t.startswith(prefix)]
    if prefix and not threads:
        raise UserError(
            f"No message was sent to a thread that starts with {prefix!r}.",
            "List all messages with: leslied inbox",
        )
    now_ns = to_ns(app.clock.now())
    messages = [
        message for thread in threads for message in inbox.list_messages(folder, thread)
    ]
    inbox.resolve_claims(
        messages,
        now_ns,
        lambda thread: injection_state.load(folder, thread).transcript,
    )
    return sorted(messages, key=lambda message: message.at_ns)


def _message_to_dict(message: inbox.InboxMessage, app: App) -> dict[str, Any]:
    return {
        "id": message.id,
        "thread_id": message.thread,
        "state": message.state,
        "queued_at": encode_time(_get_queued_at(message)),
        "session_id": message.session or None,
        "text": app.redact(message.read_text()),
    }


def _get_queued_at(message: inbox.InboxMessage) -> datetime:
    return datetime.fromtimestamp(message.at_ns // 1_000_000_000, UTC)


def _lines(messages: list[inbox.InboxMessage], app: App) -> Iterable[str]:
    if not messages:
        return ['There are no messages. Send one with: leslied inject THREAD "text"']
    now = app.clock.now()
    rows = [
        (
            message.id,
            message.thread,
            message.state,
            format_ago(_get_queued_at(message), now),
            app.redact(message.read_text()),
        )
        for message in messages
    ]
    return format_table(_COLUMNS, rows, stretch=4, droppable=("QUEUED", "ID"))
