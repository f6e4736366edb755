"""After settle: sessions that stopped have the outputs that the settings ask for."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta, timezone
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from leslied import sinks
from leslied.errors import SinkError
from leslied.model.record import SessionKey
from leslied.model.session import Session
from leslied.model.stats import Cost
from leslied.pipeline.failures import Failures
from leslied.prices import load_prices
from leslied.redact.deep import redact_session
from leslied.sessions import Stream, assemble, find_cost, tell_status
from leslied.sessions.status import QUIET
from leslied.stats import UsageStats

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leslied.clock import Clock
    from leslied.model.output import Artifact
    from leslied.model.session import SessionSummary
    from leslied.store import DueSession, Store, StoreReader


@dataclass(slots=True)
class PublishedNow:
    """The work a publish did."""

    sessions: int = 0
    files: int = 0
    troubles: dict[str, str] = field(default_factory=dict)
    has_more: bool = False
    """Whether some that are due were left for the next run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Publish:
    """Stopped sessions, on their way into other tools' forms."""

    store: Store
    reader: StoreReader
    redact: Callable[[str], str]
    clock: Clock
    formats: tuple[str, ...] = ()
    failures: Failures = field(default_factory=Failures)
    live: set[tuple[str, str]] = field(default_factory=set)
    """Agent and id of sessions that a process works on; kept up to date by `Stops`."""

    def run(self, *, most: int = 1_000_000) -> PublishedNow:
        """Every session that stopped has its outputs, as it is now; again if it grew.

        They stand beside the thread's transcripts, in `.meta/exports`.
        """
        done = PublishedNow()
        if not self.formats:
            return done
        key = " ".join(self.formats)
        quiet = self.clock.now() - QUIET
        with self.store.exports() as published:
            due = published.list_due(key, int(quiet.timestamp() * 1e6))
        finished: list[DueSession] = []
        for each in due:
            if len(finished) >= most:
                done.has_more = True
                break
            work = partial(self._try, each, done, finished)
            self.failures.attempt("export", each.session_id, work, done.troubles)
        if finished:
            with self.store.exports() as published:
                published.mark_exported(finished, key)
        return done

    def _try(
        self, due: DueSession, done: PublishedNow, finished: list[DueSession]
    ) -> None:
        """Write the exports of a session that stopped, and add it to `finished`."""
        main = self.reader.find_session(SessionKey(due.agent, due.session_id))
        is_live = (due.agent, due.session_id) in self.live
        now = self.clock.now()
        if main is None or tell_status(main, now, is_live=is_live) != "stopped":
            return
        try:
            self._write(main, done)
        except SinkError as error:
            done.troubles[due.session_id] = error.message
            return
        done.sessions += 1
        finished.append(due)

    def _write(self, main: SessionSummary, done: PublishedNow) -> None:
        session = redact_session(self._load(main), self.redact)
        folder = f".leslie/threads/{main.thread_id}/.meta/exports"
        for name in self.formats:
            for artifact in _render(name, session):
                sinks.write_artifact(Path(main.folder), _below(folder, artifact))
                done.files += 1

    def _load(self, main: SessionSummary) -> Session:
        children = self.reader.list_children(main)
        units = assemble(
            Stream(main, tuple(self.reader.list_records(main.row))),
            [Stream(c, tuple(self.reader.list_records(c.row))) for c in children],
        )
        with self.store.exports() as published:
            offset = published.get_utc_offset(main.row)
        return Session(
            summary=self._sum_up(main),
            units=tuple(self.reader.add_transcript_paths(unit) for unit in units),
            status="stopped",
            cost_usd=self._find_cost(main) or find_cost(units),
            zone=timezone(timedelta(minutes=offset)),
        )

    def _find_cost(self, main: SessionSummary) -> float | None:
        """As lists tell it: each message once, at the prices of its day."""
        rows = [main.row, *(s.row for s in self.reader.list_subagents(main.key))]
        costs = UsageStats(self.reader.usage, load_prices()).sum_session_costs(rows)
        return reduce(Cost.plus, (costs.get(row, Cost()) for row in rows)).usd

    def _sum_up(self, main: SessionSummary) -> SessionSummary:
        """The session as lists show it: its subagents' tokens are its own."""
        below = self.reader.list_subagents(main.key)
        ends = [s.ended_at for s in (main, *below) if s.ended_at]
        return structs.replace(
            main,
            usage=self.reader.sum_usage([main.row, *(s.row for s in below)]),
            subagents=len(below),
            ended_at=max(ends, default=None),
        )


def _render(name: str, session: Session) -> Iterator[Artifact]:
    try:
        yield from sinks.load_sinks()[name].render(session)
    except Exception as error:
        # A fault in one output must not stop the reading of everything else.
        raise SinkError(f"{name} cannot be made of it: {error!r}") from error


def _below(folder: str, artifact: Artifact) -> Artifact:
    return replace(
        artifact,
        path=f"{folder}/{artifact.path}",
        replaces=tuple(f"{folder}/{name}" for name in artifact.replaces),
    )
