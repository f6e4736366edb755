"""Read-only access to sessions, records and source state."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Self

from msgspec.structs import replace

from leslied.model.record import MAIN, PlacedRecord, SessionKey, Usage
from leslied.model.session import SessionSummary
from leslied.store.agents import summarize_agents
from leslied.store.change_feed import ChangeFeed
from leslied.store.columns import from_us
from leslied.store.connection import open_reader, translate_sqlite_errors
from leslied.store.failure_ledger import FailureLedger
from leslied.store.fts_text import truncate_text
from leslied.store.record_query import IS_SHOWN, SELECT_RECORDS, unpack_placed_record
from leslied.store.search import Search
from leslied.store.session_queries import (
    find_entries_by_prefix,
    find_sessions_by_prefix,
    list_agent_names,
    select_sessions,
)
from leslied.store.unit_ids import (
    find_chat_id,
    find_unit_zero_by_prefix,
    find_units_by_prefix,
)
from leslied.store.usage_queries import UsageQueries
from leslied.store.usage_totals import UsageTotals

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from pathlib import Path

    from leslied.model.failure import Failure
    from leslied.model.query import Query, Selection
    from leslied.model.session import Unit
    from leslied.store.session_queries import SessionGroup
    from leslied.store.size_queries import SizeQueries

_SUMMARY_COLUMNS = (
    "id, agent, session_id, source, thread_id, title, first_prompt, cwd, model, "
    "started_us, ended_us, units, CASE WHEN originals "
    "THEN tool_calls ELSE copied_calls END, "
    "has_turn_ended, stopped_us, spawn_call_id, parent_agent, agent_type, "
    "description, seen_us, folder, is_live"
)
_TITLE_CHARACTERS = 80
_MAX_GROUP_QUERIES = 500
"""For more groups than this, one query over all sessions is faster."""
_PREFIX_CHARACTERS = 8


class StoreReader:
    """Read-only connection to the store. Use it as a context manager."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db = open_reader(path)
        self._totals = UsageTotals(self._db)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    @translate_sqlite_errors
    def select_sessions(self, selection: Selection) -> list[SessionGroup]:
        """Return the selected sessions, in the selected order."""
        return select_sessions(self._db, selection)

    @translate_sqlite_errors
    def list_similar_ids(self, ids: Collection[str]) -> list[str]:
        """List ids of sessions and subagents that share a prefix with one of these."""
        prefixes = json.dumps(sorted({name[:_PREFIX_CHARACTERS] for name in ids}))
        rows = self._db.execute(
            "WITH start AS MATERIALIZED (SELECT value FROM json_each(?)) "
            "SELECT session_id, source FROM session WHERE entries > 0 AND "
            f"(substr(session_id, 1, {_PREFIX_CHARACTERS}) IN start OR "
            f"substr(source, instr(source, ':') + 1, {_PREFIX_CHARACTERS}) IN start)",
            (prefixes,),
        )
        keys = [SessionKey("", *row) for row in rows]
        names = (name for key in keys for name in (key.session_id, key.subagent_id))
        return list(filter(None, names))

    @translate_sqlite_errors
    def list_sessions(
        self, groups: Sequence[SessionGroup] | None = None
    ) -> list[SessionSummary]:
        """List all sessions and subagents with entries, or those of these groups.

        The last active one is first.
        """
        rows = self._load_summary_rows(groups)
        usage = self._totals.get_by_stream([row[0] for row in rows])
        sessions = [_summarize(row, usage.get(row[0], Usage())) for row in rows]
        sessions.sort(key=lambda session: session.recency, reverse=True)
        return sessions

    def _load_summary_rows(
        self, groups: Sequence[SessionGroup] | None
    ) -> list[tuple[Any, ...]]:
        query = f"SELECT {_SUMMARY_COLUMNS} FROM session WHERE entries > 0"
        if groups is not None and len(groups) <= _MAX_GROUP_QUERIES:
            group_query = f"{query} AND agent = ? AND session_id = ?"
            results = (self._db.execute(group_query, group) for group in groups)
            return [row for rows in results for row in rows]
        rows = self._db.execute(query).fetchall()
        if groups is None:
            return rows
        selected = set(groups)
        return [row for row in rows if row[1:3] in selected]

    @property
    def usage(self) -> UsageQueries:
        """Queries over tokens and tool calls."""
        return UsageQueries(self._db, self.path)

    @property
    def change_feed(self) -> ChangeFeed:
        """Feed of new records and stopped sessions."""
        return ChangeFeed(self._db, self.path)

    @property
    def sizes(self) -> SizeQueries:
        """Queries over sizes in bytes."""
        from leslied.store.size_queries import SizeQueries  # noqa: PLC0415 - rare

        return SizeQueries(self._db, self.path)

    @translate_sqlite_errors
    def find_session(self, key: SessionKey) -> SessionSummary | None:
        """Find a session or subagent; return None if it has no entries."""
        row = self._db.execute(
            f"SELECT {_SUMMARY_COLUMNS} FROM session WHERE entries > 0 "
            "AND agent = ? AND session_id = ? AND source = ?",
            key,
        ).fetchone()
        return _summarize(row, Usage()) if row else None

    @translate_sqlite_errors
    def list_subagents(self, key: SessionKey) -> list[SessionSummary]:
        """List the subagents in a session's own folder, in the order they were seen."""
        rows = self._db.execute(
            f"SELECT {_SUMMARY_COLUMNS} FROM session WHERE entries > 0 "
            "AND source <> 'main' AND agent = ? AND session_id = ? ORDER BY id",
            key[:2],
        )
        return [_summarize(row, Usage()) for row in rows]

    @translate_sqlite_errors
    def list_children(self, parent: SessionSummary) -> list[SessionSummary]:
        """List the subagents of a session, and those that its calls spawned."""
        calls = (
            "SELECT r.tool_call_id FROM placement p JOIN record r ON r.entry = p.entry "
            "WHERE p.session = ? AND r.type = 'tool_use'"
        )
        rows = self._db.execute(
            f"SELECT {_SUMMARY_COLUMNS} FROM session WHERE entries > 0 "
            "AND source <> 'main' AND agent = ? AND (session_id = ? "
            f"OR spawn_call_id <> '' AND spawn_call_id IN ({calls})) ORDER BY id",
            (parent.key.agent, parent.key.session_id, parent.row),
        ).fetchall()
        usage = self._totals.get_by_stream([row[0] for row in rows])
        return [_summarize(row, usage.get(row[0], Usage())) for row in rows]

    @translate_sqlite_errors
    def list_records(self, session: int, unit: int | None = None) -> list[PlacedRecord]:
        """List current records of a stream in order, numbered without gaps."""
        in_unit = "" if unit is None else f"AND p.unit = {unit:d}"
        query = (
            f"{SELECT_RECORDS} WHERE p.session = ? {in_unit} AND {IS_SHOWN} "
            "ORDER BY p.id"
        )
        rows = self._db.execute(query, (session,)).fetchall()
        before = self._count_before(session, unit) if unit else 0
        return [unpack_placed_record(row, before + n) for n, row in enumerate(rows, 1)]

    @translate_sqlite_errors
    def find_session_by_row(self, row: int) -> SessionSummary | None:
        """Find the stream with this row id; return None if it has no entries."""
        values = self._db.execute(
            f"SELECT {_SUMMARY_COLUMNS} FROM session WHERE entries > 0 AND id = ?",
            (row,),
        ).fetchone()
        return _summarize(values, Usage()) if values else None

    @translate_sqlite_errors
    def list_tool_calls(
        self, session: int, unit: int, words: Sequence[str], tools: Sequence[str]
    ) -> list[PlacedRecord]:
        """List calls of a unit whose input contains a word, or of one of the tools.

        Include their results, and events that set the working directory. The records
        have no sequence number.
        """
        has_word = " OR ".join(["instr(r.tool_input, ?)"] * len(words))
        tool_marks = ", ".join("?" * len(tools))
        call = f"r.type = 'tool_use' AND (r.tool_name IN ({tool_marks}) OR {has_word})"
        in_unit = f"p.session = ? AND p.unit = ? AND {IS_SHOWN}"
        rows = self._db.execute(
            f"{SELECT_RECORDS} WHERE {in_unit} AND ({call} OR r.type = 'system_event' "
            "AND instr(r.metadata, '\"cwd\"'))",
            (session, unit, *tools, *words),
        ).fetchall()
        records = [unpack_placed_record(row, 0) for row in rows]
        ids = [p.record.tool_call_id for p in records if p.record.type == "tool_use"]
        results = (
            f"{SELECT_RECORDS} WHERE {in_unit} AND r.type = 'tool_result' "
            "AND r.tool_call_id"
        )
        for start in range(0, len(ids), 500):
            batch = ids[start : start + 500]
            marks = ", ".join("?" * len(batch))
            query = f"{results} IN ({marks})"
            rows = self._db.execute(query, (session, unit, *batch)).fetchall()
            records += [unpack_placed_record(row, 0) for row in rows]
        return sorted(records, key=lambda placed: placed.placement)

    @translate_sqlite_errors
    def find_chat_id(self, session: SessionSummary, unit: int) -> str:
        """Return the chat id of a unit or of a whole subagent; "" if it has none."""
        return find_chat_id(self._db, session.key, session.row, unit)

    @translate_sqlite_errors
    def find_transcript_paths(self, session: int) -> dict[int, str]:
        """Return the paths of the transcripts of a stream that exist, by unit."""
        rows = self._db.execute(
            "SELECT unit, folder, file FROM transcript "
            "WHERE session = ? AND newest > 0 AND NOT is_removed",
            (session,),
        )
        return {unit: f"{os.fsdecode(folder)}/{file}" for unit, folder, file in rows}

    def add_transcript_paths(self, unit: Unit) -> Unit:
        """Return the unit and its subagents with the paths of their transcripts."""
        path = self.find_transcript_paths(unit.summary.row).get(unit.number, "")
        subagents = tuple(self.add_transcript_paths(child) for child in unit.subagents)
        return replace(unit, transcript=path, subagents=subagents)

    def _count_before(self, session: int, unit: int) -> int:
        query = (
            "SELECT count(*) FROM placement p JOIN session s ON s.id = p.session "
            f"WHERE p.session = ? AND p.unit < ? AND {IS_SHOWN}"
        )
        return self._count(query, (session, unit))

    @translate_sqlite_errors
    def search(
        self, query: Query, quiet_us: int = 0, *, is_substring: bool = False
    ) -> Search:
        """Prepare a search; call its methods to get matches."""
        return Search(self._db, self.path, query, quiet_us, is_substring=is_substring)

    @translate_sqlite_errors
    def find_sessions_by_prefix(self, prefix: str) -> list[tuple[SessionKey, str]]:
        """Find streams whose session, thread or own id has this prefix.

        Return each with its thread id.
        """
        return find_sessions_by_prefix(self._db, prefix)

    @translate_sqlite_errors
    def find_units_by_prefix(self, prefix: str) -> list[tuple[int, int, str]]:
        """Find units by prefix of the chat id, as (session row, unit, chat id)."""
        return find_units_by_prefix(self._db, prefix)

    @translate_sqlite_errors
    def find_unit_zero_by_prefix(self, prefix: str) -> list[tuple[int, int, str]]:
        """Find subagents, and units before the first prompt, as above."""
        return find_unit_zero_by_prefix(self._db, prefix)

    @translate_sqlite_errors
    def find_entries_by_prefix(self, prefix: str) -> list[tuple[SessionKey, str]]:
        """Find entries by prefix of the id, each with the first stream showing it."""
        return find_entries_by_prefix(self._db, prefix)

    @translate_sqlite_errors
    def list_agent_names(self) -> list[str]:
        """List the agents that have sessions."""
        return list_agent_names(self._db)

    @translate_sqlite_errors
    def summarize_agents(self) -> list[dict[str, Any]]:
        """Summarize each agent: sources, newest times, rejected entries, errors."""
        return summarize_agents(self._db)

    @translate_sqlite_errors
    def check_integrity(self) -> str:
        """Return the damage that SQLite finds in the file; "" if there is none."""
        rows = self._db.execute("PRAGMA quick_check(3)").fetchall()
        damage = "; ".join(row[0] for row in rows)
        return "" if damage == "ok" else damage

    @translate_sqlite_errors
    def count_rows(self) -> dict[str, int]:
        """Count records, sessions, subagents, noise and rejections."""
        tables = {
            "records": "SELECT count(*) FROM record WHERE is_current",
            "sessions": "SELECT count(*) FROM session WHERE entries > 0 "
            f"AND source = '{MAIN}'",
            "subagents": "SELECT count(*) FROM session WHERE entries > 0 "
            f"AND source <> '{MAIN}'",
            "noise": "SELECT count(*) FROM noise",
            "rejected": "SELECT count(*) FROM rejected",
        }
        return {name: self._count(query, ()) for name, query in tables.items()}

    @translate_sqlite_errors
    def list_rejected(self, limit: int) -> list[dict[str, Any]]:
        """List rejected entries with their position and the reason."""
        rows = self._db.execute(
            "SELECT s.agent, s.path, j.offset, j.length, j.reason FROM rejected j "
            "JOIN source s ON s.id = j.source ORDER BY s.path, j.offset LIMIT ?",
            (limit,),
        )
        names = ("agent", "path", "offset", "length", "reason")
        rejected = [dict(zip(names, row, strict=True)) for row in rows]
        return [{**item, "path": os.fsdecode(item["path"])} for item in rejected]

    @translate_sqlite_errors
    def list_source_errors(self) -> list[tuple[str, str]]:
        """List sources that could not be read at the last scan, with the reason.

        A reason that starts with `WAITING` is not an error: the source is held back.
        """
        rows = self._db.execute(
            "SELECT path, trouble FROM source WHERE trouble <> '' AND NOT is_gone"
        )
        return [(os.fsdecode(path), reason) for path, reason in rows]

    @translate_sqlite_errors
    def failures(self) -> list[Failure]:
        """Return work that failed unexpectedly and is tried again later."""
        return FailureLedger(self._db).list()

    def _count(self, query: str, values: Iterable[Any]) -> int:
        return int(self._db.execute(query, tuple(values)).fetchone()[0])

    @translate_sqlite_errors
    def sum_usage(self, sessions: Collection[int]) -> Usage:
        """Return the sum of the tokens of these streams."""
        totals = self._totals.get_by_stream(sessions)
        return sum((totals[row] for row in sessions if row in totals), Usage())


def _summarize(row: tuple[Any, ...], usage: Usage) -> SessionSummary:
    title = row[5] or _first_line(row[6]) or row[18]
    return SessionSummary(
        row=row[0],
        key=SessionKey(*row[1:4]),
        thread_id=row[4],
        title=title,
        cwd=row[7],
        model=row[8],
        started_at=from_us(row[9]) if row[9] is not None else None,
        ended_at=from_us(row[10]) if row[10] is not None else None,
        units=row[11],
        tool_calls=row[12],
        has_turn_ended=bool(row[13]),
        is_stopped=row[14] is not None,
        spawn_call_id=row[15],
        parent_agent=row[16],
        agent_type=row[17],
        description=row[18],
        seen_at=from_us(row[19]) if row[19] else None,
        folder=os.fsdecode(row[20]),
        is_live=bool(row[21]),
        usage=usage,
    )


def _first_line(text: str) -> str:
    line = text.strip().split("\n", 1)[0]
    return truncate_text(line, _TITLE_CHARACTERS)
