"""`leslied follow`: sessions as they happen."""

from __future__ import annotations

import json
import select
import sys
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click
from msgspec import structs

from leslied.cli.completion import complete_session
from leslied.cli.desk import sit_down
from leslied.cli.filters import WHOSE, read_filters, whose_options
from leslied.cli.help import Command
from leslied.cli.look import Look, find_width
from leslied.cli.telling import Telling
from leslied.lookup import check_agents, redact_entry, resolve_id
from leslied.model.codec import record_to_dict
from leslied.model.query import Selection
from leslied.model.record import SessionKey
from leslied.redact.session import redact_summary
from leslied.store import SessionGroup, read_lock_info

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from leslied.cli.desk import Desk
    from leslied.model.query import Filter
    from leslied.model.record import PlacedRecord
    from leslied.model.session import SessionSummary
    from leslied.store import ChangeFeed, StoreReader

_PAUSE = 0.3
_TOLD = ("user_message", "assistant_message", "tool_use", "tool_result", "error")


@click.command(
    cls=Command,
    examples=[
        ("leslied follow", "everything, in a second terminal"),
        ("leslied follow last --last 20", "the last session, and what it did before"),
        ("leslied follow --project app", "only what works in a folder named app"),
        ("leslied follow --json | jq .type", "one record a line"),
    ],
    see_also=["show", "run", "service"],
)
@click.argument(
    "wanted", metavar="[ID|last]...", nargs=-1, shell_complete=complete_session
)
@whose_options
@click.option(
    "--last",
    type=click.IntRange(min=1),
    metavar="N",
    help="Show the last N entries first.",
)
@click.option("--json", "as_json", is_flag=True, help="Print each record as JSON.")
@click.option("--once", is_flag=True, hidden=True)
@click.pass_context
def command(ctx: click.Context, /, wanted: tuple[str, ...], **options: Any) -> None:
    """Show what is said and done in all sessions, or in those named, from now on.

    Each line begins with its session: the start of its id and its folder, or for a
    subagent the id it works under and its name. Sessions that begin meanwhile appear.
    The daemon must run. Ctrl-C ends it.
    """
    desk = sit_down(ctx)
    once = options.pop("once")
    if not once and read_lock_info(desk.places.store_file) is None:
        click.echo(
            "The daemon does not run: nothing new will come. "
            "Start it: leslied service install, or leslied run",
            err=True,
        )
    with desk.open_reader() as reader:
        only = _Only(reader, _find(reader, wanted), read_filters(desk, options, WHOSE))
        following = _Following(desk, reader, only, as_json=options["as_json"])
        following.begin(options["last"], is_all=once)
        while True:
            following.look()
            if once or not _pause():
                return


def _pause() -> bool:
    """A moment has passed; False where nobody reads what we print any more."""
    if sys.stdout.isatty():
        threading.Event().wait(_PAUSE)
        return True
    poll = select.poll()
    poll.register(sys.stdout, 0)
    return not poll.poll(_PAUSE * 1000)


def _find(
    reader: StoreReader, wanted: Sequence[str]
) -> frozenset[tuple[str, ...]] | None:
    streams: set[tuple[str, ...]] = set()
    for each in wanted:
        found = resolve_id(reader, each)
        key = found.session.key
        name = f"subagent:{found.subagent}"
        streams.add(SessionKey(*key[:2], name) if found.subagent else key[:2])
    return frozenset(streams) if wanted else None


@dataclass(slots=True)
class _Only:
    """Which sessions are followed."""

    reader: StoreReader
    streams: frozenset[tuple[str, ...]] | None
    """Sessions by agent and id, or subagents by their whole key; None for all."""
    filters: tuple[Filter, ...]
    chosen: set[SessionGroup] = field(default_factory=set)
    """What the filters leave, as far as it was asked for."""
    settled: set[SessionGroup] = field(default_factory=set)
    """Those of which the answer stays."""

    def __post_init__(self) -> None:
        check_agents(self.reader, self.filters)

    @property
    def is_all(self) -> bool:
        """Whether none is left out."""
        return self.streams is None and not self.filters

    def learn(self, keys: Iterable[SessionKey]) -> None:
        """The store was asked about those of which nothing was known."""
        new = {SessionGroup(*key[:2]) for key in keys} - self.settled
        if self.filters and new:
            self.ask()
            self.settled |= {each for each in new if self._is_settled(each)}

    def ask(self) -> None:
        """What the filters leave is known."""
        self.chosen = set(self.reader.select_sessions(Selection(filters=self.filters)))

    def _is_settled(self, family: SessionGroup) -> bool:
        """A session's folder may be told only after its first entry."""
        main = self.reader.find_session(SessionKey(*family))
        return family in self.chosen or bool(main and main.cwd)

    def has(self, key: SessionKey) -> bool:
        """Whether this one, of which was learnt, is followed."""
        named = self.streams
        if named is not None and key[:2] not in named and key not in named:
            return False
        return not self.filters or key[:2] in self.chosen


@dataclass(slots=True)
class _Following:
    """How far everything was told."""

    desk: Desk
    reader: StoreReader
    only: _Only
    as_json: bool = field(kw_only=True)
    news: ChangeFeed = field(init=False)
    telling: Telling = field(init=False)
    newest: int = 0
    stopped_us: int = 0
    version: int = -1
    seen: set[SessionKey] = field(default_factory=set)

    def __post_init__(self) -> None:
        look = Look(width=find_width(), result_lines=2, edit_lines=8)
        self.news = self.reader.change_feed
        self.telling = Telling(look, str(self.desk.home), self.reader.list_similar_ids)

    def begin(self, last: int | None, *, is_all: bool) -> None:
        """What is there is old, but for the last of it."""
        if is_all:
            return
        self.newest = self.news.get_newest_placement()
        self.stopped_us = int(self.desk.clock.now().timestamp() * 1_000_000)
        if last is None:
            return
        rows = None
        if not self.only.is_all:
            self.only.ask()
            streams = self.news.list_streams()
            rows = [row for row, key in streams.items() if self.only.has(key)]
        for placed in self.news.list_last(last, _TOLD, rows):
            self._tell(placed)
            self.newest = max(self.newest, placed.placement)

    def look(self) -> None:
        """Everything new is told; where nothing was written, nothing is asked."""
        version = self.news.get_data_version()
        if version == self.version:
            return
        self.version = version
        while found := self.news.list_after(self.newest):
            self.only.learn(placed.record.session for placed in found)
            for placed in found:
                self.newest = placed.placement
                if self.only.has(placed.record.session):
                    self._tell(placed)
        if not self.as_json:
            self._tell_stops()

    def _tell(self, placed: PlacedRecord) -> None:
        clean = redact_entry(placed, self.desk.redact)
        if self.as_json:
            numbered = structs.replace(clean, sequence=self.news.get_sequence(placed))
            line = json.dumps(record_to_dict(numbered), default=str)
            click.echo(line.replace("\x7f", "\\u007f"))
            return
        key = placed.record.session
        summary = self._summary(key)
        if key not in self.seen:
            self.seen.add(key)
            if self.news.get_sequence(placed) == 1:
                click.echo(self.telling.tell_start(key, summary))
        for line in self.telling.tell(clean.record, summary):
            click.echo(line)

    def _tell_stops(self) -> None:
        found = self.news.list_stopped(self.stopped_us)
        self.only.learn(key for key, _ in found)
        for key, stopped_us in found:
            self.stopped_us = stopped_us
            if self.only.has(key):
                click.echo(self.telling.tell_stop(key, self._summary(key)))

    def _summary(self, key: SessionKey) -> SessionSummary | None:
        found = self.reader.find_session(key)
        return redact_summary(found, self.desk.redact) if found else None
