"""Opening the store for a script, and what it is asked first."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from leslied.api.entries import Entries
from leslied.api.nouns import Rows, Session, make_session, make_unit
from leslied.clock import SystemClock
from leslied.errors import UserError
from leslied.lookup import gather_sessions, redact_placed, redact_unit, resolve
from leslied.model.codec import plain_session
from leslied.paths import find_places, load_key, read_environ
from leslied.redact import Redactor
from leslied.redact.deep import redact_json, redact_summary
from leslied.sessions import Stream, assemble, tell_status
from leslied.store import ALL, TIMEOUT, Inquiry, Wanted
from leslied.store.views import SESSIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from leslied.api.nouns import Unit
    from leslied.clock import Clock
    from leslied.model.record import Placed
    from leslied.model.session import SessionSummary
    from leslied.model.session import Unit as StoredUnit

    Redact = Callable[[str], str]
    Moment = datetime | date | str

_NAME, _KEY_NAME = "store.db", "redact.key"


def open_store(path: str | Path | None = None, *, redact: bool = False) -> Store:
    """The store, to be read and never written; use it with `with`.

    `path` is the file or its folder; without it, the store is found as the command
    line finds it. What comes out is the log's own words; `redact` takes secrets out.
    """
    file = Path(path) if path else find_places(read_environ()).store_file
    if file.is_dir():
        file /= _NAME
    store = Store(file, SystemClock())
    if redact:
        store.redact = Redactor(load_key(file.with_name(_KEY_NAME))).redact
    return store


class Store:
    """What leslied keeps; made by `open_store`, for one thread."""

    redact: Redact | None = None

    def __init__(self, path: Path, clock: Clock) -> None:
        self._clock = clock
        self.reader = Inquiry(path, clock, self._session_rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """The store is let go; what `with` does at its end."""
        self.reader.__exit__()

    def sessions(
        self,
        *,
        agent: str = "",
        project: str = "",
        since: Moment | None = None,
        until: Moment | None = None,
        subagents: bool = False,
    ) -> Iterator[Session]:
        """The sessions, last active first, as `leslied list` tells them.

        `project` is a folder, which holds what is below it too, or a folder's name;
        `since` and `until` are about the last activity: ISO text, a date or a time.
        """
        first = _moment(since) if since else datetime.min.replace(tzinfo=UTC)
        last = _moment(until) if until else datetime.max.replace(tzinfo=UTC)
        for found in self._gather(with_subagents=subagents):
            at = found.ended_at or found.started_at
            is_then = first <= at < last if at else not (since or until)
            is_here = not project or _is_in(found.cwd, project)
            if is_then and is_here and agent in ("", found.key.agent):
                yield self._tell(found)

    def session(self, wanted: str) -> Session:
        """The session of an id, thread, chat or subagent, or `last`.

        Any unique beginning of an id will do; a chat id finds the session it is in.
        """
        found = resolve(self.reader, wanted, with_costs=True)
        if not found.subagent:
            return self._tell(found.session)
        below = self.reader.children(found.session)
        return self._tell(next(s for s in below if s.subagent_id == found.subagent))

    @property
    def entries(self) -> Entries:
        """Every entry of every session, in the order they were read."""
        return Entries(self, Wanted())

    def sql(
        self, query: str, values: Sequence[Any] = (), *, timeout: float = TIMEOUT
    ) -> Rows:
        """What one SELECT finds in the views that docs/sql.md tells of.

        `values` are bound to the query's `?`; `timeout` is in seconds.
        """
        answer = self.reader.ask(query, values, timeout)
        return Rows(answer.columns, (self._clear_row(row) for row in answer.rows))

    def load_units(self, summary: SessionSummary) -> Iterator[Unit]:
        """The units of one stream in order, one in memory at a time."""
        files = self.reader.transcripts(summary.row)
        for number in self.reader.standing(summary.row).chats:
            wanted = Wanted(streams=(summary.row,), unit=number)
            entries = self.reader.page(wanted, most=ALL)
            for unit in assemble(Stream(summary, entries), ()):
                found = replace(unit, transcript=files.get(number, ""))
                yield make_unit(self._clear_unit(found))

    def entries_of(self, summary: SessionSummary) -> Entries:
        """The entries of a subagent, or of a session with its subagents."""
        return Entries(self, Wanted(streams=self._streams(summary)))

    def subagents_of(self, summary: SessionSummary) -> list[Session]:
        """The subagents of a session; those of a subagent count as its session's."""
        if summary.is_subagent:
            return []
        return [self._tell(each) for each in self.reader.children(summary)]

    def narrow(self, wanted: Wanted, session: str) -> Wanted:
        """The same question about what an id stands for."""
        found = resolve(self.reader, session)
        streams = self._streams(found.session)
        if found.unit is not None:
            streams = (found.session.row,)
        elif found.subagent:
            below = self.reader.children(found.session)
            streams = tuple(s.row for s in below if s.subagent_id == found.subagent)
        if wanted.streams is not None:
            streams = tuple(row for row in streams if row in wanted.streams)
        return replace(wanted, streams=streams, unit=found.unit)

    def clear(self, placed: Placed) -> Placed:
        """The record as it may be told."""
        return redact_placed(placed, self.redact) if self.redact else placed

    def _clear_unit(self, unit: StoredUnit) -> StoredUnit:
        return redact_unit(unit, self.redact) if self.redact else unit

    def _clear_row(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        if not (redact := self.redact):
            return row
        return tuple(
            redact_json(cell, redact) if isinstance(cell, str) else cell for cell in row
        )

    def _streams(self, summary: SessionSummary) -> tuple[int, ...]:
        below = [] if summary.is_subagent else self.reader.children(summary)
        return tuple({summary.row, *(each.row for each in below)})

    def _gather(self, *, with_subagents: bool = False) -> list[SessionSummary]:
        return gather_sessions(
            self.reader, with_subagents=with_subagents, with_costs=True
        )

    def _tell(self, found: SessionSummary) -> Session:
        told = redact_summary(found, self.redact) if self.redact else found
        return make_session(told, tell_status(found, self._clock.now()), self)

    def _session_rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows of the view `sessions`, in the order of its columns."""
        now = self._clock.now()
        for each in self._gather():
            plain = plain_session(each, tell_status(each, now), each.cwd)
            plain |= plain.pop("usage")
            plain["session_id"] = plain.pop("id")
            yield tuple(plain[column.name] for column in SESSIONS.columns)


def _moment(given: Moment) -> datetime:
    """The time that was meant; without a zone it is local."""
    if isinstance(given, str):
        try:
            given = datetime.fromisoformat(given)
        except ValueError:
            raise UserError(
                f"{given!r} is no day or time.", "Write it as 2026-01-31T15:00."
            ) from None
    if not isinstance(given, datetime):
        given = datetime(given.year, given.month, given.day)  # noqa: DTZ001 - local
    return given if given.tzinfo else given.astimezone()


def _is_in(folder: str, project: str) -> bool:
    if "/" in project:
        top = project.rstrip("/")
        return folder == top or folder.startswith(top + "/")
    return folder.rpartition("/")[2] == project
