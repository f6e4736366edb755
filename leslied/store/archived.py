"""The archive's side of the store: what is due, and what is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leslied.store.cursors import CURSOR_COLUMNS, unpack_cursor
from leslied.store.rows import ask
from leslied.store.tombstones import PRUNED

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator

    from leslied.model.source import Cursor

_KEPT = "source, generation, offset, finished, number, newest, file, size"
_CURSOR = ", ".join("o." + name for name in CURSOR_COLUMNS.split(", "))
_LAST = 2**53
"""The place of a source that added nothing: what it tells again stood elsewhere."""
_FIRST = f"ifnull((SELECT min(first) FROM feed f WHERE f.source = o.id), {_LAST})"
_MARK = "archived_placement"
CONDEMNED = -2
"""The size of an archive file that must go: its session was pruned."""


@dataclass(frozen=True, slots=True)
class Kept:
    """How far a source is archived."""

    source: int
    generation: int
    offset: int
    finished: int
    number: int
    """The generation's number in the archive file, which may outlive the store."""
    newest: int
    """The placement up to which spilled results are archived."""
    file: str
    size: int
    """Of the archive file."""


@dataclass(frozen=True, slots=True)
class Due:
    """A source with bytes that are not archived yet."""

    source: int
    agent: str
    path: bytes
    first: int
    """Its first placement anywhere: the order in which sources were read."""
    cursor: Cursor
    kept: Kept | None


class Archived:
    """Questions and notes about the archive; the caller holds the transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def note_feeds(self) -> None:
        """It is known which sessions the sources feed; looks at new entries only."""
        query = "SELECT value FROM meta WHERE key = ?"
        row = self._db.execute(query, (_MARK,)).fetchone()
        self._db.execute(
            "INSERT OR IGNORE INTO feed SELECT source, session, min(id) "
            "FROM placement WHERE id > ? GROUP BY source, session",
            (int(row[0]) if row else 0,),
        )
        self._db.execute(
            "INSERT OR REPLACE INTO meta "
            "SELECT ?, CAST(ifnull(max(id), 0) AS TEXT) FROM placement",
            (_MARK,),
        )

    def due(self, quiet_us: int) -> list[int]:
        """Sources read further than archived, whose sessions all rest.

        A session rests when it is settled, stopped, or silent since that time.
        """
        rows = self._db.execute(
            f"SELECT o.id, {_FIRST} first "
            "FROM source o LEFT JOIN archived a ON a.source = o.id "
            "WHERE NOT o.is_gone AND (o.offset > 0 OR o.finished > 0) "
            "AND (a.source IS NULL OR (a.generation, a.offset, a.finished) <> "
            "(o.generation, o.offset, o.finished)) AND NOT EXISTS "
            "(SELECT 1 FROM feed f JOIN session s ON s.id = f.session "
            "WHERE f.source = o.id AND s.is_dirty AND s.stopped_us IS NULL "
            "AND ifnull(s.ended_us, 0) > :quiet) AND (ifnull(o.mtime_ns, 0) / 1000 "
            "<= :quiet OR EXISTS (SELECT 1 FROM feed f WHERE f.source = o.id)) "
            "ORDER BY first, o.path",
            {"quiet": quiet_us},
        )
        return [row[0] for row in rows]

    def load(self, sources: Iterable[int]) -> list[Due]:
        """What is known of these sources, in the order they were read."""
        kept = ", ".join("a." + name for name in _KEPT.split(", "))
        rows = ask(
            self._db,
            f"SELECT o.id, o.agent, o.path, {_FIRST} first, {_CURSOR}, {kept} "
            "FROM source o LEFT JOIN archived a ON a.source = o.id WHERE o.id",
            sources,
        )
        at = 4 + CURSOR_COLUMNS.count(",") + 1
        found = [
            Due(
                source=row[0],
                agent=row[1],
                path=row[2],
                first=row[3],
                cursor=unpack_cursor(row[4:at]),
                kept=Kept(*row[at:]) if row[at] else None,
            )
            for row in rows
        ]
        return sorted(found, key=lambda due: (due.first, due.path))

    def is_excluded(self, source: int) -> bool:
        """Whether anything of this source was left out because its folder is."""
        query = "SELECT 1 FROM noise WHERE source = ? AND kind = 'excluded'"
        return self._db.execute(query, (source,)).fetchone() is not None

    def is_pruned(self, source: int) -> bool:
        """Whether anything of this source is what a person wanted to be rid of."""
        query = "SELECT 1 FROM noise WHERE source = ? AND kind = ?"
        return self._db.execute(query, (source, PRUNED)).fetchone() is not None

    def condemned(self) -> list[tuple[int, str]]:
        """Sources whose archive file must go, and the file."""
        query = "SELECT source, file FROM archived WHERE size = ?"
        return self._db.execute(query, (CONDEMNED,)).fetchall()

    def note_swept(self, sources: Iterable[int]) -> None:
        """The archive files of these sources are gone."""
        self._db.executemany(
            "UPDATE archived SET file = '', size = -1 WHERE source = ?",
            [(source,) for source in sources],
        )

    def spills(self, source: int, after: int) -> list[tuple[str, str]]:
        """Texts of results kept in files of their own: metadata as JSON, and text."""
        rows = self._db.execute(
            "SELECT r.metadata, r.spilled FROM feed f JOIN placement p "
            "ON p.session = f.session AND p.source = f.source AND p.id > ? "
            "JOIN record r ON r.entry = p.entry AND r.is_current "
            "WHERE f.source = ? AND r.type = 'tool_result' AND r.spilled <> '' "
            "ORDER BY p.id",
            (after, source),
        )
        return rows.fetchall()

    def newest(self) -> int:
        """The newest placement of all."""
        return int(
            self._db.execute("SELECT ifnull(max(id), 0) FROM placement").fetchone()[0]
        )

    def save(self, kept: Kept) -> None:
        """The source is archived so far."""
        values = {name: getattr(kept, name) for name in _KEPT.split(", ")}
        marks = ", ".join(f":{name}" for name in values)
        self._db.execute(
            f"INSERT OR REPLACE INTO archived ({_KEPT}) VALUES ({marks})", values
        )

    def files(self) -> Iterator[tuple[int, str, int]]:
        """Every source's archive file and the size it should have."""
        query = "SELECT source, file, size FROM archived WHERE size >= 0"
        yield from self._db.execute(query)

    def doubt(self, source: int) -> None:
        """The archive file is not as it was left: it will be looked at."""
        self._db.execute(
            "UPDATE archived SET offset = -1, size = -1, newest = 0 WHERE source = ?",
            (source,),
        )

    def is_taken(self, file: str, source: int) -> bool:
        """Whether an archive file belongs to another source."""
        query = "SELECT 1 FROM archived WHERE file = ? AND source <> ?"
        return self._db.execute(query, (file, source)).fetchone() is not None

    def find_source(self, agent: str, path: bytes) -> int:
        """The number of a source."""
        query = "SELECT id FROM source WHERE agent = ? AND path = ?"
        row = self._db.execute(query, (agent, path)).fetchone()
        return int(row[0]) if row else 0
