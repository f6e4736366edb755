"""Opening the store, and the store as scripts see it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from leslied.api.entries import Entries
from leslied.api.filters import make_filters
from leslied.api.session import make_session_view
from leslied.api.types import Rows
from leslied.app import App
from leslied.clock import SystemClock
from leslied.paths import get_paths, read_environ
from leslied.queries.scripts import SQL_TIMEOUT_SECONDS, RecordFilter, ScriptQueries

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leslied.api.filters import TimeArgument
    from leslied.api.session import SessionView

_STORE_NAME = "store.db"


def open_store(path: str | Path | None = None, *, redact: bool = False) -> StoreView:
    """Open the store for reading; use the result in a `with` statement.

    `path` is the store file or its folder; the default is the store that the command
    line uses. Texts are returned as they are in the logs; `redact` removes secrets from
    them. Raise StoreUnusable if the store cannot be read, UserError if there is none.
    """
    environ = read_environ()
    paths = get_paths(environ)
    file = Path(path) if path else paths.store_file
    if file.is_dir():
        file /= _STORE_NAME
    # The key of the redactor is in the store's folder.
    app = App(environ, paths._replace(data_dir=file.parent), SystemClock())
    load_redact = app.load_redact if redact else None
    return StoreView(ScriptQueries(file, app.clock, load_redact))


class StoreView:
    """A store opened by `open_store`; use it in one thread of the program only."""

    def __init__(self, queries: ScriptQueries) -> None:
        self._queries = queries

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store, as the end of `with` does."""
        self._queries.close()

    def sessions(
        self,
        *,
        agent: str = "",
        project: str = "",
        since: TimeArgument | None = None,
        until: TimeArgument | None = None,
        subagents: bool = False,
    ) -> Iterator[SessionView]:
        """Yield the matching sessions, last active first, like `leslied list`.

        `project` is a project's name, or a folder in it or above it. A session matches
        if it was active at or after `since` and started before `until`. Both times are
        ISO text, a date or a datetime; without a zone they are local. A date as `until`
        includes the whole day. With `subagents`, also yield the subagents of the
        matching sessions. Raise UserError for an unknown agent or an invalid time.
        """
        filters = tuple(make_filters(agent, project, since, until))
        queries = self._queries
        for summary in queries.list_sessions(filters, with_subagents=subagents):
            yield make_session_view(summary, queries)

    def session(self, id_prefix: str) -> SessionView:
        """Return the session or subagent that an id names; `last` is the last active.

        Any unambiguous prefix of the id of a session, thread, unit or subagent is
        accepted. The id of a unit selects its session. Raise UserError if nothing
        matches or the prefix is ambiguous.
        """
        return make_session_view(self._queries.get_session(id_prefix), self._queries)

    @property
    def entries(self) -> Entries:
        """All entries of all sessions, in the order in which they were read."""
        return Entries(self._queries, RecordFilter())

    def sql(
        self,
        query: str,
        values: Sequence[Any] = (),
        *,
        timeout: float = SQL_TIMEOUT_SECONDS,
    ) -> Rows:
        """Run one SELECT over the views that docs/sql.md describes.

        `values` are bound to the query's `?`. `timeout` is in seconds; it does not
        interrupt a single call of an SQL function. Raise UserError if the query is
        invalid or exceeds the timeout.
        """
        return Rows(*self._queries.execute(query, values, timeout))
