"""Queries over records of type `unknown`: entries that no decoder knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from leslied.model.source import WAITING
from leslied.sessions.unknown_kinds import HEAD_CHARACTERS, as_version
from leslied.store.connection import translate_sqlite_errors

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from typing import Any

_MAX_VERSION_LOOKUPS = 50
"""Number of sessions whose version is looked up, those of the newest records."""
_MAX_PLACEMENTS = 2000
"""Placements before an unknown record that are searched for the agent's version."""
_FIRST_PLACEMENTS = 20
"""Placements at the start of a session, where most agents state their version."""


class UnknownRecord(NamedTuple):
    """A record of an unknown kind."""

    agent: str
    head: str
    """The first characters of its text."""
    metadata: Mapping[str, Any]
    session_version: str
    """The version of the agent that the session states, or ""."""


class UnknownQueries:
    """Queries over entries of unknown kinds."""

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db = db
        self.path = path

    @translate_sqlite_errors
    def count(self) -> int:
        """Return the number of unknown records."""
        query = "SELECT count(*) FROM record WHERE type = 'unknown' AND is_current"
        (count,) = self._db.execute(query).fetchone()
        return int(count)

    @translate_sqlite_errors
    def list_newest(self, limit: int) -> list[UnknownRecord]:
        """List up to `limit` unknown records, the newest first."""
        return list(self._iter_newest(limit))

    @translate_sqlite_errors
    def list_source_paths(self, limit: int) -> list[bytes]:
        """List sources with unknown or rejected entries, or that could not be read."""
        # The `trouble` of a source that only waits to be read begins with WAITING.
        rows = self._db.execute(
            "SELECT path FROM source WHERE NOT is_gone AND (id IN (SELECT p.source "
            "FROM record r JOIN placement p ON p.entry = r.entry "
            "WHERE r.type = 'unknown' AND r.is_current) "
            "OR id IN (SELECT source FROM rejected) "
            "OR (trouble <> '' AND trouble NOT LIKE ?)) "
            "ORDER BY mtime_ns DESC LIMIT ?",
            (f"{WAITING}%", limit),
        )
        return [path for (path,) in rows]

    def _iter_newest(self, limit: int) -> Iterator[UnknownRecord]:
        # SQLite returns the other columns of the row with the largest placement.
        rows = self._db.execute(
            f"SELECT substr(r.content, 1, {HEAD_CHARACTERS}), r.metadata, s.agent, "
            "p.session, p.unit, max(p.id) FROM record r "
            "JOIN placement p ON p.entry = r.entry JOIN session s ON s.id = p.session "
            "WHERE r.type = 'unknown' AND r.is_current "
            "GROUP BY r.entry ORDER BY r.entry DESC LIMIT ?",
            (limit,),
        ).fetchall()
        versions: dict[int, str] = {}
        for head, metadata, agent, session, unit, placement in rows:
            if session not in versions and len(versions) < _MAX_VERSION_LOOKUPS:
                versions[session] = self._find_version(session, unit, placement)
            facts = msgspec.json.decode(metadata) if metadata else {}
            yield UnknownRecord(agent, head, facts, versions.get(session, ""))

    def _find_version(self, session: int, unit: int, placement: int) -> str:
        """Return the agent's version that the session stated last before a placement.

        If it stated none, return one from the session's first placements, or "".
        """
        before = (
            "AND (unit, id) <= (?2, ?3) ORDER BY unit DESC, id DESC "
            f"LIMIT {_MAX_PLACEMENTS}"
        )
        # SQLite demands that both values are used; these conditions are always true.
        first = f"AND ?2 >= 0 AND ?3 > 0 ORDER BY unit, id LIMIT {_FIRST_PLACEMENTS}"
        for part in (before, first):
            rows = self._db.execute(
                "SELECT r.metadata FROM (SELECT entry, unit, id FROM placement "
                f"WHERE session = ?1 {part}) p "
                "JOIN record r ON r.entry = p.entry AND r.is_current "
                "WHERE r.type = 'system_event' AND instr(r.metadata, '\"version\"') "
                "ORDER BY p.unit DESC, p.id DESC",
                (session, unit, placement),
            )
            for (metadata,) in rows:
                if version := as_version(msgspec.json.decode(metadata).get("version")):
                    return version
        return ""
