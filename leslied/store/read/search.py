"""Full-text and substring search over messages, thinking, tool calls and results."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from leslied.model.query import AnyOf
from leslied.model.record import MAIN, SessionKey
from leslied.model.times import from_us
from leslied.store.connection import translate_sqlite_errors
from leslied.store.fts_text import (
    INDEXED_TYPES,
    MAX_INDEXED_CHARACTERS,
    UNINDEXED_FROM,
    extract_strings,
)
from leslied.store.read.filter_sql import (
    ALWAYS_TRUE,
    compile_entry_filters,
    compile_is_hidden,
    compile_stream_filters,
    compile_tool_filters,
)
from leslied.store.read.match_sql import compile_fts_query, compile_like
from leslied.store.read.match_summary import CALLED_TOOL, load_summaries
from leslied.store.read.record_query import IS_VISIBLE
from leslied.store.read.unit_ids import find_chat_id
from leslied.store.sql import fetch_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime
    from pathlib import Path

    from leslied.model.query import Query, QueryPart
    from leslied.store.read.match_summary import MatchSummary

MAX_RANKED = 10_000
"""If more records match, only this many of the newest are ranked."""
_MAX_SORTED = 1_000
"""Up to this number of matches, all of them are sorted to find the newest."""
_MAPPED_BYTES = 2**31
"""Part of the store that is mapped into memory to rank matches. Ranking reads thousands
of records; with the mapping, that takes a third less time."""
_MAX_SCORED_ROWID_SPAN = 50_000
"""Matches whose row ids are further apart than this are not scored."""
_MAX_PRESELECTED = 5_000
"""Up to this number of candidate records, the search is restricted to them."""
_SEARCHED_TYPES = ", ".join(f"'{name}'" for name in sorted({*INDEXED_TYPES, "error"}))
_IS_SEARCHED = (
    f"(r.type IN ({_SEARCHED_TYPES}) OR r.type = 'system_event' AND r.tool_name <> '')"
)
"""Condition on records with a text that people see."""
_MIN_COUNTED_PREFIX = 3
"""Matches of a shorter prefix are not counted: that takes as long as finding them."""
_STEPS_PER_STOP_CHECK = 10_000
"""Instructions of SQLite's virtual machine between two calls of `should_stop`."""
_MAX_LIMIT = 2**62
"""Larger limits may not fit into SQLite's integers."""
_SELECT_MATCHES = "SELECT rowid FROM record_text WHERE record_text MATCH ?"


class _MatchRow(NamedTuple):
    """A row of _SELECT_MATCH."""

    agent: str
    session_id: str
    source: str
    session: int
    unit: int
    entry_id: bytes
    type: str
    created_us: int | None
    utc_offset: int
    spilled: str
    content: str
    tool_input: str
    tool_name: str
    """Tool of the call; for a result, the tool of the call that it answers."""


MAX_MATCH_CHARACTERS = MAX_INDEXED_CHARACTERS
"""Longest text of a match: a longer one is cut, so snippets come from its start."""
_MATCH_SQL = {
    "agent": "s.agent",
    "session_id": "s.session_id",
    "source": "s.source",
    "session": "p.session",
    "unit": "p.unit",
    "tool_name": CALLED_TOOL,
    **{
        name: f"substr(r.{name}, 1, {MAX_MATCH_CHARACTERS})"
        for name in ("spilled", "content")
    },
}
"""SQL for the fields of _MatchRow that are not whole columns of `record`."""
_SELECT_MATCH = (
    f"SELECT {', '.join(_MATCH_SQL.get(n, f'r.{n}') for n in _MatchRow._fields)} "
    "FROM placement p JOIN record r ON r.id = ? "
    "JOIN session s ON s.id = p.session WHERE p.id = ?"
)


class _FoundRow(NamedTuple):
    """A matching record, and its first placement in a matching stream."""

    record: int
    placement: int
    score: float | None = None


class Match(Struct, frozen=True, kw_only=True):
    """One matching record, with its text up to MAX_MATCH_CHARACTERS."""

    key: SessionKey
    chat_id: str
    """Chat id of the record's unit or subagent; empty before the first prompt."""
    entry_id: str
    type: str
    tool_name: str
    at: datetime | None
    text: str
    score: float | None
    """Relevance; higher is better. None if it was not computed."""


class Search:
    """One search query, compiled to SQL.

    Sessions without entries since `stop_cutoff_us` count as stopped.
    With `is_substring`, terms also match inside words.
    """

    def __init__(
        self,
        db: sqlite3.Connection,
        path: Path,
        query: Query,
        stop_cutoff_us: int,
        *,
        is_substring: bool,
    ) -> None:
        self._db = db
        self.path = path
        self._query = query
        self._fts_query = "" if is_substring else compile_fts_query(query.words)
        self._conditions: list[str] = ["r.is_current"]
        self._values: list[Any] = []
        if is_substring:
            self._add_condition(*compile_like(query.words))
        elif not self._fts_query:
            self._add_exclusions(query.words.excluded)
        if not self._fts_query:
            self._add_condition(_IS_SEARCHED)
        self._add_condition(*compile_entry_filters(query.filters))
        self._has_stream_filters = False
        """Whether the filters restrict the search to some streams."""
        if any(item.key == "tool" and not item.is_negated for item in query.filters):
            self._narrow_to_tools()
        self._placement_sql, self._placement_values = self._compile_placement(
            stop_cutoff_us
        )
        self.is_truncated = False
        """Whether there were too many matches to rank all of them."""
        self.is_stopped = False
        """Whether a scan was stopped before it had found all matches."""
        self._scanned_rows: dict[str, _FoundRow] = {}
        """The rows that the last scan found, by entry id."""

    @property
    def is_index_incomplete(self) -> bool:
        """Whether a first sync has not indexed its records yet."""
        query = "SELECT 1 FROM meta WHERE key = ?"
        return fetch_value(self._db, query, (UNINDEXED_FROM,)) is not None

    @translate_sqlite_errors
    def list_newest(self, limit: int) -> list[Match]:
        """Return the latest matching records; their score may be None."""
        rows = list(self._iter_newest(limit))
        scores = self._score([row.record for row in rows])
        return [
            self._load_match(row._replace(score=scores.get(row.record))) for row in rows
        ]

    @translate_sqlite_errors
    def list_best(self, limit: int) -> list[Match]:
        """Return the most relevant records; the latest if the query has no words."""
        if not self._fts_query:
            return self.list_newest(limit)
        self._db.execute(f"PRAGMA mmap_size = {_MAPPED_BYTES}")
        return [self._load_match(row) for row in self._iter_best(limit)]

    @translate_sqlite_errors
    def scan(
        self, limit: int, should_stop: Callable[[], bool], *, by_rank: bool
    ) -> list[MatchSummary]:
        """Return up to `limit` matching records without their texts.

        The latest come first or, with `by_rank`, the most relevant if the query has
        words. The scan ends early when `should_stop` returns True; `is_stopped` is then
        True.
        """
        is_ranked = by_rank and self._fts_query
        rows = self._iter_best(limit) if is_ranked else self._iter_newest(limit)
        found_rows = self._fetch_until(rows, should_stop)
        summaries = load_summaries(
            self._db, ((row.record, row.placement) for row in found_rows)
        )
        self._scanned_rows = {
            summary.entry_id: row
            for summary, row in zip(summaries, found_rows, strict=True)
        }
        return summaries

    @translate_sqlite_errors
    def load(self, summary: MatchSummary) -> Match:
        """Return the match of a summary from the last scan, with its text."""
        return self._load_match(self._scanned_rows[summary.entry_id])

    def _fetch_until(
        self, rows: Iterable[_FoundRow], should_stop: Callable[[], bool]
    ) -> list[_FoundRow]:
        """Return the rows that are found before `should_stop` returns True."""
        found_rows: list[_FoundRow] = []
        self._db.set_progress_handler(should_stop, _STEPS_PER_STOP_CHECK)
        try:
            found_rows.extend(rows)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
                raise
            self.is_stopped = True
        finally:
            self._db.set_progress_handler(None, 0)
        return found_rows

    def _iter_newest(self, limit: int) -> Iterator[_FoundRow]:
        """Yield the latest matching records, without a score."""
        match_condition = f"AND r.id IN ({_SELECT_MATCHES})" if self._fts_query else ""
        match_values = [self._fts_query] if self._fts_query else []
        values = (*self._placement_values, *self._values, *match_values)
        # The index over time makes SQLite walk back in time and stop at the limit. It
        # would walk through all records if few match.
        index = "NOT INDEXED" if self._has_few_matches() else "INDEXED BY record_time"
        rows = self._db.execute(
            f"SELECT r.id, {self._placement_sql} AS first_placement "
            f"FROM record r {index} "
            f"WHERE {' AND '.join(self._conditions)} {match_condition} "
            "AND first_placement IS NOT NULL "
            "ORDER BY r.created_us DESC, r.id DESC LIMIT ?",
            (*values, min(limit, _MAX_LIMIT)),
        )
        for record, placement in rows:
            yield _FoundRow(record, placement)

    def _iter_best(self, limit: int) -> Iterator[_FoundRow]:
        """Yield the most relevant records, with their scores."""
        conditions, values = list(self._conditions), list(self._values)
        if self._has_stream_filters:
            conditions.append(f"{self._placement_sql} IS NOT NULL")
            values += self._placement_values
        # Rank the newest matches; one more than MAX_RANKED shows that there are others.
        rows = self._db.execute(
            "WITH w AS MATERIALIZED (SELECT r.id, r.entry, bm25(record_text) AS score "
            "FROM record_text t CROSS JOIN record r ON r.id = t.rowid "
            f"WHERE record_text MATCH ? AND {' AND '.join(conditions)} "
            f"ORDER BY t.rowid DESC LIMIT {MAX_RANKED + 1}) "
            f"SELECT r.id, {self._placement_sql} AS first_placement, r.score, "
            "(SELECT count(*) FROM w) "
            "FROM w r WHERE first_placement IS NOT NULL ORDER BY r.score LIMIT ?",
            (self._fts_query, *values, *self._placement_values, min(limit, _MAX_LIMIT)),
        )
        for record, placement, score, count in rows:
            self.is_truncated = count > MAX_RANKED
            yield _FoundRow(record, placement, -score)

    def _has_few_matches(self) -> bool:
        """Return whether so few records match the words that they can be sorted."""
        if not self._fts_query or self._has_short_prefix():
            return False
        query = f"SELECT count(*) FROM ({_SELECT_MATCHES} LIMIT {_MAX_SORTED + 1})"
        (count,) = self._db.execute(query, (self._fts_query,)).fetchone()
        return bool(count <= _MAX_SORTED)

    def _has_short_prefix(self) -> bool:
        return any(
            term.is_prefix and len(term.text) < _MIN_COUNTED_PREFIX
            for term in self._query.terms
        )

    def _score(self, record_ids: list[int]) -> dict[int, float]:
        """Return scores by record id; {} if the ids are too far apart to be fast."""
        if not self._fts_query or not record_ids:
            return {}
        first, last = min(record_ids), max(record_ids)
        if last - first > _MAX_SCORED_ROWID_SPAN:
            return {}
        rows = self._db.execute(
            "SELECT rowid, -bm25(record_text) FROM record_text "
            "WHERE record_text MATCH ? AND rowid BETWEEN ? AND ?",
            (self._fts_query, first, last),
        )
        return dict(rows.fetchall())

    def _add_condition(self, condition: str, values: Iterable[Any] = ()) -> None:
        self._conditions.append(condition)
        self._values += values

    def _add_exclusions(self, parts: Iterable[QueryPart]) -> None:
        """Exclude the records that match any of the parts."""
        excluded = compile_fts_query(AnyOf(tuple(parts)))
        if excluded:
            self._add_condition(f"r.id NOT IN ({_SELECT_MATCHES})", [excluded])

    def _compile_placement(self, stop_cutoff_us: int) -> tuple[str, list[Any]]:
        """Compile SQL for the record's first placement in a matching stream.

        If filters restrict the streams, restrict the search to them too.
        """
        where, values = compile_stream_filters(self._query.filters, stop_cutoff_us)
        if where != ALWAYS_TRUE:
            self._has_stream_filters = True
            # Finding the streams takes long if there are many sessions, so it is done
            # once, and not for every part of a statement that needs them.
            streams = self._narrow_to_streams(where, values)
            # With `+`, SQLite does not begin with the streams, which may be many.
            where, values = "+s.id IN (SELECT value FROM json_each(?))", [streams]
        if not self._query.with_hidden:
            where = f"{where} AND NOT {compile_is_hidden('s')}"
        first_placement = (
            "(SELECT min(p.id) FROM placement p JOIN session s ON s.id = p.session "
            f"WHERE p.entry = r.entry AND {IS_VISIBLE} AND {where})"
        )
        return first_placement, values

    def _narrow_to_streams(self, where: str, values: list[Any]) -> str:
        """Search only the entries of matching streams if there are few entries.

        Return the row ids of these streams as JSON.
        """
        rows = self._db.execute(
            f"SELECT s.id, s.entries FROM session s WHERE {where}", values
        ).fetchall()
        if sum(entries for _, entries in rows) < _MAX_PRESELECTED:
            ids = ", ".join(f"{session:d}" for session, _ in rows)
            self._add_condition(
                "r.id IN (SELECT n.id FROM placement q JOIN record n "
                f"ON n.entry = q.entry WHERE q.session IN ({ids}))"
            )
        return json.dumps([session for session, _ in rows])

    def _narrow_to_tools(self) -> None:
        """Search only calls and results of matching tools if there are few calls."""
        where, values = compile_tool_filters(self._query.filters)
        calls = f"FROM record c WHERE c.type = 'tool_use' AND {where}"
        (count,) = self._db.execute(f"SELECT count(*) {calls}", values).fetchone()
        if count < _MAX_PRESELECTED:
            self._add_condition(
                f"r.id IN (SELECT c.id {calls} UNION ALL SELECT x.id FROM record x "
                "WHERE x.type = 'tool_result' AND x.tool_call_id IN "
                f"(SELECT c.tool_call_id {calls}))",
                values * 2,
            )

    def _load_match(self, found_row: _FoundRow) -> Match:
        values = self._db.execute(
            _SELECT_MATCH, (found_row.record, found_row.placement)
        ).fetchone()
        row = _MatchRow(*values)
        created_us = row.created_us
        key = SessionKey(row.agent, row.session_id, row.source)
        call_text = f"{row.tool_name} {extract_strings(row.tool_input)}"
        return Match(
            key=key,
            chat_id=self._find_chat_id(key, row.session, row.unit),
            entry_id=row.entry_id.hex(),
            type=row.type,
            tool_name=row.tool_name,
            at=from_us(created_us, row.utc_offset) if created_us is not None else None,
            text=row.spilled or row.content or call_text,
            score=found_row.score,
        )

    def _find_chat_id(self, key: SessionKey, session: int, unit: int) -> str:
        """Return the id of a unit or subagent; "" before the first prompt."""
        has_chat_id = unit or key.source != MAIN
        return find_chat_id(self._db, session, unit) if has_chat_id else ""
