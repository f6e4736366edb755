"""Chat ids of units, which are derived from the first entry of the unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.model.record import SessionKey, make_chat_id
from leslied.store.read.record_query import IS_VISIBLE

if TYPE_CHECKING:
    import sqlite3


def find_chat_id(
    db: sqlite3.Connection, key: SessionKey, session: int, unit: int
) -> str:
    """Return the chat id of a unit, or "" if the unit has no visible entry.

    Unit 0 is a subagent, or what comes before the first prompt. Its id is derived from
    the first user message, or else from the first entry.
    """
    conditions = [""] if unit else ["AND r.type = 'user_message'", ""]
    query = (
        "SELECT r.entry_id FROM placement p "
        "JOIN record r ON r.entry = p.entry AND r.is_current = 1 "
        "JOIN session s ON s.id = p.session WHERE p.session = ? AND p.unit = ? "
        f"AND {IS_VISIBLE}"
    )
    for condition in conditions:
        row = db.execute(
            f"{query} {condition} ORDER BY p.id LIMIT 1", (session, unit)
        ).fetchone()
        if row:
            return make_chat_id(*key[:2], row[0].hex())
    return ""


def find_units_by_prefix(
    db: sqlite3.Connection, prefix: str
) -> list[tuple[int, int, str]]:
    """Find units by prefix of their chat id; unit 0 is not searched.

    Return (row id of the stream, unit, chat id).
    """
    rows = db.execute(
        "SELECT p.session, p.unit, s.agent, s.session_id, r.entry_id "
        "FROM placement p JOIN record r ON r.entry = p.entry AND r.is_current = 1 "
        "JOIN session s ON s.id = p.session "
        "WHERE p.unit > 0 AND r.type = 'user_message' AND p.id = (SELECT min(id) "
        "FROM placement f WHERE f.session = p.session AND f.unit = p.unit)"
    )
    units = (
        (session, unit, make_chat_id(agent, session_id, entry_id.hex()))
        for session, unit, agent, session_id, entry_id in rows
    )
    return [unit for unit in units if unit[2].startswith(prefix)]


def find_unit_zero_by_prefix(
    db: sqlite3.Connection, prefix: str
) -> list[tuple[int, int, str]]:
    """Find subagents and units before the first prompt by prefix of their chat id.

    Return (row id of the stream, 0, chat id).
    """
    rows = db.execute("SELECT id, agent, session_id, source FROM session")
    units = (
        (session, 0, find_chat_id(db, SessionKey(*key), session, 0))
        for session, *key in rows
    )
    return [unit for unit in units if unit[2] and unit[2].startswith(prefix)]
