"""Chat ids of units. One statement finds the entries from which they are derived."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from leslied.model.record import SessionKey
from leslied.sessions.units import make_chat_id
from leslied.store.read.record_query import IS_VISIBLE

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

_ENTRY_ID = (
    "SELECT r.entry_id FROM placement p "
    "JOIN record r ON r.entry = p.entry AND r.is_current = 1 "
    f"WHERE p.session = u.session AND p.unit = u.number AND {IS_VISIBLE}"
)
# The rule of `sessions.units.get_identifying_entry`. Two look-ups by index, because a
# single one would have to sort all entries of the unit.
_IDENTIFYING_ENTRIES = (
    "SELECT u.number, s.agent, s.session_id, s.source, coalesce("
    f"({_ENTRY_ID} AND (u.number > 0 OR r.type = 'user_message') "
    "ORDER BY p.id LIMIT 1), "
    f"({_ENTRY_ID} ORDER BY p.id LIMIT 1)) "
    "FROM unit u JOIN session s ON s.id = u.session ORDER BY u.session, u.number"
)


class UnitId(NamedTuple):
    """A unit and its chat id."""

    key: SessionKey
    unit: int
    chat_id: str


def find_chat_id(db: sqlite3.Connection, session: int, unit: int) -> str:
    """Return the chat id of a unit, or "" if the unit has no visible entry."""
    ids = _iter_unit_ids(db, "VALUES (?, ?)", session, unit)
    return next((unit_id.chat_id for unit_id in ids), "")


def list_chat_ids(db: sqlite3.Connection, session: int) -> dict[int, str]:
    """Return the chat ids of a stream's units that have a visible entry, by number."""
    units = "SELECT DISTINCT session, unit FROM placement WHERE session = ?"
    return {unit.unit: unit.chat_id for unit in _iter_unit_ids(db, units, session)}


def find_units_by_prefix(db: sqlite3.Connection, prefix: str) -> list[UnitId]:
    """Find units by prefix of their chat id; unit 0 is not searched."""
    units = "SELECT DISTINCT session, unit FROM placement WHERE unit > 0"
    return [u for u in _iter_unit_ids(db, units) if u.chat_id.startswith(prefix)]


def find_unit_zero_by_prefix(db: sqlite3.Connection, prefix: str) -> list[UnitId]:
    """Find subagents and units before the first prompt by prefix of their chat id."""
    units = "SELECT id, 0 FROM session"
    return [u for u in _iter_unit_ids(db, units) if u.chat_id.startswith(prefix)]


def _iter_unit_ids(
    db: sqlite3.Connection, units: str, *values: int
) -> Iterator[UnitId]:
    """Yield the ids of units; the query `units` selects their streams and numbers."""
    query = f"WITH unit (session, number) AS ({units}) {_IDENTIFYING_ENTRIES}"
    for number, agent, session_id, source, entry_id in db.execute(query, values):
        # A unit without a visible entry has no chat id.
        if entry_id is not None:
            key = SessionKey(agent, session_id, source)
            yield UnitId(key, number, make_chat_id(key, entry_id.hex()))
