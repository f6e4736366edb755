"""Opening the store for a script, and what it is asked first."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from leslied.api._inside import Inside
from leslied.api.entries import Entries
from leslied.api.nouns import Rows, Session
from leslied.clock import SystemClock
from leslied.errors import UserError
from leslied.paths import find_places, load_key, read_environ
from leslied.redact import Redactor
from leslied.store import TIMEOUT, Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
    inside = Inside(file, SystemClock())
    if redact:
        inside.redact = Redactor(load_key(file.with_name(_KEY_NAME))).redact
    return Store(inside)


class Store:
    """What leslied keeps; made by `open_store`, for one thread."""

    def __init__(self, inside: Inside) -> None:
        self._inside = inside

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """The store is let go; what `with` does at its end."""
        self._inside.reader.__exit__()

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
        for found in self._inside.gather(with_subagents=subagents):
            at = found.ended_at or found.started_at
            is_then = first <= at < last if at else not (since or until)
            is_here = not project or _is_in(found.cwd, project)
            if is_then and is_here and agent in ("", found.key.agent):
                yield self._inside.tell(found)

    def session(self, wanted: str) -> Session:
        """The session of an id, thread, chat or subagent, or `last`.

        Any unique beginning of an id will do; a chat id finds the session it is in.
        """
        return self._inside.tell(self._inside.find(wanted))

    @property
    def entries(self) -> Entries:
        """Every entry of every session, in the order they were read."""
        return Entries(self._inside, Wanted())

    def sql(
        self, query: str, values: Sequence[Any] = (), *, timeout: float = TIMEOUT
    ) -> Rows:
        """What one SELECT finds in the views that docs/sql.md tells of.

        `values` are bound to the query's `?`; `timeout` is in seconds.
        """
        answer = self._inside.reader.ask(query, values, timeout)
        return Rows(answer.columns, map(self._inside.clear_row, answer.rows))


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
