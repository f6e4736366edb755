"""`leslied inject`: send a message to a thread's agent."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from leslied.app import get_app
from leslied.cli.completion import complete_thread
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import emit, json_option
from leslied.errors import UserError
from leslied.hooks import AGENT_NAME, AGENT_TITLE, inbox, settings
from leslied.hooks.settings_file import Scope, SettingsFile, get_settings_path
from leslied.hooks.thread import find_project
from leslied.model.command_results import SentMessage
from leslied.model.times import to_ns
from leslied.queries.resolve import resolve_id

if TYPE_CHECKING:
    from leslied.app import App
    from leslied.model.session import SessionSummary


@click.command(
    cls=LesliedCommand,
    examples=[
        ('leslied inject last "Use the new API"', "send to the latest thread"),
        ('leslied inject thread-5e551e11 "Add a test, too"', "send to a given thread"),
    ],
    see_also=["inbox", "hooks install"],
)
@click.argument("recipient", metavar="THREAD|last", shell_complete=complete_thread)
@click.argument("text")
@json_option
@click.pass_context
def command(ctx: click.Context, *, recipient: str, text: str, as_json: bool) -> None:
    """Send a message to a thread's agent, to be delivered once with its next prompt.

    Use the command from another terminal or a script. Delivery needs the hooks, which
    only Claude Code supports; install them with `leslied hooks install`.
    """
    app = get_app(ctx)
    text = text.strip()
    if not text or len(text) > inbox.MAX_TEXT_CHARACTERS:
        raise UserError(
            f"The message has {len(text)} characters; "
            f"it must have 1 to {inbox.MAX_TEXT_CHARACTERS}.",
            "Write a long text to a file and send the path of the file.",
        )
    with app.open_queries() as queries:
        session = resolve_id(queries.reader, recipient).session
    now_ns = to_ns(app.clock.now())
    thread = session.thread_id
    message_id = inbox.enqueue(str(app.paths.data_dir), thread, text, now_ns)
    message = SentMessage(id=message_id, thread_id=thread)
    warning = _find_warning(app, session)
    emit(
        message.to_dict,
        lambda: [f"Queued {message_id} for the next prompt of {thread}."],
        as_json=as_json,
        warnings=[warning] if warning else [],
    )


def _find_warning(app: App, session: SessionSummary) -> str:
    """Return why the message will not be delivered; "" if no reason is known."""
    if session.key.agent != AGENT_NAME:
        return f"The message will not be delivered: only {AGENT_TITLE} supports hooks."
    project = find_project(session.cwd)
    for scope in get_args(Scope) if project else ("user",):
        path = get_settings_path(scope, app.home, app.environ, Path(project))
        with suppress(UserError):
            if settings.find_commands(SettingsFile(path, scope).read() or "{}"):
                return ""
    return (
        "The message will not be delivered until the hooks are installed. "
        "Install them with: leslied hooks install"
    )
