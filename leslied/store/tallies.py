"""The session rows one transaction touches: loaded once, written once."""

from __future__ import annotations

from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING

from leslied.model.record import MAIN, SessionKey, make_record_id
from leslied.store.fold import Tally, propose_thread_id
from leslied.store.rows import ask

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from leslied.model.record import Record

_NAMES = [field.name for field in fields(Tally)]
_COLUMNS = ", ".join(_NAMES)
_as_row = attrgetter(*_NAMES[1:], "id")
_SET = ", ".join(f"{name} = ?" for name in _NAMES[1:])


class Tallies:
    """Sums of the sessions a transaction touches."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._by_key: dict[SessionKey, Tally] = {}
        self._titles: list[tuple[bytes, str]] = []

    def of(self, key: SessionKey) -> Tally:
        """The session's sum, made on first sight."""
        tally = self._by_key.get(key)
        if tally is None:
            tally = self._by_key[key] = self._load(key) or self._create(key)
        return tally

    def title_elsewhere(self, record: Record) -> None:
        """A title that names the session its leaf stands in, not the one it is in."""
        leaf = make_record_id(record.session.agent, str(record.metadata["leaf"]), 0)
        self._titles.append((leaf, record.content))

    def write(self, placed: Iterable[bytes]) -> None:
        """Every sum is in its row, with the titles that the placed entries carry."""
        self._db.executemany(
            "INSERT OR REPLACE INTO leaf_title (entry_id, title) VALUES (?, ?)",
            self._titles,
        )
        if not self._db.execute("SELECT 1 FROM leaf_title LIMIT 1").fetchone():
            placed = ()
        leaves = {leaf for leaf, _ in self._titles}.union(placed)
        query = "SELECT id, entry_id, title FROM leaf_title WHERE entry_id"
        for _, leaf, title in sorted(ask(self._db, query, leaves)):
            for key in self._holders(leaf):
                self.of(key).add_title(title, "summary")
        rows = [_as_row(tally) for tally in self._by_key.values()]
        self._db.executemany(f"UPDATE session SET {_SET} WHERE id = ?", rows)

    def _load(self, key: SessionKey) -> Tally | None:
        row = self._db.execute(
            f"SELECT {_COLUMNS} FROM session "
            "WHERE agent = ? AND session_id = ? AND source = ?",
            key,
        ).fetchone()
        return Tally(*row) if row else None

    def _create(self, key: SessionKey) -> Tally:
        thread_id = self._find_thread_id(key) if key.source == MAIN else ""
        (row,) = self._db.execute(
            "INSERT INTO session (agent, session_id, source, thread_id) "
            "VALUES (?, ?, ?, ?) RETURNING id",
            (*key, thread_id),
        ).fetchone()
        return Tally(row, *key, thread_id)

    def _find_thread_id(self, key: SessionKey) -> str:
        # The second condition lets SQLite use the index over threads alone.
        query = "SELECT 1 FROM session WHERE thread_id = ? AND thread_id <> ''"
        for length in (8, 12):
            thread_id = propose_thread_id(key, length)
            if not self._db.execute(query, (thread_id,)).fetchone():
                return thread_id
        return propose_thread_id(key, 32)

    def _holders(self, leaf: bytes) -> list[SessionKey]:
        """The main sessions in which the entry stands."""
        rows = self._db.execute(
            "SELECT DISTINCT s.agent, s.session_id, s.source FROM record r "
            "JOIN placement p ON p.entry = r.entry JOIN session s ON s.id = p.session "
            "WHERE r.entry_id = ? AND s.source = ?",
            (leaf, MAIN),
        )
        return [SessionKey(*row) for row in rows]
