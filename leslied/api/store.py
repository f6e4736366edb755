"""Opening the store for a script, and what it is asked first."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from leslied.api._backend import Backend
from leslied.api.entries import Entries
from leslied.api.filters import make_filters
from leslied.api.types import Rows, SessionView
from leslied.clock import SystemClock
from leslied.paths import get_paths, load_key, read_environ
from leslied.redact import Redactor
from leslied.store import SQL_TIMEOUT_SECONDS, RecordFilter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leslied.api.filters import TimeArgument

_STORE_NAME, _KEY_NAME = "store.db", "redact.key"


def open_store(path: str | Path | None = None, *, redact: bool = False) -> StoreView:
    """The store, to be read and never written; use it with `with`.

    `path` is the file or its folder; without it, the store is found as the command
    line finds it. What comes out is the log's own words; `redact` takes secrets out.
    """
    file = Path(path) if path else get_paths(read_environ()).store_file
    if file.is_dir():
        file /= _STORE_NAME
    inside = Backend(file, SystemClock())
    if redact:
        inside.redact = Redactor(load_key(file.with_name(_KEY_NAME))).redact
    return StoreView(inside)


class StoreView:
    """What leslied keeps; made by `open_store`, for one thread."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """The store is let go; what `with` does at its end."""
        self._backend.reader.__exit__()

    def sessions(
        self,
        *,
        agent: str = "",
        project: str = "",
        since: TimeArgument | None = None,
        until: TimeArgument | None = None,
        subagents: bool = False,
    ) -> Iterator[SessionView]:
        """The sessions, last active first, as `leslied list` tells them.

        These mean what the list's options mean: `project` is a folder, which holds
        what is below it too, or a folder's name; those active since `since` are
        told, and begun before `until`: ISO text, a date or a time. Without a zone
        it is local; a day as `until` is all of that day. Subagents come with their
        sessions.
        """
        filters = tuple(make_filters(agent, project, since, until))
        found = self._backend.list_sessions(filters, with_subagents=subagents)
        yield from map(self._backend.make_view, found)

    def session(self, wanted: str) -> SessionView:
        """The session of an id, thread, chat or subagent, or `last`.

        Any unique beginning of an id will do; a chat id finds the session it is in.
        """
        return self._backend.make_view(self._backend.find_session(wanted))

    @property
    def entries(self) -> Entries:
        """Every entry of every session, in the order they were read."""
        return Entries(self._backend, RecordFilter())

    def sql(
        self,
        query: str,
        values: Sequence[Any] = (),
        *,
        timeout: float = SQL_TIMEOUT_SECONDS,
    ) -> Rows:
        """What one SELECT finds in the views that docs/sql.md tells of.

        `values` are bound to the query's `?`; `timeout` is in seconds.
        """
        answer = self._backend.reader.execute(query, values, timeout)
        return Rows(answer.columns, map(self._backend.redact_row, answer.rows))
