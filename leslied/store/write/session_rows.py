"""Session rows that one transaction changes: each is loaded once and written once."""

from __future__ import annotations

from dataclasses import dataclass, fields
from operator import attrgetter
from typing import TYPE_CHECKING

from leslied.model.record import MAIN, SessionKey, make_record_id
from leslied.sessions.totals import SessionTotals, propose_thread_id
from leslied.store.sql import select_in_batches

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from leslied.model.record import Record


@dataclass(slots=True, kw_only=True)
class SessionRow(SessionTotals):
    """Row of a session; the columns have the same names."""

    id: int
    agent: str
    session_id: str
    thread_id: str = ""
    is_dirty: int = 0
    """1 if the session changed since it was last settled."""


_COLUMN_NAMES = [field.name for field in fields(SessionRow)]
_COLUMNS = ", ".join(_COLUMN_NAMES)
_UPDATED_COLUMN_NAMES = [name for name in _COLUMN_NAMES if name != "id"]
_ASSIGNMENTS = ", ".join(f"{name} = ?" for name in _UPDATED_COLUMN_NAMES)
_get_update_values = attrgetter(*_UPDATED_COLUMN_NAMES, "id")

_KEPT_COLUMN_NAMES = (
    *("id", "agent", "session_id", "source", "thread_id", "is_dirty", "seen_us"),
    # Links accumulate: a later version of a link may leave values out.
    *("spawn_call_id", "parent_agent", "agent_type", "description", "is_finished"),
)


class SessionRows:
    """Cache of the session rows that a transaction changes."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._by_key: dict[SessionKey, SessionRow] = {}
        self._leaf_titles: list[tuple[bytes, str]] = []

    def get(self, key: SessionKey) -> SessionRow:
        """Return the row of a session; create it if it does not exist."""
        row = self._by_key.get(key)
        if row is None:
            row = self._by_key[key] = self._load(key) or self._create(key)
        return row

    def reset(self, key: SessionKey) -> SessionRow:
        """Return the row with empty totals, to add all of its records again.

        Keep the columns that do not follow from the current version of its records.
        """
        row = self.get(key)
        kept_values = {name: getattr(row, name) for name in _KEPT_COLUMN_NAMES}
        self._by_key[key] = SessionRow(**kept_values)
        return self._by_key[key]

    def add_leaf_title(self, record: Record) -> None:
        """Gather a title; `write` applies it to the sessions that contain its leaf.

        The leaf is the last entry of the conversation that the title describes.
        """
        leaf = make_record_id(record.session.agent, str(record.metadata["leaf"]), 0)
        self._leaf_titles.append((leaf, record.content))

    def write(self, entry_ids: Iterable[bytes]) -> None:
        """Write all rows, with the titles from `add_leaf_title`.

        `entry_ids` are the entries that the transaction placed. A title names its leaf,
        which is an entry of its session, and may be read before that entry. So titles
        of earlier transactions are applied, too, if their leaf is one of `entry_ids`.
        """
        self._db.executemany(
            "INSERT OR REPLACE INTO leaf_title (entry_id, title) VALUES (?, ?)",
            self._leaf_titles,
        )
        # Without any titles, looking up the new entries is not necessary.
        if not self._db.execute("SELECT 1 FROM leaf_title LIMIT 1").fetchone():
            entry_ids = ()
        leaves = {leaf for leaf, _ in self._leaf_titles}.union(entry_ids)
        query = "SELECT id, entry_id, title FROM leaf_title WHERE entry_id"
        for _, leaf, title in sorted(select_in_batches(self._db, query, leaves)):
            for key in self._find_containing_sessions(leaf):
                self.get(key).add_title(title, "summary")
        self._db.executemany(
            f"UPDATE session SET {_ASSIGNMENTS} WHERE id = ?",
            [_get_update_values(row) for row in self._by_key.values()],
        )

    def _load(self, key: SessionKey) -> SessionRow | None:
        row = self._db.execute(
            f"SELECT {_COLUMNS} FROM session "
            "WHERE agent = ? AND session_id = ? AND source = ?",
            key,
        ).fetchone()
        return SessionRow(**dict(zip(_COLUMN_NAMES, row, strict=True))) if row else None

    def _create(self, key: SessionKey) -> SessionRow:
        thread_id = self._choose_unused_thread_id(key) if key.source == MAIN else ""
        (row_id,) = self._db.execute(
            "INSERT INTO session (agent, session_id, source, thread_id) "
            "VALUES (?, ?, ?, ?) RETURNING id",
            (*key, thread_id),
        ).fetchone()
        return SessionRow(id=row_id, **key._asdict(), thread_id=thread_id)

    def _choose_unused_thread_id(self, key: SessionKey) -> str:
        """Return a short thread id, or a longer one if another session has it."""
        # The second condition lets SQLite use the partial index over thread ids.
        query = "SELECT 1 FROM session WHERE thread_id = ? AND thread_id <> ''"
        for length in (8, 12):
            thread_id = propose_thread_id(key, length)
            if not self._db.execute(query, (thread_id,)).fetchone():
                return thread_id
        return propose_thread_id(key, 32)

    def _find_containing_sessions(self, leaf: bytes) -> list[SessionKey]:
        """Find the main sessions that contain the entry with this id."""
        rows = self._db.execute(
            "SELECT DISTINCT s.agent, s.session_id, s.source FROM record r "
            "JOIN placement p ON p.entry = r.entry JOIN session s ON s.id = p.session "
            "WHERE r.entry_id = ? AND s.source = ?",
            (leaf, MAIN),
        )
        return [SessionKey(*row) for row in rows]
