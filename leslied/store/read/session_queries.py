"""Select and order sessions without loading their summaries; find ids by prefix."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from leslied.model.query import Selection
from leslied.model.record import MAIN, SessionKey
from leslied.store.read.filter_sql import (
    ALWAYS_TRUE,
    IS_GROUP_HIDDEN,
    IS_HIDDEN,
    SESSION_GROUPS_WITH_MAIN,
    compile_session_list_filters,
    make_project_sql,
)
from leslied.store.read.record_query import IS_VISIBLE
from leslied.store.sql import fetch_value

if TYPE_CHECKING:
    import sqlite3

    from leslied.store.read.filter_sql import Condition

_LAST_ACTIVE = "ifnull(ifnull(f.ended_us, m.started_us), 0)"
_TITLE = "CASE WHEN m.title <> '' THEN m.title ELSE m.first_prompt END COLLATE NOCASE"
_ORDERS = {
    "recent": f"{_LAST_ACTIVE} DESC",
    "started": "ifnull(m.started_us, 0) DESC",
    "title": f"{_TITLE} = '', {_TITLE}",
    "project": f"m.cwd = '', {make_project_sql('m')}, {_LAST_ACTIVE} DESC",
    "units": "count_current(m.forks, m.units) DESC",
    "tools": "m.tool_calls DESC",
}
_STREAM_RECENCY = (
    "ifnull(ifnull(ended_us, started_us), 0) DESC, agent DESC, session_id DESC"
)
_LAST_ACTIVE_STREAMS = (
    "SELECT id FROM session INDEXED BY session_family WHERE entries > 0 "
    f"ORDER BY {_STREAM_RECENCY} LIMIT ?"
)
"""Selects streams by what one index contains, so that no other rows are read."""
_MAX_LIMIT = 2**62
"""Larger limits may not fit into SQLite's integers."""


class SessionGroup(NamedTuple):
    """A session with its subagents."""

    agent: str
    session_id: str


def select_sessions(db: sqlite3.Connection, selection: Selection) -> list[SessionGroup]:
    """Return the selected sessions in order.

    The connection must have the SQL function `count_current`. For an order that SQL
    cannot compute, ignore the limit; the caller then sorts the sessions and applies it.
    """
    # If only the limit is set, the last active sessions are found without grouping.
    if selection.limit and selection == Selection(
        limit=selection.limit,
        stop_cutoff_us=selection.stop_cutoff_us,
        with_hidden=selection.with_hidden,
    ):
        return _select_latest(db, selection.limit, with_hidden=selection.with_hidden)
    where, values = _compile_selection(selection)
    if not selection.with_hidden:
        where = f"NOT f.is_hidden AND {where}"
    order = _ORDERS.get(selection.order, _ORDERS["recent"])
    limit = selection.limit if selection.order in _ORDERS else None
    # In reverse order, the limit applies to the reversed list.
    sql_limit = -1 if limit is None or selection.is_reversed else limit
    rows = db.execute(
        f"SELECT f.agent, f.session_id FROM {SESSION_GROUPS_WITH_MAIN} WHERE {where} "
        f"ORDER BY {order}, f.agent DESC, f.session_id DESC LIMIT ?",
        (*values, min(sql_limit, _MAX_LIMIT)),
    )
    groups = [SessionGroup(*row) for row in rows]
    return groups[::-1][:limit] if selection.is_reversed else groups


def count_hidden_sessions(db: sqlite3.Connection, selection: Selection) -> int:
    """Return the number of sessions that match the filters and are hidden."""
    hidden_sessions = list_hidden_sessions(db)
    is_whole = not selection.filters and selection.only is None
    if not hidden_sessions or is_whole:
        return len(hidden_sessions)
    where, values = _compile_selection(selection)
    query = (
        f"SELECT count(*) FROM {SESSION_GROUPS_WITH_MAIN} WHERE f.is_hidden AND {where}"
    )
    return int(fetch_value(db, query, values))


def _compile_selection(selection: Selection) -> Condition:
    """Compile the filters, and the restriction to the sessions in `only`."""
    where, values = compile_session_list_filters(
        selection.filters, selection.stop_cutoff_us
    )
    if selection.only is None:
        return where, values
    is_chosen = (
        "(f.agent, f.session_id) IN (SELECT json_extract(value, '$[0]'), "
        "json_extract(value, '$[1]') FROM json_each(?))"
    )
    return f"{is_chosen} AND {where}", [json.dumps(selection.only), *values]


def list_hidden_sessions(db: sqlite3.Connection) -> list[SessionGroup]:
    """List the sessions that are hidden."""
    return [SessionGroup(*names) for *names, _ in _select_hidden(db)]


def count_sessions(db: sqlite3.Connection) -> tuple[int, int]:
    """Return the numbers of sessions that are listed, and of those that are hidden.

    A session whose own log is missing is not counted as listed.
    """
    query = f"SELECT count(*) FROM session WHERE entries > 0 AND source = '{MAIN}'"
    hidden = _select_hidden(db)
    return fetch_value(db, query) - sum(has_log for *_, has_log in hidden), len(hidden)


def _select_hidden(db: sqlite3.Connection) -> list[tuple[str, str, int]]:
    """Return agent and id of the hidden sessions, and whether each has its own log."""
    # Grouping all sessions would take ten times as long; reading them in the order of
    # an index, four times.
    return db.execute(
        f"SELECT agent, session_id, max(source = '{MAIN}') FROM session h NOT INDEXED "
        f"WHERE entries > 0 AND {IS_GROUP_HIDDEN} "
        "GROUP BY agent, session_id ORDER BY agent, session_id"
    ).fetchall()


def _select_latest(
    db: sqlite3.Connection, limit: int, *, with_hidden: bool
) -> list[SessionGroup]:
    """Return the last active sessions; a subagent's activity counts for its session."""
    # A session has one row, and one more for each of its subagents.
    row_limit = min(4 * limit, _MAX_LIMIT)
    condition = ALWAYS_TRUE if with_hidden else f"NOT {IS_HIDDEN}"
    while True:
        rows = db.execute(
            f"SELECT {condition}, agent, session_id FROM session "
            f"WHERE id IN ({_LAST_ACTIVE_STREAMS}) ORDER BY {_STREAM_RECENCY}",
            (row_limit,),
        ).fetchall()
        groups = dict.fromkeys((agent, name) for listed, agent, name in rows if listed)
        if len(groups) >= limit or len(rows) < row_limit:
            return [SessionGroup(*row) for row in groups][:limit]
        row_limit *= 4


def list_agent_names(db: sqlite3.Connection) -> list[str]:
    """List the agents that have sessions."""
    rows = db.execute("SELECT DISTINCT agent FROM session ORDER BY agent")
    return [agent for (agent,) in rows]


def find_sessions_by_prefix(
    db: sqlite3.Connection, prefix: str
) -> list[tuple[SessionKey, str]]:
    """Find streams whose session, thread or subagent id has this prefix.

    Return (key of the stream, thread id).
    """
    length = len(prefix)
    rows = db.execute(
        "SELECT agent, session_id, source, thread_id FROM session WHERE entries > 0 "
        "AND (substr(session_id, 1, ?) = ? OR substr(thread_id, 1, ?) = ? "
        "OR substr(source, instr(source, ':') + 1, ?) = ?)",
        (length, prefix) * 3,
    )
    return [(SessionKey(*key), thread_id) for *key, thread_id in rows]


def find_entries_by_prefix(
    db: sqlite3.Connection, prefix: str
) -> list[tuple[SessionKey, str]]:
    """Find entries by prefix of their id, which is hexadecimal.

    Return (key of the first stream that contains the entry, entry id).
    """
    lowest_id = bytes.fromhex(prefix.ljust(32, "0"))
    highest_id = bytes.fromhex(prefix.ljust(32, "f"))
    rows = db.execute(
        "SELECT s.agent, s.session_id, s.source, r.entry_id FROM record r "
        "JOIN placement p ON p.entry = r.entry JOIN session s ON s.id = p.session "
        "WHERE r.is_current = 1 AND r.entry_id BETWEEN ? AND ? "
        f"AND {IS_VISIBLE} GROUP BY r.entry_id "
        "HAVING p.id = min(p.id)",
        (lowest_id, highest_id),
    )
    return [(SessionKey(*key), entry_id.hex()) for *key, entry_id in rows]
