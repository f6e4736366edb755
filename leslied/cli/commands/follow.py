"""`leslied follow`: print new entries of sessions as they arrive."""

from __future__ import annotations

import json
import select
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click
from msgspec import structs

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
from leslied.model.codec import record_to_dict
from leslied.model.query import Selection
from leslied.model.record import SessionKey
from leslied.model.times import to_us
from leslied.queries import check_agents, redact_entry, resolve_id
from leslied.redact.session import redact_summary
from leslied.store import SessionGroup, read_lock_info

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from leslied.app import App
    from leslied.clock import Clock
    from leslied.model.query import Filter
    from leslied.model.record import PlacedRecord
    from leslied.model.session import SessionSummary
    from leslied.store import ChangeFeed, StoreReader

_POLL_SECONDS = 0.3
_LAST_TYPES = ("user_message", "assistant_message", "tool_use", "tool_result", "error")
"""Types of the entries that `--last` counts."""


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied follow", "follow all sessions"),
        ("leslied follow last --last 20", "follow it, after its last 20 entries"),
        ("leslied follow --project app", "follow sessions in folders named app"),
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

    Each line starts with a label: the short id of the session, and its folder or, for
    an entry of a subagent, the name of the subagent. New sessions appear automatically.
    The daemon must be running. Press Ctrl-C to stop.
    """
    app = get_app(ctx)
    once = options.pop("once")
    if not once and read_lock_info(app.paths.store_file) is None:
        click.echo(
            "The daemon is not running, so no new entries will appear. "
            "Start it with: leslied service install, or: leslied run",
            err=True,
        )
    with app.open_reader() as reader:
        session_filter = _SessionFilter(
            reader,
            _resolve_streams(reader, session_ids),
            parse_filters(app, options, AGENT_PROJECT_NAMES),
        )
        follower = _Follower(app, reader, session_filter, as_json=options["as_json"])
        follower.start(options["last"], from_start=once)
        while True:
            follower.poll()
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


def _resolve_streams(
    reader: StoreReader, session_ids: Sequence[str]
) -> frozenset[tuple[str, ...]] | None:
    """Return the keys of the sessions and subagents to follow; None for all."""
    streams: set[tuple[str, ...]] = set()
    for session_id in session_ids:
        resolved = resolve_id(reader, session_id)
        agent_and_id = resolved.session.key[:2]
        if resolved.subagent:
            streams.add(SessionKey(*agent_and_id, f"subagent:{resolved.subagent}"))
        else:
            streams.add(agent_and_id)
    return frozenset(streams) if session_ids else None


@dataclass(slots=True)
class _SessionFilter:
    """Filter of the sessions to follow, with a cache of the store's answers."""

    reader: StoreReader
    streams: frozenset[tuple[str, ...]] | None
    """Sessions by agent and id, or subagents by their full key; None for all."""
    filters: tuple[Filter, ...]
    matching_sessions: set[SessionGroup] = field(default_factory=set)
    """Sessions that matched the filters at the last query."""
    decided_sessions: set[SessionGroup] = field(default_factory=set)
    """Sessions for which it cannot change any more whether they match the filters."""

    def __post_init__(self) -> None:
        check_agents(self.reader, self.filters)

    @property
    def includes_all(self) -> bool:
        """Return whether all sessions are followed."""
        return self.streams is None and not self.filters

    def update(self, keys: Iterable[SessionKey]) -> None:
        """Query the store if one of these sessions is not in `decided_sessions` yet."""
        groups = {SessionGroup(*key[:2]) for key in keys} - self.decided_sessions
        if self.filters and groups:
            self.refresh()
            self.decided_sessions |= {
                group for group in groups if self._is_decided(group)
            }

    def refresh(self) -> None:
        """Query the store for the sessions that match the filters."""
        self.matching_sessions = set(
            self.reader.select_sessions(Selection(filters=self.filters))
        )

    def _is_decided(self, group: SessionGroup) -> bool:
        # A session's folder may be unknown until after its first entry.
        session = self.reader.find_session(SessionKey(*group))
        return group in self.matching_sessions or bool(session and session.cwd)

    def includes(self, key: SessionKey) -> bool:
        """Return whether the session is followed; call `update` or `refresh` first."""
        streams = self.streams
        if streams is not None and key[:2] not in streams and key not in streams:
            return False
        return not self.filters or key[:2] in self.matching_sessions


@dataclass(slots=True)
class _Follower:
    """Printer of new entries; it remembers its position in the change feed."""

    app: App
    reader: StoreReader
    session_filter: _SessionFilter
    as_json: bool = field(kw_only=True)
    feed: ChangeFeed = field(init=False)
    view: FollowView = field(init=False)
    cursor: int = 0
    """Newest placement that was printed or skipped."""
    stopped_us: int = 0
    """Time of the newest stop that was printed or skipped."""
    version: int = -1
    """Data version of the store at the last poll."""
    printed_sessions: set[SessionKey] = field(default_factory=set)
    """Sessions and subagents of which an entry was printed."""

    def __post_init__(self) -> None:
        options = RenderOptions(
            width=find_terminal_width(), max_result_lines=2, max_edit_lines=8
        )
        self.feed = self.reader.change_feed
        self.view = FollowView(
            options, str(self.app.home), self.reader.list_similar_ids
        )

    def start(self, last: int | None, *, from_start: bool) -> None:
        """Print the `last` newest entries, and let `poll` continue after them.

        With `from_start`, print nothing, so that `poll` prints all entries.
        """
        if from_start:
            return
        self.cursor = self.feed.get_newest_placement()
        self.stopped_us = to_us(self.app.clock.now())
        if last is None:
            return
        row_ids = None
        if not self.session_filter.includes_all:
            self.session_filter.refresh()
            streams = self.feed.list_streams()
            row_ids = [
                row_id
                for row_id, key in streams.items()
                if self.session_filter.includes(key)
            ]
        for placed in self.feed.list_last(last, _LAST_TYPES, row_ids):
            self._print_record(placed)
            self.cursor = max(self.cursor, placed.placement)

    def poll(self) -> None:
        """Print new entries; do nothing if the store did not change."""
        version = self.feed.get_data_version()
        if version == self.version:
            return
        self.version = version
        while records := self.feed.list_after(self.cursor):
            self.session_filter.update(placed.record.session for placed in records)
            for placed in records:
                self.cursor = placed.placement
                if self.session_filter.includes(placed.record.session):
                    self._print_record(placed)
        if not self.as_json:
            self._print_stops()

    def _print_record(self, placed: PlacedRecord) -> None:
        redacted_entry = redact_entry(placed, self.app.redact)
        if self.as_json:
            sequence = self.feed.get_sequence(placed)
            numbered_entry = structs.replace(redacted_entry, sequence=sequence)
            line = json.dumps(record_to_dict(numbered_entry), default=str)
            # The only control character that `json` does not escape.
            click.echo(line.replace("\x7f", "\\u007f"))
            return
        key = placed.record.session
        summary = self._load_summary(key)
        if key not in self.printed_sessions:
            self.printed_sessions.add(key)
            if self.feed.get_sequence(placed) == 1:
                click.echo(self.view.format_start(key, summary))
        for line in self.view.render_record(redacted_entry.record, summary):
            click.echo(line)

    def _print_stops(self) -> None:
        stops = self.feed.list_stopped(self.stopped_us)
        self.session_filter.update(key for key, _ in stops)
        for key, stopped_us in stops:
            self.stopped_us = stopped_us
            if self.session_filter.includes(key):
                click.echo(self.view.format_stop(key, self._load_summary(key)))

    def _load_summary(self, key: SessionKey) -> SessionSummary | None:
        session = self.reader.find_session(key)
        return redact_summary(session, self.app.redact) if session else None
