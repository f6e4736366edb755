"""Looking into the store, without being able to change it."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Self

from msgspec.structs import replace

from leslied.model.record import MAIN, PlacedRecord, SessionKey, Usage
from leslied.model.session import SessionSummary
from leslied.store.agents import tell_agents
from leslied.store.catalog import choose, find_agents, find_entries, find_named
from leslied.store.chats import find_chats, find_first_chats, name_chat_of
from leslied.store.connection import open_reader, telling
from leslied.store.failure_ledger import FailureLedger
from leslied.store.measure import Measures
from leslied.store.news import News
from leslied.store.placed import PLACED, SHOWN, unpack_placed
from leslied.store.rows import from_us
from leslied.store.search import Search
from leslied.store.text import cut_words
from leslied.store.totals import Totals

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from pathlib import Path

    from leslied.model.failure import Failure
    from leslied.model.query import Query, Selection
    from leslied.model.session import Unit
    from leslied.store.catalog import Family
    from leslied.store.weigh import Weights

_SUMMARY = (
    "id, agent, session_id, source, thread_id, title, first_prompt, cwd, model, "
    "started_us, ended_us, units, CASE WHEN originals "
    "THEN tool_calls ELSE copied_calls END, "
    "has_turn_ended, stopped_us, spawn_call_id, parent_agent, agent_type, "
    "description, seen_us, folder, is_live"
)
_TITLE = 80
_FEW = 500
_BEGINNING = 8


class Reader:
    """A read-only look at the store."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db = open_reader(path)
        self._totals = Totals(self._db)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    @telling
    def choose(self, wanted: Selection) -> list[Family]:
        """The sessions wanted, in their order."""
        return choose(self._db, wanted)

    @telling
    def ids_like(self, ids: Collection[str]) -> list[str]:
        """The ids of sessions and subagents that begin as one of these does."""
        starts = json.dumps(sorted({each[:_BEGINNING] for each in ids}))
        rows = self._db.execute(
            "WITH start AS MATERIALIZED (SELECT value FROM json_each(?)) "
            "SELECT session_id, source FROM session WHERE entries > 0 AND "
            f"(substr(session_id, 1, {_BEGINNING}) IN start OR "
            f"substr(source, instr(source, ':') + 1, {_BEGINNING}) IN start)",
            (starts,),
        )
        keys = [SessionKey("", *row) for row in rows]
        names = (name for key in keys for name in (key.session_id, key.subagent_id))
        return list(filter(None, names))

    @telling
    def sessions(
        self, families: Sequence[Family] | None = None
    ) -> list[SessionSummary]:
        """Every session and subagent with anything in it, or these families'.

        The last active is first.
        """
        rows = self._summary_rows(families)
        usage = self._totals.of([row[0] for row in rows])
        found = [_summarize(row, usage.get(row[0], Usage())) for row in rows]
        found.sort(key=lambda session: session.recency, reverse=True)
        return found

    def _summary_rows(self, families: Sequence[Family] | None) -> list[tuple[Any, ...]]:
        query = f"SELECT {_SUMMARY} FROM session WHERE entries > 0"
        if families is not None and len(families) <= _FEW:
            one = f"{query} AND agent = ? AND session_id = ?"
            found = (self._db.execute(one, each) for each in families)
            return [row for rows in found for row in rows]
        rows = self._db.execute(query).fetchall()
        if families is None:
            return rows
        wanted = set(families)
        return [row for row in rows if row[1:3] in wanted]

    @property
    def measures(self) -> Measures:
        """What can be counted."""
        return Measures(self._db, self.path)

    @property
    def news(self) -> News:
        """What comes in while one looks."""
        return News(self._db, self.path)

    @property
    def weights(self) -> Weights:
        """What takes how much room."""
        from leslied.store.weigh import Weights  # noqa: PLC0415 - few ask

        return Weights(self._db, self.path)

    @telling
    def session(self, key: SessionKey) -> SessionSummary | None:
        """One session or subagent; None while it holds nothing."""
        row = self._db.execute(
            f"SELECT {_SUMMARY} FROM session WHERE entries > 0 "
            "AND agent = ? AND session_id = ? AND source = ?",
            key,
        ).fetchone()
        return _summarize(row, Usage()) if row else None

    @telling
    def subagents(self, key: SessionKey) -> list[SessionSummary]:
        """The subagents in a session's own folder, in the order they were seen."""
        rows = self._db.execute(
            f"SELECT {_SUMMARY} FROM session WHERE entries > 0 AND source <> 'main' "
            "AND agent = ? AND session_id = ? ORDER BY id",
            key[:2],
        )
        return [_summarize(row, Usage()) for row in rows]

    @telling
    def children(self, parent: SessionSummary) -> list[SessionSummary]:
        """The subagents of a session, and those its calls spawned elsewhere."""
        calls = (
            "SELECT r.tool_call_id FROM placement p JOIN record r ON r.entry = p.entry "
            "WHERE p.session = ? AND r.type = 'tool_use'"
        )
        rows = self._db.execute(
            f"SELECT {_SUMMARY} FROM session WHERE entries > 0 AND source <> 'main' "
            "AND agent = ? AND (session_id = ? "
            f"OR spawn_call_id <> '' AND spawn_call_id IN ({calls})) ORDER BY id",
            (parent.key.agent, parent.key.session_id, parent.row),
        )
        found = rows.fetchall()
        usage = self._totals.of([row[0] for row in found])
        return [_summarize(row, usage.get(row[0], Usage())) for row in found]

    @telling
    def records(self, session: int, unit: int | None = None) -> list[PlacedRecord]:
        """The session's current records in order, numbered without a gap."""
        only = "" if unit is None else f"AND p.unit = {unit:d}"
        query = f"{PLACED} WHERE p.session = ? {only} AND {SHOWN} ORDER BY p.id"
        rows = self._db.execute(query, (session,)).fetchall()
        before = self._count_before(session, unit) if unit else 0
        return [unpack_placed(row, before + n) for n, row in enumerate(rows, 1)]

    @telling
    def session_at(self, row: int) -> SessionSummary | None:
        """The session or subagent with this number; None while it holds nothing."""
        found = self._db.execute(
            f"SELECT {_SUMMARY} FROM session WHERE entries > 0 AND id = ?", (row,)
        ).fetchone()
        return _summarize(found, Usage()) if found else None

    @telling
    def calls(
        self, session: int, unit: int, words: Sequence[str], tools: Sequence[str]
    ) -> list[PlacedRecord]:
        """Calls of a unit with one of the words in them, or of one of the tools.

        With them their results, and what was told of folders; not numbered.
        """
        has_word = " OR ".join(["instr(r.tool_input, ?)"] * len(words))
        named = ", ".join("?" * len(tools))
        call = f"r.type = 'tool_use' AND (r.tool_name IN ({named}) OR {has_word})"
        here = f"p.session = ? AND p.unit = ? AND {SHOWN}"
        rows = self._db.execute(
            f"{PLACED} WHERE {here} AND ({call} OR r.type = 'system_event' "
            "AND instr(r.metadata, '\"cwd\"'))",
            (session, unit, *tools, *words),
        ).fetchall()
        found = [unpack_placed(row, 0) for row in rows]
        ids = [p.record.tool_call_id for p in found if p.record.type == "tool_use"]
        results = f"{PLACED} WHERE {here} AND r.type = 'tool_result' AND r.tool_call_id"
        for start in range(0, len(ids), 500):
            part = ids[start : start + 500]
            marks = ", ".join("?" * len(part))
            query = f"{results} IN ({marks})"
            rows = self._db.execute(query, (session, unit, *part)).fetchall()
            found += [unpack_placed(row, 0) for row in rows]
        return sorted(found, key=lambda placed: placed.placement)

    @telling
    def chat_id(self, session: SessionSummary, unit: int) -> str:
        """The id of a unit, or of all that a subagent did."""
        return name_chat_of(self._db, session.key, session.row, unit)

    @telling
    def transcripts(self, session: int) -> dict[int, str]:
        """The files of a stream's units that still stand, by unit."""
        rows = self._db.execute(
            "SELECT unit, folder, file FROM transcript "
            "WHERE session = ? AND newest > 0 AND NOT is_removed",
            (session,),
        )
        return {unit: f"{os.fsdecode(folder)}/{file}" for unit, folder, file in rows}

    def locate(self, unit: Unit) -> Unit:
        """The unit, and its subagents, with the paths of their files."""
        file = self.transcripts(unit.summary.row).get(unit.number, "")
        below = tuple(self.locate(child) for child in unit.subagents)
        return replace(unit, transcript=file, subagents=below)

    def _count_before(self, session: int, unit: int) -> int:
        query = (
            "SELECT count(*) FROM placement p JOIN session s ON s.id = p.session "
            f"WHERE p.session = ? AND p.unit < ? AND {SHOWN}"
        )
        return self._count(query, (session, unit))

    @telling
    def search(
        self, query: Query, quiet_us: int = 0, *, is_substring: bool = False
    ) -> Search:
        """A question to the text index."""
        return Search(self._db, self.path, query, quiet_us, is_substring=is_substring)

    @telling
    def find_named(self, start: str) -> list[tuple[SessionKey, str]]:
        """Streams whose session, thread or own id starts so, and their thread's."""
        return find_named(self._db, start)

    @telling
    def find_chat(self, start: str) -> list[tuple[int, int, str]]:
        """Units whose chat id starts so: the session's row, number, chat id."""
        return find_chats(self._db, start)

    @telling
    def find_first_chats(self, start: str) -> list[tuple[int, int, str]]:
        """As above, of subagents, and of what stands before the first prompt."""
        return find_first_chats(self._db, start)

    @telling
    def find_entries(self, start: str) -> list[tuple[SessionKey, str]]:
        """Entries whose id starts so, each with the first stream that shows it."""
        return find_entries(self._db, start)

    @telling
    def agent_names(self) -> list[str]:
        """The agents that have sessions."""
        return find_agents(self._db)

    @telling
    def agents(self) -> list[dict[str, Any]]:
        """Per agent: sources, newest times, rejected entries, troubles."""
        return tell_agents(self._db)

    @telling
    def check(self) -> str:
        """What SQLite finds wrong with the file; empty when it is sound."""
        rows = self._db.execute("PRAGMA quick_check(3)").fetchall()
        told = "; ".join(row[0] for row in rows)
        return "" if told == "ok" else told

    @telling
    def counts(self) -> dict[str, int]:
        """How many rows the store holds of each kind."""
        tables = {
            "records": "SELECT count(*) FROM record WHERE is_current",
            "sessions": "SELECT count(*) FROM session WHERE entries > 0 "
            f"AND source = '{MAIN}'",
            "subagents": "SELECT count(*) FROM session WHERE entries > 0 "
            f"AND source <> '{MAIN}'",
            "noise": "SELECT count(*) FROM noise",
            "rejected": "SELECT count(*) FROM rejected",
        }
        return {n: self._db.execute(q).fetchone()[0] for n, q in tables.items()}

    @telling
    def rejected(self, limit: int) -> list[dict[str, Any]]:
        """Entries that could not become records: where they stand, and why."""
        rows = self._db.execute(
            "SELECT s.agent, s.path, j.offset, j.length, j.reason FROM rejected j "
            "JOIN source s ON s.id = j.source ORDER BY s.path, j.offset LIMIT ?",
            (limit,),
        )
        names = ("agent", "path", "offset", "length", "reason")
        told = [dict(zip(names, row, strict=True)) for row in rows]
        return [{**each, "path": os.fsdecode(each["path"])} for each in told]

    @telling
    def troubles(self) -> list[tuple[str, str]]:
        """Return sources that were not read at the last look, and why.

        A reason that begins with `WAITING` is no fault: the source is held back.
        """
        rows = self._db.execute(
            "SELECT path, trouble FROM source WHERE trouble <> '' AND NOT is_gone"
        )
        return [(os.fsdecode(path), reason) for path, reason in rows]

    @telling
    def failures(self) -> list[Failure]:
        """Return work that failed unexpectedly and is tried again later."""
        return FailureLedger(self._db).list()

    def _count(self, query: str, values: Iterable[Any]) -> int:
        return int(self._db.execute(query, tuple(values)).fetchone()[0])

    @telling
    def total_usage(self, sessions: Collection[int]) -> Usage:
        """The tokens of these streams together."""
        known = self._totals.of(sessions)
        return sum((known[row] for row in sessions if row in known), Usage())


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
    return cut_words(line, _TITLE)
