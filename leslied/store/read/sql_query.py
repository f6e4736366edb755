"""Run SQL queries of users over stable views, read-only and with a time limit.

A progress handler stops long queries. SQLite does not call it while one function works
on a huge text; `queries.sql_process` limits that, too.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from leslied.errors import LesliedError, UserError
from leslied.store.connection import (
    get_primary_code,
    make_unusable_error,
    translate_sqlite_errors,
)
from leslied.store.read.reader import StoreReader
from leslied.store.read.record_pages import (
    find_newest_placements,
    find_placements,
    load_records,
    split_pages,
)
from leslied.store.read.session_order import SessionOrder, add_sequence_and_tool
from leslied.store.read.sql_connection import SqlConnection
from leslied.store.read.views import SESSIONS, VIEWS
from leslied.store.streams import find_stream

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from leslied.clock import Clock
    from leslied.model.record import PlacedRecord, SessionKey
    from leslied.store.read.record_pages import RecordFilter
    from leslied.store.read.sql_connection import Redact, Rows, SqlFunction

SQL_TIMEOUT_SECONDS: float = 10
"""Default time limit of a query."""

_STEPS_PER_DEADLINE_CHECK = 10_000
"""Instructions of SQLite's virtual machine between two checks of the deadline."""
_UNUSABLE_STORE_CODES = {
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_CANTOPEN,
}
_QUERY_ERRORS = (sqlite3.Error, sqlite3.Warning, OverflowError, ValueError)
_VIEWS_HINT = "See the views and their columns: leslied sql --views"


@dataclass(frozen=True, slots=True)
class SqlResult:
    """Result of a query: column names and an iterator that fetches the rows."""

    columns: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]


class SqlReader(StoreReader):
    """Reader that also runs SQL; `load_sessions` returns rows of view `sessions`.

    `redact` removes secrets from what a query reads; None reveals them. The rows of
    `load_sessions` are used as they are.
    """

    def __init__(
        self,
        path: Path,
        clock: Clock,
        load_sessions: Callable[[], Rows],
        redact: Redact | None = None,
    ) -> None:
        super().__init__(path)
        self._clock = clock
        self._load_sessions = load_sessions
        self._redact = redact
        self._session_orders: dict[int, SessionOrder] = {}
        self._deadline = inf
        self._sql: SqlConnection | None = None
        self._names_version = -1
        """Version of the store whose session names are loaded; -1 if none are."""

    def __exit__(self, *_: object) -> None:
        """Close both connections."""
        if self._sql:
            self._sql.db.close()
        super().__exit__()

    def execute(
        self,
        query: str,
        values: Sequence[Any] = (),
        timeout: float = SQL_TIMEOUT_SECONDS,
    ) -> SqlResult:
        """Run one SELECT; raise UserError if it is invalid or exceeds the timeout.

        `timeout` is in seconds. Fetching the rows of the result can raise as well.
        """
        _check_query_text(query)
        self._session_orders.clear()
        with self._time_limit(inf):
            sql = self._prepare_views(query)
        start = self._clock.monotonic()
        with self._time_limit(timeout):
            cursor = sql.db.execute(query, values)
        if cursor.description is None:
            raise UserError("The query is empty.", _VIEWS_HINT)
        names = [column[0] for column in cursor.description]
        remaining_seconds = timeout - (self._clock.monotonic() - start)
        rows = self._fetch(cursor, remaining_seconds)
        return SqlResult(tuple(_make_unique_names(names)), rows)

    def _fetch(
        self, cursor: sqlite3.Cursor, remaining_seconds: float
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the rows; time between two fetches does not count as query time."""
        while True:
            start = self._clock.monotonic()
            with self._time_limit(remaining_seconds):
                # One at a time, because a row may be large.
                row = cursor.fetchone()
            remaining_seconds -= self._clock.monotonic() - start
            if row is None:
                return
            yield row

    @contextmanager
    def _time_limit(self, seconds: float) -> Iterator[None]:
        """Limit the time of queries in this context; translate their errors."""
        self._deadline = self._clock.monotonic() + seconds
        try:
            yield
        except _QUERY_ERRORS as error:
            raise self._translate_error(error) from error
        finally:
            self._deadline = inf

    def clear_cache(self) -> None:
        """Clear the cached orders of streams."""
        self._session_orders.clear()

    def iter_pages(self, record_filter: RecordFilter) -> Iterator[list[PlacedRecord]]:
        """Yield pages of matching records with sequence numbers, in order of reading.

        No transaction is open between two pages. Records that are added meanwhile come
        at the end.
        """
        after = 0
        while placements := self._find_placements(record_filter, after):
            yield from map(self._load_page, split_pages(placements))
            after = placements[-1]

    def iter_newest_pages(
        self, record_filter: RecordFilter
    ) -> Iterator[list[PlacedRecord]]:
        """Yield pages of matching records, latest first; those without a time last."""
        yield from map(
            self._load_page, split_pages(self._find_newest_placements(record_filter))
        )

    @translate_sqlite_errors
    def _find_placements(self, record_filter: RecordFilter, after: int) -> array[int]:
        return find_placements(self._db, record_filter, after)

    @translate_sqlite_errors
    def _find_newest_placements(self, record_filter: RecordFilter) -> array[int]:
        return find_newest_placements(self._db, record_filter)

    @translate_sqlite_errors
    def _load_page(self, placements: array[int]) -> list[PlacedRecord]:
        page = []
        for session, placed in load_records(self._db, placements):
            order = self._get_order(session)
            if order.find_sequence(placed.read_order) is None:
                # The record was added after the order was cached.
                del self._session_orders[session]
                order = self._get_order(session)
            page.append(add_sequence_and_tool(placed, order))
        return page

    def _prepare_views(self, query: str) -> SqlConnection:
        """Open the connection on first use; load the sessions if the query needs them.

        The functions of the views use the connection of this reader.
        """
        if self._sql is None:
            self._sql = self._open_connection()
        (version,) = self._db.execute("PRAGMA data_version").fetchone()
        if version != self._names_version:
            self._sql.fill_names()
            self._names_version = version
        # SQL cannot compute a table name, so a query over the view contains its name.
        if re.search(SESSIONS.name, query, re.IGNORECASE):
            self._sql.fill_sessions(list(self._load_sessions()))
        return self._sql

    def _open_connection(self) -> SqlConnection:
        functions: dict[str, SqlFunction] = {
            "sequence_of": (2, self._find_sequence),
            "neighbour_of": (3, self._find_neighbour),
            "call_of": (2, self._find_call_tool),
            "answer_of": (2, self._find_first_result),
            "chat_of": (2, self._find_chat_id),
            "start_of": (2, self._find_unit_start),
            "end_of": (2, self._find_unit_end),
        }
        sql = SqlConnection(self.path, functions, self._redact)
        for db in (self._db, sql.db):
            db.set_progress_handler(self._is_past_deadline, _STEPS_PER_DEADLINE_CHECK)
        return sql

    def _is_past_deadline(self) -> bool:
        return self._clock.monotonic() > self._deadline

    def list_units(self, key: SessionKey) -> list[int]:
        """List the numbers of a stream's units that have visible entries, in order."""
        return list(self._get_order(find_stream(self._db, key)).chat_ids)

    def _get_order(self, session: int) -> SessionOrder:
        """Return the order of a stream, cached until `execute` or `clear_cache`."""
        if session not in self._session_orders:
            self._session_orders[session] = SessionOrder(self._db, session)
        return self._session_orders[session]

    def _find_sequence(self, session: int, placement: int) -> int | None:
        return self._get_order(session).find_sequence(placement)

    def _find_neighbour(self, session: int, placement: int, step: int) -> int | None:
        return self._get_order(session).find_neighbour(placement, step)

    def _find_call_tool(self, session: int, call_id: str) -> str | None:
        return self._get_order(session).tool_by_call_id.get(call_id) or None

    def _find_first_result(self, session: int, call_id: str) -> int | None:
        return self._get_order(session).first_results.get(call_id)

    def _find_chat_id(self, session: int, unit: int) -> str | None:
        return self._get_order(session).chat_ids.get(unit)

    def _find_unit_start(self, session: int, unit: int) -> int | None:
        return self._get_order(session).unit_times[unit].start_us

    def _find_unit_end(self, session: int, unit: int) -> int | None:
        return self._get_order(session).unit_times[unit].end_us

    def _translate_error(self, error: Exception) -> LesliedError:
        """Return the error to show to users; raise KeyboardInterrupt after Ctrl-C."""
        message = str(error).strip().rstrip(".")
        code = get_primary_code(error)
        if code in _UNUSABLE_STORE_CODES:
            return make_unusable_error(self.path, error)
        if code == sqlite3.SQLITE_INTERRUPT:
            if not self._is_past_deadline():
                raise KeyboardInterrupt
            return make_timeout_error()
        if isinstance(error, sqlite3.OperationalError) and not code:
            # Python's own error quotes a text of the store that is not UTF-8.
            return make_unusable_error(self.path, error)
        return _make_query_error(message)


def make_timeout_error() -> UserError:
    """Return the error for a query that exceeds its time limit."""
    return UserError(
        "The query took too long and was stopped.",
        "Narrow it with a session_id or a LIMIT, or allow more time: --timeout 60",
    )


def _check_query_text(query: str) -> None:
    """Raise UserError if the query is empty or has characters that are not text."""
    if not query.strip().strip(";"):
        raise UserError("The query is empty.", _VIEWS_HINT)
    if "\0" in query or any("\ud800" <= char <= "\udfff" for char in query):
        raise UserError(
            "The query contains a character that is not valid text.",
            "Write it in UTF-8, without NUL bytes.",
        )


def _make_query_error(message: str) -> UserError:
    """Return the error for a message of SQLite about the query.

    SQLite has one error code for all of them, so only the message tells them apart.
    """
    if match := re.match(r"no such table: (.*)", message, re.DOTALL):
        views = ", ".join(view.name for view in VIEWS)
        return UserError(f"There is no view {match[1]!r}.", f"The views are: {views}")
    if match := re.match(r"no such column: (.*)", message, re.DOTALL):
        return UserError(f"There is no column {match[1]!r}.", _VIEWS_HINT)
    if "one statement at a time" in message:
        return UserError(
            "The query has more than one statement.", "Run one SELECT at a time."
        )
    if "bindings" in message:
        return UserError(
            "The number of values differs from the number of `?` in the query.",
            "Pass one value for each `?`, or write the value into the query.",
        )
    if "is prohibited" in message:
        return UserError(
            f"Only the views can be read ({message}).",
            f"{_VIEWS_HINT}\nThe store's own tables contain secrets: use --reveal",
        )
    if any(word in message for word in ("authoriz", "prohibited", "readonly")):
        return UserError(
            f"Only reading is allowed ({message}).",
            "Use SELECT, WITH or VALUES. Nothing was changed.",
        )
    if "syntax error" in message or "incomplete input" in message:
        return UserError(f"SQLite cannot parse the query: {message}.", _VIEWS_HINT)
    return UserError(f"The query failed: {message}.", _VIEWS_HINT)


def _make_unique_names(names: Sequence[str]) -> Iterator[str]:
    """Yield the names, a repeated `n` as `n_2`, so that each name is unique."""
    original_names = set(names)
    yielded_names: set[str] = set()
    for name in names:
        number, unique = 2, name
        while unique in yielded_names or (unique != name and unique in original_names):
            unique, number = f"{name}_{number}", number + 1
        yielded_names.add(unique)
        yield unique
