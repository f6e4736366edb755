"""`leslied follow`: print new entries of sessions as they arrive."""

from __future__ import annotations

import json
import select
import sys
from typing import TYPE_CHECKING, Any

import click

from leslied.app import get_app
from leslied.cli.completion import complete_session
from leslied.cli.filters import (
    AGENT_PROJECT_NAMES,
    agent_project_options,
    parse_filters,
)
from leslied.cli.help import LesliedCommand
from leslied.cli.render.follow import FollowView
from leslied.cli.render.options import RenderOptions, find_terminal_width
from leslied.model.field_tables import record_to_dict
from leslied.queries.follow import Follower, SessionStop
from leslied.queries.operations.status import is_daemon_running

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leslied.clock import Clock
    from leslied.model.record import PlacedRecord, SessionKey

_POLL_SECONDS = 0.3


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied follow", "follow all sessions"),
        (
            "leslied follow last --last 20",
            "show 20 entries of the last active session, then follow",
        ),
        ("leslied follow --project app", "follow sessions of the project app"),
        ("leslied follow --json | jq .type", "process records with jq"),
    ],
    see_also=["show", "run", "service"],
)
@click.argument(
    "session_ids", metavar="[ID|last]...", nargs=-1, shell_complete=complete_session
)
@agent_project_options
@click.option(
    "--last",
    type=click.IntRange(min=1),
    metavar="N",
    help="Show the last N entries first.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON record per line.")
# For tests: print all stored entries, then exit.
@click.option("--once", is_flag=True, hidden=True)
@click.pass_context
def command(
    ctx: click.Context, /, session_ids: tuple[str, ...], **options: Any
) -> None:
    """Print new entries of all sessions, or of those named, until interrupted.

    Each line starts with the short id of the session and the name of its project's
    folder. For an entry of a subagent, the subagent's name takes the place of the
    folder. New sessions appear automatically. The daemon must be running. Press Ctrl-C
    to stop.
    """
    app = get_app(ctx)
    once, as_json = options.pop("once"), options["as_json"]
    with app.open_queries() as queries:
        if not once and not is_daemon_running(queries):
            click.echo(
                "The daemon is not running, so no new entries will appear. "
                "Start it with: leslied service install, or: leslied run",
                err=True,
            )
        filters = parse_filters(app, options, AGENT_PROJECT_NAMES)
        follower = Follower(queries, session_ids, filters)
        printer = _Printer(follower, str(app.home), as_json=as_json)
        if not once:
            printer.print(follower.start(options["last"]))
        while True:
            printer.print(follower.poll())
            if once or not _wait(app.clock):
                return


def _wait(clock: Clock) -> bool:
    """Wait for the poll interval; return False once nobody reads our output."""
    if sys.stdout.isatty():
        clock.sleep(_POLL_SECONDS)
        return True
    poll = select.poll()
    # Without events to wait for, only errors are reported, such as a closed pipe.
    poll.register(sys.stdout, 0)
    return not poll.poll(_POLL_SECONDS * 1000)


class _Printer:
    """Printer of entries and stops; it remembers which sessions it has printed."""

    def __init__(self, follower: Follower, home: str, *, as_json: bool) -> None:
        options = RenderOptions(
            width=find_terminal_width(), max_result_lines=2, max_edit_lines=8
        )
        self._follower = follower
        self._view = FollowView(options, home, follower.list_similar_ids)
        self._as_json = as_json
        self._printed_sessions: set[SessionKey] = set()
        """Sessions and subagents of which an entry was printed."""

    def print(self, events: Iterable[PlacedRecord | SessionStop]) -> None:
        """Print entries; unless the output is JSON, also print when sessions stop."""
        for event in events:
            if isinstance(event, SessionStop):
                if not self._as_json:
                    summary = self._follower.find_session(event.key)
                    click.echo(self._view.format_stop(event.key, summary))
            elif self._as_json:
                line = json.dumps(
                    record_to_dict(self._follower.add_sequence(event)), default=str
                )
                # The only control character that `json` does not escape.
                click.echo(line.replace("\x7f", "\\u007f"))
            else:
                self._print_record(event)

    def _print_record(self, placed: PlacedRecord) -> None:
        key = placed.record.session
        summary = self._follower.find_session(key)
        if key not in self._printed_sessions:
            self._printed_sessions.add(key)
            if self._follower.add_sequence(placed).sequence == 1:
                click.echo(self._view.format_start(key, summary))
        for line in self._view.render_record(placed.record, summary):
            click.echo(line)
