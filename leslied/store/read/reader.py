"""Read-only access to sessions, records and source state."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Self

from msgspec.structs import replace

from leslied.model.record import MAIN, PlacedRecord, SessionKey, Usage
from leslied.model.source import SourceProblem
from leslied.sessions.rewinds import count_current
from leslied.store import read
from leslied.store.connection import open_reader, translate_sqlite_errors
from leslied.store.ledgers.failures import FailureLedger
from leslied.store.read.agents import summarize_agents
from leslied.store.read.filter_sql import IS_HIDDEN
from leslied.store.read.question_groups import QuestionGroups
from leslied.store.read.record_query import (
    IS_VISIBLE,
    SELECT_RECORDS,
    unpack_placed_record,
)
from leslied.store.read.session_queries import (
    count_hidden_sessions,
    count_sessions,
    find_entries_by_prefix,
    find_sessions_by_prefix,
    list_agent_names,
    select_sessions,
)
from leslied.store.read.session_summary import (
    SELECT_SUMMARIES,
    SummaryRow,
    make_summary,
)
from leslied.store.read.unit_ids import (
    find_chat_id,
    find_unit_zero_by_prefix,
    find_units_by_prefix,
)
from leslied.store.read.usage_totals import UsageTotals
from leslied.store.sql import fetch_column, fetch_value, select_in_batches
from leslied.store.streams import IS_STREAM, find_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from pathlib import Path

    from leslied.model.failure import Failure
    from leslied.model.query import Query, Selection
    from leslied.model.session import SessionSummary, Unit
    from leslied.store.read.session_queries import SessionGroup
    from leslied.store.read.unit_ids import UnitId

_MAX_GROUP_QUERIES = 500
"""For more groups than this, one query over all sessions is faster."""
_PREFIX_CHARACTERS = 8
"""Ids that have this many first characters in common are similar."""


class StoreReader(QuestionGroups):
    """Read-only connection to the store. Use it as a context manager."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db = open_reader(path)
        self._db.create_function("count_current", 2, count_current, deterministic=True)
        self._totals = UsageTotals(self._db)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def set_interrupt(self, should_stop: Callable[[], bool]) -> None:
        """Interrupt every query during which this function returns True."""
        self._db.set_progress_handler(should_stop, 20_000)

    @translate_sqlite_errors
    def select_sessions(self, selection: Selection) -> list[SessionGroup]:
        """Return the selected sessions, in the selected order."""
        return select_sessions(self._db, selection)

    @translate_sqlite_errors
    def count_hidden_sessions(self, selection: Selection) -> int:
        """Return the number of sessions that match the filters and are hidden."""
        return count_hidden_sessions(self._db, selection)

    @translate_sqlite_errors
    def list_similar_ids(self, ids: Collection[str]) -> list[str]:
        """List ids of sessions and subagents that begin like one of these ids."""
        prefixes = json.dumps(sorted({text[:_PREFIX_CHARACTERS] for text in ids}))
        rows = self._db.execute(
            "WITH start AS MATERIALIZED (SELECT value FROM json_each(?)) "
            "SELECT session_id, source FROM session WHERE entries > 0 AND "
            f"(substr(session_id, 1, {_PREFIX_CHARACTERS}) IN start "
            f"OR (source <> '{MAIN}' AND "
            f"substr(source, instr(source, ':') + 1, {_PREFIX_CHARACTERS}) IN start))",
            (prefixes,),
        )
        similar_ids: list[str] = []
        for row in rows:
            key = SessionKey("", *row)
            similar_ids += filter(None, (key.session_id, key.subagent_id))
        return similar_ids

    @translate_sqlite_errors
    def list_sessions(
        self, groups: Sequence[SessionGroup] | None = None
    ) -> list[SessionSummary]:
        """List the sessions and subagents that have entries, last active first.

        `groups` restricts the list to these sessions and their subagents.
        """
        sessions = self._add_usage(self._load_summary_rows(groups))
        sessions.sort(key=lambda session: session.recency, reverse=True)
        return sessions

    def _load_summary_rows(
        self, groups: Sequence[SessionGroup] | None
    ) -> list[SummaryRow]:
        if groups is not None and len(groups) <= _MAX_GROUP_QUERIES:
            condition = "agent = ? AND session_id = ?"
            results = (self._select_summaries(condition, group) for group in groups)
            return [row for rows in results for row in rows]
        rows = self._select_summaries("1")
        if groups is None:
            return rows
        selected = set(groups)
        return [row for row in rows if (row.agent, row.session_id) in selected]

    def _select_summaries(
        self, condition: str, values: Iterable[Any] = ()
    ) -> list[SummaryRow]:
        query = f"{SELECT_SUMMARIES} AND {condition}"
        return [SummaryRow(*row) for row in self._db.execute(query, tuple(values))]

    def _add_usage(self, rows: Sequence[SummaryRow]) -> list[SessionSummary]:
        """Return the summaries of these rows, with the tokens of each stream."""
        usage = self._totals.get_by_stream([row.id for row in rows])
        return [make_summary(row, usage.get(row.id, Usage())) for row in rows]

    @translate_sqlite_errors
    def find_session(self, key: SessionKey) -> SessionSummary | None:
        """Find a session or subagent; return None if it has no entries.

        The usage in the summary is empty.
        """
        rows = self._select_summaries(IS_STREAM, key)
        return next((make_summary(row, Usage()) for row in rows), None)

    @translate_sqlite_errors
    def list_subagents(self, key: SessionKey) -> list[SessionSummary]:
        """List the subagents with this session id, in the order they were first read.

        The usage in the summaries is empty.
        """
        rows = self._select_summaries(
            "source <> 'main' AND agent = ? AND session_id = ? ORDER BY id",
            (key.agent, key.session_id),
        )
        return [make_summary(row, Usage()) for row in rows]

    @translate_sqlite_errors
    def list_children(self, parent: SessionSummary) -> list[SessionSummary]:
        """List the subagents of a session.

        Include subagents with another session id that a call of the session spawned.
        """
        calls = (
            "SELECT r.tool_call_id FROM placement p JOIN record r ON r.entry = p.entry "
            "WHERE p.session = ? AND r.type = 'tool_use'"
        )
        stream = find_stream(self._db, parent.stream)
        rows = self._select_summaries(
            "source <> 'main' AND agent = ? AND (session_id = ? "
            f"OR spawn_call_id <> '' AND spawn_call_id IN ({calls})) ORDER BY id",
            (parent.key.agent, parent.key.session_id, stream),
        )
        return self._add_usage(rows)

    @translate_sqlite_errors
    def list_records(
        self,
        key: SessionKey,
        unit: int | None = None,
        *,
        with_sequence: bool = True,
        transform: Callable[[PlacedRecord], PlacedRecord] = lambda placed: placed,
    ) -> list[PlacedRecord]:
        """List the current records of a stream or unit, with sequence numbers.

        Units come one after the other, also if two processes wrote them at once.
        Without `with_sequence`, the numbers begin at 1 in each unit, which saves
        counting the entries of all earlier units. `transform` is applied to each record
        before the next one is read, so that it can drop texts.
        """
        session = find_stream(self._db, key)
        unit_condition = "" if unit is None else f"AND p.unit = {unit:d}"
        query = (
            f"{SELECT_RECORDS} WHERE p.session = ? {unit_condition} AND {IS_VISIBLE} "
            "ORDER BY p.unit, p.id"
        )
        first_sequence = 1
        if unit and with_sequence:
            first_sequence += self._count_records_before(session, unit)
        rows = self._db.execute(query, (session,))
        return [
            transform(unpack_placed_record(row, sequence))
            for sequence, row in enumerate(rows, first_sequence)
        ]

    @translate_sqlite_errors
    def load_text(self, read_order: int, column: str) -> str:
        """Return a text column of the record with this place in the reading order."""
        query = (
            f"SELECT r.{column} FROM placement p "
            "JOIN record r ON r.entry = p.entry AND r.is_current = 1 WHERE p.id = ?"
        )
        return str(fetch_value(self._db, query, (read_order,), default=""))

    @translate_sqlite_errors
    def list_tool_calls(
        self, key: SessionKey, unit: int, words: Sequence[str], tools: Sequence[str]
    ) -> list[PlacedRecord]:
        """List a unit's calls of these tools or with one of these words in the input.

        Include the results of these calls, and events that set the working directory.
        The records have no sequence number.
        """
        session = find_stream(self._db, key)
        word_condition = " OR ".join(["instr(r.tool_input, ?)"] * len(words))
        tool_placeholders = ", ".join("?" * len(tools))
        call_condition = (
            f"r.type = 'tool_use' AND (r.tool_name IN ({tool_placeholders}) "
            f"OR {word_condition})"
        )
        unit_condition = f"p.session = ? AND p.unit = ? AND {IS_VISIBLE}"
        rows = self._db.execute(
            f"{SELECT_RECORDS} WHERE {unit_condition} AND ({call_condition} "
            "OR r.type = 'system_event' AND instr(r.metadata, '\"cwd\"'))",
            (session, unit, *tools, *words),
        ).fetchall()
        records = [unpack_placed_record(row, 0) for row in rows]
        ids = [
            placed.record.tool_call_id
            for placed in records
            if placed.record.type == "tool_use"
        ]
        results_query = (
            f"{SELECT_RECORDS} WHERE {unit_condition} AND r.type = 'tool_result' "
            "AND r.tool_call_id"
        )
        results = select_in_batches(self._db, results_query, ids, (session, unit))
        records += [unpack_placed_record(row, 0) for row in results]
        return sorted(records, key=lambda placed: placed.read_order)

    @translate_sqlite_errors
    def find_chat_id(self, key: SessionKey, unit: int) -> str:
        """Return the chat id of a unit, or "" if the unit has no visible entry.

        Unit 0 of a subagent is the whole subagent.
        """
        return find_chat_id(self._db, find_stream(self._db, key), unit)

    @translate_sqlite_errors
    def find_transcript_paths(self, key: SessionKey) -> dict[int, str]:
        """Return the paths of a stream's existing transcripts, by unit."""
        rows = self._db.execute(
            "SELECT unit, folder, file FROM transcript "
            "WHERE session = ? AND newest > 0 AND NOT is_removed",
            (find_stream(self._db, key),),
        )
        return {unit: f"{os.fsdecode(folder)}/{file}" for unit, folder, file in rows}

    def add_transcript_paths(self, unit: Unit) -> Unit:
        """Return the unit and its subagents with the paths of their transcripts."""
        path = self.find_transcript_paths(unit.summary.stream).get(unit.number, "")
        subagents = tuple(self.add_transcript_paths(child) for child in unit.subagents)
        return replace(unit, transcript=path, subagents=subagents)

    def _count_records_before(self, session: int, unit: int) -> int:
        query = (
            "SELECT count(*) FROM placement p JOIN session s ON s.id = p.session "
            f"WHERE p.session = ? AND p.unit < ? AND {IS_VISIBLE}"
        )
        return self._count(query, (session, unit))

    @translate_sqlite_errors
    def search(
        self, query: Query, stop_cutoff_us: int = 0, *, is_substring: bool = False
    ) -> read.Search:
        """Return a prepared search; its methods return matches.

        Sessions without entries since `stop_cutoff_us` count as stopped.
        With `is_substring`, terms also match inside words.
        """
        return read.Search(
            self._db, self.path, query, stop_cutoff_us, is_substring=is_substring
        )

    @translate_sqlite_errors
    def find_sessions_by_prefix(self, prefix: str) -> list[tuple[SessionKey, str]]:
        """Find streams whose session, thread or subagent id has this prefix.

        Return (key of the stream, thread id).
        """
        return find_sessions_by_prefix(self._db, prefix)

    @translate_sqlite_errors
    def find_units_by_prefix(self, prefix: str) -> list[UnitId]:
        """Find units by prefix of their chat id; unit 0 is not searched."""
        return find_units_by_prefix(self._db, prefix)

    @translate_sqlite_errors
    def find_unit_zero_by_prefix(self, prefix: str) -> list[UnitId]:
        """Find subagents and units before the first prompt by chat id prefix."""
        return find_unit_zero_by_prefix(self._db, prefix)

    @translate_sqlite_errors
    def find_entries_by_prefix(self, prefix: str) -> list[tuple[SessionKey, str]]:
        """Find entries by prefix of their id; return (key, entry id)."""
        return find_entries_by_prefix(self._db, prefix)

    @translate_sqlite_errors
    def list_agent_names(self) -> list[str]:
        """List the agents that have sessions."""
        return list_agent_names(self._db)

    @translate_sqlite_errors
    def summarize_agents(self) -> list[dict[str, Any]]:
        """Return one summary per agent: counts, source paths and times of activity."""
        return summarize_agents(self._db)

    @translate_sqlite_errors
    def check_integrity(self) -> str:
        """Return up to three descriptions of damage in one line, or "" if intact."""
        damage = "; ".join(fetch_column(self._db, "PRAGMA quick_check(3)"))
        return "" if damage == "ok" else damage

    @translate_sqlite_errors
    def count_rows(self) -> dict[str, int]:
        """Return the numbers of records, sessions, subagents, noise and rejections.

        Hidden sessions are counted separately, and hidden subagents are not counted.
        """
        sessions, hidden = count_sessions(self._db)
        return {
            "records": self._count("SELECT count(*) FROM record WHERE is_current"),
            "sessions": sessions,
            "subagents": self._count(
                "SELECT count(*) FROM session WHERE entries > 0 "
                f"AND source <> '{MAIN}' AND NOT {IS_HIDDEN}"
            ),
            "noise": self._count("SELECT count(*) FROM noise"),
            "rejected": self._count("SELECT coalesce(sum(times), 0) FROM rejected"),
            "hidden_sessions": hidden,
        }

    @translate_sqlite_errors
    def list_rejected(self, limit: int) -> list[dict[str, Any]]:
        """List up to `limit` rejected entries with their position and the reason."""
        rows = self._db.execute(
            "SELECT s.agent, s.path, j.offset, j.length, j.reason FROM rejected j "
            "JOIN source s ON s.id = j.source ORDER BY s.path, j.offset LIMIT ?",
            (limit,),
        )
        names = ("agent", "path", "offset", "length", "reason")
        rejected = [dict(zip(names, row, strict=True)) for row in rows]
        return [{**item, "path": os.fsdecode(item["path"])} for item in rejected]

    @translate_sqlite_errors
    def list_source_problems(self) -> list[SourceProblem]:
        """List the existing sources that could not be read or are held back."""
        rows = self._db.execute(
            "SELECT path, trouble FROM source WHERE trouble <> '' AND NOT is_gone"
        )
        return [SourceProblem(os.fsdecode(path), reason) for path, reason in rows]

    @translate_sqlite_errors
    def list_failures(self) -> list[Failure]:
        """List work that failed unexpectedly and is tried again later."""
        return FailureLedger(self._db).list()

    def _count(self, query: str, values: Iterable[Any] = ()) -> int:
        return int(fetch_value(self._db, query, values))
