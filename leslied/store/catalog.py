"""Which sessions there are: chosen and ordered before any of them is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from leslied.model.query import Selection
from leslied.model.record import SessionKey
from leslied.store.conditions import HEADS, listed_where
from leslied.store.placed import SHOWN

if TYPE_CHECKING:
    import sqlite3


_RECENT = "ifnull(ifnull(f.ended_us, m.started_us), 0)"
_TITLE = "CASE WHEN m.title <> '' THEN m.title ELSE m.first_prompt END COLLATE NOCASE"
_ORDERS = {
    "recent": f"{_RECENT} DESC",
    "started": "ifnull(m.started_us, 0) DESC",
    "title": f"{_TITLE} = '', {_TITLE}",
    "project": f"m.cwd = '', m.cwd, {_RECENT} DESC",
    "units": "m.units DESC",
    "tools": "m.tool_calls DESC",
}


_MOST = 2**62


class Family(NamedTuple):
    """A session with its subagents."""

    agent: str
    session_id: str


def choose(db: sqlite3.Connection, wanted: Selection) -> list[Family]:
    """The families wanted, in their order; where sums decide it, all of them."""
    if wanted.limit and wanted == Selection(
        limit=wanted.limit, quiet_us=wanted.quiet_us
    ):
        return _choose_latest(db, wanted.limit)
    where, values = listed_where(wanted.filters, wanted.quiet_us)
    order = _ORDERS.get(wanted.order, _ORDERS["recent"])
    limit = wanted.limit if wanted.order in _ORDERS else None
    most = -1 if limit is None or wanted.is_reversed else limit
    rows = db.execute(
        f"SELECT f.agent, f.session_id FROM {HEADS} WHERE {where} "
        f"ORDER BY {order}, f.agent DESC, f.session_id DESC LIMIT ?",
        (*values, min(most, _MOST)),
    )
    found = [Family(*row) for row in rows]
    return found[::-1][:limit] if wanted.is_reversed else found


def _choose_latest(db: sqlite3.Connection, limit: int) -> list[Family]:
    """The last active, as most lists want them: a family is as recent as its latest."""
    most = min(4 * limit, _MOST)
    while True:
        rows = db.execute(
            "SELECT agent, session_id FROM session WHERE entries > 0 "
            "ORDER BY ifnull(ifnull(ended_us, started_us), 0) DESC, agent DESC, "
            "session_id DESC LIMIT ?",
            (most,),
        ).fetchall()
        found = dict.fromkeys(rows)
        if len(found) >= limit or len(rows) < most:
            return [Family(*row) for row in found][:limit]
        most *= 4


def find_agents(db: sqlite3.Connection) -> list[str]:
    """The agents that have sessions."""
    rows = db.execute("SELECT DISTINCT agent FROM session ORDER BY agent")
    return [agent for (agent,) in rows]


def find_named(db: sqlite3.Connection, start: str) -> list[tuple[SessionKey, str]]:
    """Streams whose session id, thread id or own id starts so, with the thread's."""
    length = len(start)
    rows = db.execute(
        "SELECT agent, session_id, source, thread_id FROM session WHERE entries > 0 "
        "AND (substr(session_id, 1, ?) = ? OR substr(thread_id, 1, ?) = ? "
        "OR substr(source, instr(source, ':') + 1, ?) = ?)",
        (length, start) * 3,
    )
    return [(SessionKey(*row[:3]), row[3]) for row in rows]


def find_entries(db: sqlite3.Connection, start: str) -> list[tuple[SessionKey, str]]:
    """Entries whose id starts so, each with the first stream that shows it."""
    low, high = (bytes.fromhex(start.ljust(32, end)) for end in "0f")
    rows = db.execute(
        "SELECT s.agent, s.session_id, s.source, r.entry_id FROM record r "
        "JOIN placement p ON p.entry = r.entry JOIN session s ON s.id = p.session "
        "WHERE r.is_current = 1 AND r.entry_id BETWEEN ? AND ? "
        f"AND {SHOWN} GROUP BY r.entry_id "
        "HAVING p.id = min(p.id)",
        (low, high),
    )
    return [(SessionKey(*row[:3]), row[3].hex()) for row in rows]
