"""Tokens and tool calls by group: the sums that statistics are made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from leslied.model.record import MAIN, Usage
from leslied.model.stats import PriceBreaks, ToolCall, UsageBucket
from leslied.store.connection import translate_sqlite_errors
from leslied.store.ownership import Ownership

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable
    from pathlib import Path

    from leslied.model.stats import Grouping

_DAY_US = 86_400_000_000
_COUNTS = Usage.__struct_fields__
_REQUEST_TOKENS = (
    "CASE WHEN is_sum THEN 0 "
    "ELSE input_tokens + cache_read_tokens + cache_write_tokens END"
)
_SUMS = ", ".join(f"CAST(total({name}) AS INTEGER)" for name in _COUNTS)


@dataclass(frozen=True, slots=True)
class UsageFilter:
    """Which messages and calls count, and what their local time is."""

    agent: str = ""
    since_us: int | None = None
    until_us: int | None = None
    """Before this, not at it."""
    session_id: str = ""
    """Only what this session and its subagents were the first to show."""
    streams: tuple[int, ...] = ()
    """Only what one of these shows."""
    utc_offsets: tuple[tuple[int, int], ...] = ((0, 0),)
    """The local time's distance from UTC, each from a moment on, the earliest first."""

    def to_sql(self, time_column: str, agent_column: str) -> tuple[str, list[Any]]:
        """The WHERE clause over these columns, with its values."""
        tests = {
            f"{agent_column} = ?": self.agent or None,
            f"{time_column} >= ?": self.since_us,
            f"{time_column} < ?": self.until_us,
            "session IN (SELECT id FROM session WHERE session_id = ?)": (
                self.session_id or None
            ),
        }
        held = {test: value for test, value in tests.items() if value is not None}
        shown = [self._shown_sql] if self.streams else []
        return " AND ".join([*held, *shown]) or "1", list(held.values())

    @property
    def _shown_sql(self) -> str:
        """SQL for whether one of the streams shows a message."""
        named = f"session IN ({', '.join(f'{row:d}' for row in self.streams)})"
        return f"({named} OR id IN (SELECT usage FROM usage_share WHERE {named}))"

    @property
    def local_us_sql(self) -> str:
        """SQL for a message's local time."""
        (_, first), *later = self.utc_offsets
        shift = str(first)
        for start, offset in later:
            shift = (
                f"CASE WHEN created_us >= {start:d} THEN {offset:d} ELSE {shift} END"
            )
        return f"(created_us + {shift})"


class StreamInfo(NamedTuple):
    """Whose a stream is, and where it worked."""

    agent: str
    session_id: str
    is_main: bool
    cwd: str


class UsageQueries:
    """What can be counted; each message and each call counts once."""

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db = db
        self.path = path

    @translate_sqlite_errors
    def group_usage(
        self,
        by: Grouping,
        usage_filter: UsageFilter,
        cuts: PriceBreaks,
        *,
        with_sessions: bool,
    ) -> list[UsageBucket]:
        """The messages by group, model and price."""
        session = self._owner_sql if with_sessions else "0"
        where, values = usage_filter.to_sql("created_us", "agent")
        bands = "".join(f", {band}" for band in _price_band_sql(cuts))
        rows = self._db.execute(
            f"SELECT {_group_sql(by, usage_filter)}, {session}, agent, model, count(*), "
            f"max({_REQUEST_TOKENS}), min(created_us), max(created_us), {_SUMS} FROM usage "
            f"WHERE {where} GROUP BY 1, 2, 3, 4{bands}",
            values,
        )
        return [UsageBucket._make((*row[:8], Usage(*row[8:]))) for row in rows]

    @translate_sqlite_errors
    def list_messages(self, usage_filter: UsageFilter) -> list[UsageBucket]:
        """Every message that has a time on its own, the earliest first."""
        where, values = usage_filter.to_sql("created_us", "agent")
        rows = self._db.execute(
            f"SELECT NULL, {self._owner_sql}, agent, model, 1, {_REQUEST_TOKENS}, created_us, "
            f"created_us, {', '.join(_COUNTS)} FROM usage "
            f"WHERE created_us IS NOT NULL AND {where} ORDER BY created_us, id",
            values,
        )
        return [UsageBucket._make((*row[:8], Usage(*row[8:]))) for row in rows]

    @translate_sqlite_errors
    def list_owners(
        self, by: Grouping, usage_filter: UsageFilter
    ) -> list[tuple[Any, int]]:
        """Each group with each of the streams that own messages in it."""
        where, values = usage_filter.to_sql("created_us", "agent")
        return self._db.execute(
            f"SELECT DISTINCT {_group_sql(by, usage_filter)}, {self._owner_sql} FROM usage WHERE {where}",
            values,
        ).fetchall()

    @translate_sqlite_errors
    def list_models(self) -> list[str]:
        """Every model that messages came from."""
        rows = self._db.execute("SELECT DISTINCT model FROM usage")
        return [row[0] for row in rows]

    @translate_sqlite_errors
    def get_time_range(self) -> tuple[int, int]:
        """When the first and the last message came."""
        # Two questions: each is one step in the index.
        first, last = (
            self._db.execute(f"SELECT {end}(created_us) FROM usage").fetchone()[0]
            for end in ("min", "max")
        )
        return first or 0, last or 0

    @translate_sqlite_errors
    def find_parents(self) -> dict[int, int]:
        """For every subagent the session it counts for.

        Where that one's log is gone, it is the first of its subagents.
        """
        same = "FROM session o WHERE o.agent = s.agent AND o.session_id = s.session_id"
        rows = self._db.execute(
            f"SELECT s.id, ifnull((SELECT o.id {same} AND o.source = '{MAIN}'), "
            f"(SELECT min(o.id) {same})) FROM session s WHERE s.source <> '{MAIN}'"
        )
        return dict(rows.fetchall())

    @translate_sqlite_errors
    def list_streams(self) -> dict[int, StreamInfo]:
        """Every session and subagent, by the store's number."""
        rows = self._db.execute(
            f"SELECT id, agent, session_id, source = '{MAIN}', cwd FROM session"
        )
        return {
            row[0]: StreamInfo(row[1], row[2], bool(row[3]), row[4]) for row in rows
        }

    @translate_sqlite_errors
    def list_tool_calls(self, usage_filter: UsageFilter) -> list[ToolCall]:
        """Every call of a tool with what became of it; forks' copies count once."""
        calls = self._query_entries("tool_use", "r.tool_name, r.entry_id", usage_filter)
        # The time is the call's: a result may come after the span's end.
        failed = (
            "CASE WHEN r.metadata <> '' THEN json_extract(r.metadata, '$.is_error') END"
        )
        results = {
            row[:2]: row[2:]
            for row in self._query_entries(
                "tool_result", failed, UsageFilter(usage_filter.agent)
            )
        }
        return [_make_tool_call(row, results.get(row[:2])) for row in calls]

    def _query_entries(
        self, kind: str, columns: str, usage_filter: UsageFilter
    ) -> Iterable[tuple[Any, ...]]:
        """First session, call id, time and these columns of each current entry."""
        where, values = usage_filter.to_sql("r.created_us", "s.agent")
        return self._db.execute(
            f"SELECT min(p.session), r.tool_call_id, r.created_us, {columns} "
            "FROM record r JOIN placement p ON p.entry = r.entry "
            "JOIN session s ON s.id = p.session "
            f"WHERE r.type = '{kind}' AND r.is_current AND {where} "
            "AND (p.is_copy = 0 OR s.originals = 0) GROUP BY r.id",
            values,
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


def _make_tool_call(row: tuple[Any, ...], result: tuple[Any, ...] | None) -> ToolCall:
    session, _, asked, tool, entry_id = row
    answered = result[0] if result else None
    took = answered - asked if answered is not None and asked is not None else -1
    return ToolCall(
        session=session,
        tool=tool,
        entry_id=entry_id,
        created_us=asked,
        took_us=took if took >= 0 else None,
        is_answered=result is not None,
        is_failed=bool(result and result[1]),
    )


def _group_sql(by: Grouping, usage_filter: UsageFilter) -> str:
    match by:
        case "day":
            return f"{usage_filter.local_us_sql} / {_DAY_US}"
        case "week":
            # The first day of 1970 was a Thursday; weeks begin on Monday.
            return f"({usage_filter.local_us_sql} / {_DAY_US} + 3) / 7"
        case "month":
            return (
                f"strftime('%Y-%m', {usage_filter.local_us_sql} / 1000000, 'unixepoch')"
            )
        case "model" | "agent":
            return by
        case _:
            return "NULL"


def _price_band_sql(cuts: PriceBreaks) -> Iterable[str]:
    """SQL for the number of the stretch between cuts that a message lies in."""
    if cuts.sizes:
        yield " + ".join(f"({_REQUEST_TOKENS} > {size:d})" for size in cuts.sizes)
    if cuts.times:
        yield " + ".join(f"(created_us >= {time:d})" for time in cuts.times)
    if cuts.hours:
        yield " + ".join(f"(created_us % {_DAY_US} >= {h:d})" for h in cuts.hours)
