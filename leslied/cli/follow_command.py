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

from leslied.cli.completion import (
    complete_agent,
    complete_project,
    complete_session,
)
from leslied.cli.desk import sit_down
from leslied.cli.help import Command
from leslied.cli.look import Look, find_width
from leslied.cli.project import find_project
from leslied.cli.telling import Telling
from leslied.errors import UserError
from leslied.lookup import redact_placed, resolve
from leslied.model.codec import plain_record
from leslied.model.record import SessionKey
from leslied.redact.deep import redact_summary
from leslied.store import read_lock

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from leslied.cli.desk import Desk
    from leslied.model.record import Placed
    from leslied.model.session import SessionSummary
    from leslied.store import News, Reader

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
@click.option(
    "--agent",
    metavar="NAME",
    default="",
    shell_complete=complete_agent,
    help="Only this agent's sessions.",
)
@click.option(
    "--project",
    metavar="PATH|NAME",
    default="",
    shell_complete=complete_project,
    help="Only this project's sessions.",
)
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
    if not once and read_lock(desk.places.store_file) is None:
        click.echo(
            "The daemon does not run: nothing new will come. "
            "Start it: leslied service install, or leslied run",
            err=True,
        )
    with desk.open_reader() as reader:
        only = _find(reader, wanted, desk.home, options)
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


@dataclass(frozen=True, slots=True)
class _Only:
    """Which sessions are followed."""

    streams: frozenset[tuple[str, ...]] | None
    """Sessions by agent and id, or subagents by their whole key; None for all."""
    agent: str
    project: str
    """A folder, with all below it, or the name of one; empty for any."""

    @property
    def is_all(self) -> bool:
        """Whether none is left out."""
        return self.streams is None and not self.agent and not self.project

    def has(self, key: SessionKey, folder: str) -> bool:
        """Whether this one is followed; its session works in the folder."""
        named = self.streams
        if named is not None and key[:2] not in named and key not in named:
            return False
        if self.agent and key.agent != self.agent:
            return False
        if self.project.startswith("/"):
            return (folder + "/").startswith(self.project.rstrip("/") + "/")
        return not self.project or folder.rpartition("/")[2] == self.project


def _find(
    reader: Reader, wanted: Sequence[str], home: Path, options: dict[str, Any]
) -> _Only:
    streams: set[tuple[str, ...]] = set()
    for each in wanted:
        found = resolve(reader, each)
        key = found.session.key
        name = f"subagent:{found.subagent}"
        streams.add(SessionKey(*key[:2], name) if found.subagent else key[:2])
    _check_agent(options["agent"])
    project = find_project(options["project"], home)
    return _Only(frozenset(streams) if wanted else None, options["agent"], project)


def _check_agent(agent: str) -> None:
    from leslied.agents import load_adapters  # noqa: PLC0415 - few ask for one

    if agent and agent not in load_adapters():
        known = ", ".join(sorted(load_adapters()))
        raise UserError(f"There is no agent {agent!r}.", f"Those known: {known}")


@dataclass(slots=True)
class _Following:
    """How far everything was told."""

    desk: Desk
    reader: Reader
    only: _Only
    as_json: bool = field(kw_only=True)
    news: News = field(init=False)
    telling: Telling = field(init=False)
    newest: int = 0
    stopped_us: int = 0
    version: int = -1
    seen: set[SessionKey] = field(default_factory=set)

    def __post_init__(self) -> None:
        look = Look(width=find_width(), result_lines=2, edit_lines=8)
        self.news = self.reader.news
        self.telling = Telling(look, str(self.desk.home))

    def begin(self, last: int | None, *, is_all: bool) -> None:
        """What is there is old, but for the last of it."""
        if is_all:
            return
        self.newest = self.news.newest()
        self.stopped_us = int(self.desk.clock.now().timestamp() * 1_000_000)
        if last is None:
            return
        rows = None
        if not self.only.is_all:
            everyone = self.reader.sessions()
            rows = [s.row for s in everyone if self._is_wanted(s.key)]
        for placed in self.news.last(last, _TOLD, rows):
            self._tell(placed)
            self.newest = max(self.newest, placed.placement)

    def look(self) -> None:
        """Everything new is told; where nothing was written, nothing is asked."""
        version = self.news.version()
        if version == self.version:
            return
        self.version = version
        while found := self.news.after(self.newest):
            for placed in found:
                self.newest = placed.placement
                if self._is_wanted(placed.record.session):
                    self._tell(placed)
        if not self.as_json:
            self._tell_stops()

    def _tell(self, placed: Placed) -> None:
        clean = redact_placed(placed, self.desk.redact)
        if self.as_json:
            numbered = structs.replace(clean, sequence=self.news.number(placed))
            line = json.dumps(plain_record(numbered), default=str)
            click.echo(line.replace("\x7f", "\\u007f"))
            return
        key = placed.record.session
        summary = self._summary(key)
        if key not in self.seen:
            self.seen.add(key)
            if self.news.number(placed) == 1:
                click.echo(self.telling.tell_start(key, summary))
        for line in self.telling.tell(clean.record, summary):
            click.echo(line)

    def _tell_stops(self) -> None:
        for key, stopped_us in self.news.stops(self.stopped_us):
            self.stopped_us = stopped_us
            if self._is_wanted(key):
                click.echo(self.telling.tell_stop(key, self._summary(key)))

    def _is_wanted(self, key: SessionKey) -> bool:
        if not self.only.project:
            return self.only.has(key, "")
        main = self.reader.session(SessionKey(*key[:2])) or self.reader.session(key)
        return self.only.has(key, main.cwd if main else "")

    def _summary(self, key: SessionKey) -> SessionSummary | None:
        found = self.reader.session(key)
        return redact_summary(found, self.desk.redact) if found else None
