"""Queries over tokens and tool calls, grouped, for statistics."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from leslied.model.record import SessionKey, Usage
from leslied.model.stats import PriceBreaks, ToolCall, UsageBucket
from leslied.store.connection import translate_sqlite_errors
from leslied.store.read.filter_sql import escape_like, make_project_sql
from leslied.store.read.ownership import Ownership
from leslied.store.read.session_queries import list_hidden_sessions
from leslied.store.sql import fetch_column, fetch_value
from leslied.store.streams import list_streams

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable
    from pathlib import Path

    from leslied.model.stats import StoreGrouping
    from leslied.store.read.session_queries import SessionGroup

_HOUR_US = 3_600_000_000
_DAY_US = 24 * _HOUR_US
_COUNTS = Usage.__struct_fields__
_REQUEST_TOKENS = (
    "CASE WHEN is_sum THEN 0 "
    "ELSE input_tokens + cache_read_tokens + cache_write_tokens END"
)
"""SQL for the input tokens of a request; 0 if the row sums several requests."""
_SUMS = ", ".join(f"CAST(total({name}) AS INTEGER)" for name in _COUNTS)


class UsageFilter(Struct, frozen=True):
    """Conditions on messages and calls, and the UTC offsets of local time."""

    agent: str = ""
    since_us: int | None = None
    until_us: int | None = None
    """Exclusive upper bound."""
    session_id: str = ""
    """Only messages and calls first read in this session or a subagent of it."""
    streams: tuple[SessionKey, ...] = ()
    """Only messages that one of these streams contains; ignored for calls."""
    utc_offsets: tuple[tuple[int, int], ...] = ((0, 0),)
    """UTC offsets as (valid from, offset in microseconds), the earliest first."""
    model: str = ""
    """Only messages and calls of models whose name contains this text."""

    def to_sql(
        self, db: sqlite3.Connection, table: str = "usage", agent_table: str = "usage"
    ) -> tuple[str, list[Any]]:
        """Return the WHERE clause over the columns of these tables, and its values."""
        conditions = {
            f"{agent_table}.agent = ?": self.agent or None,
            f"{table}.created_us >= ?": self.since_us,
            f"{table}.created_us < ?": self.until_us,
            f"{table}.model LIKE ? ESCAPE '\\'": (
                f"%{escape_like(self.model)}%" if self.model else None
            ),
            "session IN (SELECT id FROM session WHERE session_id = ?)": (
                self.session_id or None
            ),
        }
        active = {sql: value for sql, value in conditions.items() if value is not None}
        stream_conditions = [self._make_streams_sql(db)] if self.streams else []
        where = " AND ".join([*active, *stream_conditions]) or "1"
        return where, list(active.values())

    def _make_streams_sql(self, db: sqlite3.Connection) -> str:
        """Return SQL for whether one of the streams contains a message."""
        ids = ", ".join(map(str, list_streams(db, self.streams)))
        in_streams = f"session IN ({ids})"
        shared = f"SELECT usage FROM usage_share WHERE {in_streams}"
        return f"({in_streams} OR id IN ({shared}))"

    @property
    def local_us_sql(self) -> str:
        """SQL for a message's local time, in microseconds."""
        (_, first_offset), *later_offsets = self.utc_offsets
        offset_sql = str(first_offset)
        for start, offset in later_offsets:
            offset_sql = (
                f"CASE WHEN created_us >= {start:d} THEN {offset:d} "
                f"ELSE {offset_sql} END"
            )
        return f"(created_us + {offset_sql})"


class _CallResult(NamedTuple):
    """When the result of a call was written, and whether it is an error."""

    created_us: int | None
    is_error: int | None


class UsageQueries:
    """Usage queries in which each message and each call counts once."""

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db = db
        self.path = path
        self._keys: dict[int, SessionKey] = {}

    @translate_sqlite_errors
    def group_usage(
        self,
        by: StoreGrouping,
        usage_filter: UsageFilter,
        price_breaks: PriceBreaks,
        *,
        with_sessions: bool,
    ) -> list[UsageBucket]:
        """Sum up messages and tokens by group, agent, model and price band.

        `price_breaks` are the limits between price bands. With `with_sessions`, also
        group by session; otherwise a bucket has no session.
        """
        session = self._owner_sql if with_sessions else "NULL"
        where, values = usage_filter.to_sql(self._db)
        bands = "".join(f", {band}" for band in _price_band_sql(price_breaks))
        rows = self._db.execute(
            f"SELECT {_group_sql(by, usage_filter)}, {session}, agent, model, "
            f"count(*), max({_REQUEST_TOKENS}), min(created_us), max(created_us), "
            f"{_SUMS} FROM usage WHERE {where} GROUP BY 1, 2, 3, 4{bands}",
            values,
        )
        return [self._make_bucket(row) for row in rows.fetchall()]

    @translate_sqlite_errors
    def list_messages(self, usage_filter: UsageFilter) -> list[UsageBucket]:
        """List every message that has a time, the earliest first."""
        where, values = usage_filter.to_sql(self._db)
        rows = self._db.execute(
            f"SELECT NULL, {self._owner_sql}, agent, model, 1, {_REQUEST_TOKENS}, "
            f"created_us, created_us, {', '.join(_COUNTS)} FROM usage "
            f"WHERE created_us IS NOT NULL AND {where} ORDER BY created_us, id",
            values,
        )
        return [self._make_bucket(row) for row in rows.fetchall()]

    @translate_sqlite_errors
    def list_owners(
        self, by: StoreGrouping, usage_filter: UsageFilter
    ) -> list[tuple[Any, tuple[str, str]]]:
        """List (group, (agent, session id)) for every stream with messages of a group.

        A session with several streams is listed several times.
        """
        where, values = usage_filter.to_sql(self._db)
        rows = self._db.execute(
            f"SELECT DISTINCT {_group_sql(by, usage_filter)}, {self._owner_sql} "
            f"FROM usage WHERE {where}",
            values,
        ).fetchall()
        sessions = self._db.execute("SELECT id, agent, session_id FROM session")
        names = {row_id: (agent, name) for row_id, agent, name in sessions}
        return [(group, names[stream]) for group, stream in rows]

    @translate_sqlite_errors
    def list_models(self) -> list[str]:
        """List every model that has messages."""
        return fetch_column(self._db, "SELECT DISTINCT model FROM usage")

    @translate_sqlite_errors
    def get_time_range(self) -> tuple[int, int]:
        """Return the times of the first and the last message; 0 if there is none."""
        # Two queries, because SQLite answers each from one end of the index.
        first, last = (
            fetch_value(self._db, f"SELECT {function}(created_us) FROM usage")
            for function in ("min", "max")
        )
        return first or 0, last or 0

    @translate_sqlite_errors
    def list_hidden_sessions(self) -> list[SessionGroup]:
        """List the sessions that are hidden."""
        return list_hidden_sessions(self._db)

    @translate_sqlite_errors
    def list_projects(self) -> dict[SessionKey, str]:
        """Return the project of every session and subagent."""
        rows = self._db.execute(
            f"SELECT agent, session_id, source, {make_project_sql('s')} "
            "FROM session s ORDER BY id"
        )
        return {SessionKey(*key): project for *key, project in rows}

    @translate_sqlite_errors
    def list_tool_calls(self, usage_filter: UsageFilter) -> list[ToolCall]:
        """List every tool call with its outcome; copies in forks count once."""
        columns = "r.tool_name, r.entry_id"
        calls = list(self._query_entries("tool_use", columns, usage_filter))
        metadata = ", ".join(
            f"CASE WHEN r.metadata <> '' THEN json_extract(r.metadata, '$.{name}') END"
            for name in ("is_error", "is_between_turns")
        )
        # Filter results by agent only: the result of a call may come after `until_us`.
        rows = self._query_entries(
            "tool_result", metadata, UsageFilter(usage_filter.agent)
        )
        # A result that the client adds when it resumes the session is not the outcome.
        results = {
            (session, call_id): _CallResult(created_us, is_error)
            for session, call_id, created_us, is_error, is_between_turns in rows
            if not is_between_turns
        }
        return [
            _make_tool_call(
                self._get_key(session),
                tool,
                entry_id,
                called_us,
                results.get((session, call_id)),
            )
            for session, call_id, called_us, tool, entry_id in calls
        ]

    def _query_entries(
        self, record_type: str, columns: str, usage_filter: UsageFilter
    ) -> Iterable[tuple[Any, ...]]:
        """Select (first session, call id, time, *columns) of entries of a type."""
        where, values = usage_filter.to_sql(self._db, "r", "s")
        return self._db.execute(
            f"SELECT min(p.session), r.tool_call_id, r.created_us, {columns} "
            "FROM record r JOIN placement p ON p.entry = r.entry "
            "JOIN session s ON s.id = p.session "
            f"WHERE r.type = '{record_type}' AND r.is_current AND {where} "
            "AND (p.is_copy = 0 OR s.originals = 0) GROUP BY r.id",
            values,
        )

    def _get_key(self, stream: int) -> SessionKey:
        """Return the key of a stream; load all keys if it is not known yet."""
        if stream not in self._keys:
            query = "SELECT id, agent, session_id, source FROM session"
            rows = self._db.execute(query)
            self._keys = {row_id: SessionKey(*key) for row_id, *key in rows}
        return self._keys[stream]

    def _make_bucket(self, row: Iterable[Any]) -> UsageBucket:
        """Make a bucket from a row with the same fields, and the counts at the end."""
        key, stream, agent, model, messages, size, first_us, last_us, *counts = row
        return UsageBucket(
            key=key,
            session=None if stream is None else self._get_key(stream),
            agent=agent,
            model=model,
            messages=messages,
            size=size,
            first_us=first_us,
            last_us=last_us,
            usage=Usage(*counts),
        )

    @cached_property
    def _owner_sql(self) -> str:
        """SQL for the stream that a message counts for."""
        if not self._db.execute("SELECT 1 FROM usage_share LIMIT 1").fetchone():
            return "session"
        owners = Ownership(self._db).owners
        self._db.create_function("owner_of", 1, owners.get, deterministic=True)
        shared = "id IN (SELECT usage FROM usage_share)"
        return f"CASE WHEN {shared} THEN owner_of(id) ELSE session END"


def _make_tool_call(
    session: SessionKey,
    tool: str,
    entry_id: bytes,
    called_us: int | None,
    result: _CallResult | None,
) -> ToolCall:
    """Make a tool call from columns of the call and its result, if there is one."""
    duration_us = None
    if result and result.created_us is not None and called_us is not None:
        duration_us = result.created_us - called_us
    return ToolCall(
        session=session,
        tool=tool,
        entry_id=entry_id,
        created_us=called_us,
        # A result that is older than its call says nothing about the duration.
        duration_us=None if duration_us is None or duration_us < 0 else duration_us,
        is_answered=result is not None,
        is_failed=bool(result and result.is_error),
    )


def _group_sql(by: StoreGrouping, usage_filter: UsageFilter) -> str:
    """Return SQL for the key of a message's group; NULL if the store cannot group."""
    match by:
        case "hour":
            return f"{usage_filter.local_us_sql} / {_HOUR_US}"
        case "day":
            return f"{usage_filter.local_us_sql} / {_DAY_US}"
        case "week":
            # The first day of 1970 was a Thursday; weeks begin on Monday.
            return f"({usage_filter.local_us_sql} / {_DAY_US} + 3) / 7"
        case "month":
            return (
                f"strftime('%Y-%m', {usage_filter.local_us_sql} / 1000000, 'unixepoch')"
            )
        case "model":
            return "model"
        case "agent":
            # The sign keeps SQLite from reading all rows in the order of an index,
            # which takes three times as long as reading the table and sorting.
            return "+agent"
        case _:
            return "NULL"


def _price_band_sql(price_breaks: PriceBreaks) -> Iterable[str]:
    """Yield SQL expressions whose values together identify a message's price band."""
    if price_breaks.sizes:
        yield " + ".join(
            f"({_REQUEST_TOKENS} > {size:d})" for size in price_breaks.sizes
        )
    if price_breaks.times:
        yield " + ".join(f"(created_us >= {time:d})" for time in price_breaks.times)
    if price_breaks.hours:
        yield " + ".join(
            f"(created_us % {_DAY_US} >= {hour:d})" for hour in price_breaks.hours
        )
