"""Looking into the store, without being able to change it."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from msgspec.structs import astuple

from leslied.model.record import MAIN, Placed, SessionKey, Usage, name_chat
from leslied.model.session import SessionSummary
from leslied.model.stats import Cost
from leslied.store.connection import open_reader, telling
from leslied.store.measure import Measures
from leslied.store.ownership import Ownership
from leslied.store.rows import RECORD_COLUMNS, from_us, unpack_record
from leslied.store.search import Hit, search
from leslied.store.weigh import Weights

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from leslied.model.session import Unit

_SUMMARY = (
    "id, agent, session_id, source, thread_id, title, first_prompt, cwd, model, "
    "started_us, ended_us, units, CASE WHEN originals "
    "THEN tool_calls ELSE copied_calls END, "
    "has_turn_ended, stopped_us, spawn_call_id, parent_agent, agent_type, "
    "description, seen_us, folder"
)
_RECORD = ", ".join("r." + name for name in RECORD_COLUMNS.split(", "))
_PLACED = (
    "SELECT p.id, p.unit, p.generation, p.offset, p.length, o.path, o.agent, "
    f"s.session_id, s.source, r.entry_id, {_RECORD} FROM placement p "
    "JOIN record r ON r.entry = p.entry AND r.is_current = 1 "
    "JOIN source o ON o.id = p.source JOIN session s ON s.id = p.session"
)
_SHOWN = "(p.is_copy = 0 OR s.originals = 0)"
_TITLE = 80


class Reader:
    """A read-only look at the store."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db = open_reader(path)
        self._known_usage: tuple[int, dict[int, Usage]] = (-1, {})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    @telling
    def sessions(self, costs: Mapping[int, Cost] | None = None) -> list[SessionSummary]:
        """Every session and subagent with anything in it, last active first."""
        known = costs or {}
        rows = self._db.execute(f"SELECT {_SUMMARY} FROM session WHERE entries > 0")
        usage = self._usage()
        found = [
            _summarize(row, usage.get(row[0], Usage()), known.get(row[0], Cost()))
            for row in rows
        ]
        found.sort(key=lambda session: session.recency, reverse=True)
        return found

    @property
    def measures(self) -> Measures:
        """What can be counted."""
        return Measures(self._db, self.path)

    @property
    def weights(self) -> Weights:
        """What takes how much room."""
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
        usage = self._usage()
        return [_summarize(row, usage.get(row[0], Usage())) for row in rows]

    @telling
    def records(self, session: int, unit: int | None = None) -> list[Placed]:
        """The session's current records in order, numbered without a gap."""
        only = "" if unit is None else f"AND p.unit = {unit:d}"
        query = f"{_PLACED} WHERE p.session = ? {only} AND {_SHOWN} ORDER BY p.id"
        rows = self._db.execute(query, (session,)).fetchall()
        before = self._count_before(session, unit) if unit else 0
        return [_unpack_placed(row, before + n) for n, row in enumerate(rows, 1)]

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
    ) -> list[Placed]:
        """Calls of a unit with one of the words in them, or of one of the tools.

        With them their results, and what was told of folders; not numbered.
        """
        has_word = " OR ".join(["instr(r.tool_input, ?)"] * len(words))
        named = ", ".join("?" * len(tools))
        call = f"r.type = 'tool_use' AND (r.tool_name IN ({named}) OR {has_word})"
        here = f"p.session = ? AND p.unit = ? AND {_SHOWN}"
        rows = self._db.execute(
            f"{_PLACED} WHERE {here} AND ({call} OR r.type = 'system_event' "
            "AND instr(r.metadata, '\"cwd\"'))",
            (session, unit, *tools, *words),
        ).fetchall()
        found = [_unpack_placed(row, 0) for row in rows]
        ids = [p.record.tool_call_id for p in found if p.record.type == "tool_use"]
        results = (
            f"{_PLACED} WHERE {here} AND r.type = 'tool_result' AND r.tool_call_id"
        )
        for start in range(0, len(ids), 500):
            part = ids[start : start + 500]
            marks = ", ".join("?" * len(part))
            query = f"{results} IN ({marks})"
            rows = self._db.execute(query, (session, unit, *part)).fetchall()
            found += [_unpack_placed(row, 0) for row in rows]
        return sorted(found, key=lambda placed: placed.placement)

    @telling
    def chat_id(self, session: SessionSummary, unit: int) -> str:
        """The id of a unit, or of all that a subagent did."""
        first = "AND r.type = 'user_message'" if not unit else ""
        query = (
            "SELECT r.entry_id FROM placement p "
            "JOIN record r ON r.entry = p.entry AND r.is_current = 1 "
            "JOIN session s ON s.id = p.session "
            f"WHERE p.session = ? AND p.unit = ? AND {_SHOWN}"
        )
        for more in dict.fromkeys((first, "")):
            row = self._db.execute(
                f"{query} {more} ORDER BY p.id LIMIT 1", (session.row, unit)
            ).fetchone()
            if row:
                return name_unit(*session.key[:2], row[0])
        return ""

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

    @telling
    def after(self, placement: int) -> list[Placed]:
        """What was placed after this, in any session; not numbered."""
        query = f"{_PLACED} WHERE p.id > ? AND {_SHOWN} ORDER BY p.id LIMIT 500"
        rows = self._db.execute(query, (placement,)).fetchall()
        return [_unpack_placed(row, 0) for row in rows]

    @telling
    def newest(self) -> int:
        """The number of the newest placement."""
        return self._count("SELECT ifnull(max(id), 0) FROM placement", ())

    def _count_before(self, session: int, unit: int) -> int:
        query = "SELECT count(*) FROM placement WHERE session = ? AND unit < ?"
        return self._count(query, (session, unit))

    @telling
    def search(self, words: str, limit: int, *, by_rank: bool = False) -> list[Hit]:
        """Records that hold the words, newest first, or best first."""
        return search(self._db, words, limit, by_rank=by_rank)

    @telling
    def find_chat(self, chat_id: str) -> list[tuple[int, int, str]]:
        """Sessions and units whose chat id starts so: row, unit, chat id."""
        rows = self._db.execute(
            "SELECT p.session, p.unit, s.agent, s.session_id, r.entry_id "
            "FROM placement p JOIN record r ON r.entry = p.entry AND r.is_current = 1 "
            "JOIN session s ON s.id = p.session "
            "WHERE p.unit > 0 AND r.type = 'user_message' AND p.id = (SELECT min(id) "
            "FROM placement f WHERE f.session = p.session AND f.unit = p.unit)"
        )
        named = ((row[0], row[1], name_unit(row[2], row[3], row[4])) for row in rows)
        return [found for found in named if found[2].startswith(chat_id)]

    @telling
    def agents(self) -> list[dict[str, Any]]:
        """Per agent: sources, newest times, rejected entries, troubles."""
        rows = self._db.execute(
            "SELECT agent, count(*), max(mtime_ns), sum(is_gone), "
            "sum(trouble <> '') FROM source GROUP BY agent"
        ).fetchall()
        return [self._agent(*row) for row in rows]

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
        """Sources that could not be read at the last look, and why."""
        rows = self._db.execute("SELECT path, trouble FROM source WHERE trouble <> ''")
        return [(os.fsdecode(path), reason) for path, reason in rows]

    def _agent(
        self, agent: str, sources: int, newest: int | None, gone: int, troubled: int
    ) -> dict[str, Any]:
        sessions = "SELECT count(*) FROM session WHERE agent = ? AND entries > 0 "
        rejects = (
            "SELECT count(*) FROM rejected j JOIN source s ON s.id = j.source "
            "WHERE s.agent = ?"
        )
        seen = "SELECT ifnull(max(ended_us), 0) FROM session WHERE agent = ?"
        one = (agent,)
        return {
            "name": agent,
            "sources": sources - gone,
            "gone": gone,
            "unreadable": troubled,
            "sessions": self._count(sessions + f"AND source = '{MAIN}'", one),
            "newest_ingested_ns": newest,
            "last_seen_ns": 1000 * self._count(seen, one),
            "rejected": self._count(rejects, one),
        }

    def _count(self, query: str, values: Iterable[Any]) -> int:
        return int(self._db.execute(query, tuple(values)).fetchone()[0])

    @telling
    def total_usage(self, sessions: Iterable[int]) -> Usage:
        """The tokens of these streams together."""
        known = self._usage()
        found = [astuple(known[row]) for row in sessions if row in known]
        return Usage(*map(sum, zip(*found, strict=True))) if found else Usage()

    def _usage(self) -> dict[int, Usage]:
        """Tokens per session, counted again only when the store has changed."""
        (version,) = self._db.execute("PRAGMA data_version").fetchone()
        if self._known_usage[0] != version:
            self._known_usage = (version, self._count_usage())
        return self._known_usage[1]

    def _count_usage(self) -> dict[int, Usage]:
        """Tokens per session; a message that several show counts for its owner."""
        counts = ", ".join(Usage.__struct_fields__)
        sums = ", ".join(f"CAST(total({n}) AS INTEGER)" for n in counts.split(", "))
        total = {
            row[0]: list(row[1:])
            for row in self._db.execute(
                f"SELECT session, {sums} FROM usage WHERE id NOT IN "
                "(SELECT usage FROM usage_share) GROUP BY session"
            )
        }
        owners = Ownership(self._db).owners
        for row in self._db.execute(
            f"SELECT id, {counts} FROM usage WHERE id IN "
            "(SELECT usage FROM usage_share)"
        ):
            mine = total.setdefault(owners[row[0]], [0] * (len(row) - 1))
            mine[:] = [a + b for a, b in zip(mine, row[1:], strict=True)]
        return {session: Usage(*numbers) for session, numbers in total.items()}


def name_unit(agent: str, session_id: str, entry_id: bytes) -> str:
    """The chat id of the unit that this entry starts."""
    return name_chat(agent, session_id, entry_id.hex())


def _summarize(
    row: tuple[Any, ...], usage: Usage, cost: Cost | None = None
) -> SessionSummary:
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
        usage=usage,
        cost=cost or Cost(),
    )


def _first_line(text: str) -> str:
    line = text.strip().split("\n", 1)[0]
    return line if len(line) <= _TITLE else line[: _TITLE - 1] + "…"


def _unpack_placed(row: tuple[Any, ...], sequence: int) -> Placed:
    record, observed_at, version = unpack_record(row[10:], SessionKey(*row[6:9]))
    return Placed(
        record=record,
        entry_id=row[9].hex(),
        sequence=sequence,
        unit=row[1],
        placement=row[0],
        observed_at=observed_at,
        decoder_version=version,
        path=os.fsdecode(row[5]),
        generation=row[2],
        offset=row[3],
        length=row[4],
    )
