"""Queries for forgetting: which entries hold a text, and where sessions left files."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple, Self

from leslied.model.record import RECORD_IDS, RECORD_TEXTS
from leslied.store.columns import IS_CONTEXT
from leslied.store.connection import open_reader, translate_sqlite_errors
from leslied.store.sql import fetch_column, select_in_batches

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from leslied.literal_text import LiteralText

    SessionName = tuple[str, str]
    """Agent and session id."""
    LineRanges = Mapping[tuple[str, bytes, int], list[tuple[int, int]]]
    """Offsets and ends of lines, in order, by agent, path and generation."""

_IDS = tuple(name for name in RECORD_IDS if name != "scope")
"""All ids except `scope`, a session's id, which `forget` takes instead of a text."""
_TEXT_COLUMNS = ", ".join((*RECORD_TEXTS, *_IDS, "metadata"))
"""Columns of a record that contain text of the log."""
_IS_TITLE = (
    "type = 'system_event' AND json_extract(nullif(metadata, ''), '$.kind') = 'title'"
)


class TitleUse(NamedTuple):
    """An entry that gave a title to a session."""

    title: str
    entry_id: bytes
    session: tuple[str, ...]
    """Agent and session id."""


class ReadSource(NamedTuple):
    """How far a source was read, and its file in the archive."""

    agent: str
    path: bytes
    generation: int
    offset: int
    file: str
    """Its archive file, or ""."""
    archive_generation: int
    """The generation that was last archived, as numbered in the store."""
    archive_number: int
    """Number of that generation in the archive file."""


class SessionPart(NamedTuple):
    """Some entries of a session and its subagents."""

    agent: str
    session_id: str
    entries: int
    """Number of the entries."""
    is_whole: bool
    """Whether they are all of the session's entries."""

    @property
    def name(self) -> SessionName:
        """Agent and session id."""
        return (self.agent, self.session_id)


class SessionThreadFolder(NamedTuple):
    """A folder that contains, or contained, the files of a thread."""

    agent: str
    session_id: str
    thread_id: str
    folder: bytes


class ForgetReader:
    """Read-only connection to the store. Use it as a context manager."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db = open_reader(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    @translate_sqlite_errors
    def list_entry_ids(self, session: SessionName) -> set[bytes]:
        """Return the ids of all entries of a session and its subagents.

        Leave out those that only describe the session (IS_CONTEXT); forks need them.
        """
        query = (
            "SELECT DISTINCT r.entry_id FROM session s "
            "JOIN placement p ON p.session = s.id JOIN record r ON r.entry = p.entry "
            f"WHERE s.agent = ? AND s.session_id = ? AND NOT {IS_CONTEXT}"
        )
        return set(fetch_column(self._db, query, session))

    @translate_sqlite_errors
    def list_titles(self, entry_ids: Iterable[bytes]) -> set[str]:
        """Return the titles that these entries gave to sessions."""
        query = f"SELECT content FROM record WHERE {_IS_TITLE} AND entry_id"
        rows = select_in_batches(self._db, query, entry_ids)
        return {title for (title,) in rows if title}

    @translate_sqlite_errors
    def list_title_uses(self, titles: Iterable[str]) -> list[TitleUse]:
        """Return all entries that gave one of these titles to a session."""
        rows = select_in_batches(
            self._db,
            "SELECT r.content, r.entry_id, s.agent, s.session_id FROM record r "
            "JOIN placement p ON p.entry = r.entry JOIN session s ON s.id = p.session "
            f"WHERE {_IS_TITLE} AND r.content",
            titles,
        )
        return [
            TitleUse(title, entry_id, tuple(name)) for title, entry_id, *name in rows
        ]

    @translate_sqlite_errors
    def find_entries_with(self, text: LiteralText) -> set[bytes]:
        """Return the ids of entries with the text in any version of a record."""
        self._db.create_function("holds", -1, text.is_in_values, deterministic=True)
        query = f"SELECT DISTINCT entry_id FROM record WHERE holds({_TEXT_COLUMNS})"
        return set(fetch_column(self._db, query))

    @translate_sqlite_errors
    def find_rejected_with(self, text: LiteralText) -> list[bytes]:
        """Return the digests of rejected entries that hold the text."""
        self._db.create_function("holds", -1, text.is_in_values, deterministic=True)
        query = "SELECT digest FROM rejected WHERE holds(head, reason)"
        return fetch_column(self._db, query)

    @translate_sqlite_errors
    def list_rejected(self, session: SessionName) -> list[bytes]:
        """Return the digests of rejected entries in the sources of a session."""
        query = (
            "SELECT digest FROM rejected WHERE source IN (SELECT p.source "
            "FROM session s JOIN placement p ON p.session = s.id "
            "WHERE s.agent = ? AND s.session_id = ?)"
        )
        return fetch_column(self._db, query, session)

    @translate_sqlite_errors
    def find_entries_at(self, lines: LineRanges) -> set[bytes]:
        """Return the ids of entries that were read from these lines.

        Leave out those of IS_CONTEXT: the folder, the version and the like.
        """
        if not lines:
            return set()
        numbers: set[int] = set()
        rows = self._db.execute(
            "SELECT o.agent, o.path, p.generation, p.offset, p.entry "
            "FROM placement p JOIN source o ON o.id = p.source"
        )
        for agent, path, generation, offset, entry in rows:
            ranges = lines.get((agent, path, generation))
            if ranges and _contains(ranges, offset):
                numbers.add(entry)
        query = f"SELECT entry_id FROM record WHERE NOT {IS_CONTEXT} AND entry"
        entries = select_in_batches(self._db, query, numbers)
        return {entry_id for (entry_id,) in entries}

    @translate_sqlite_errors
    def list_sources(self, entry_ids: Iterable[bytes]) -> list[str]:
        """Return the paths of existing logs from which these entries were read."""
        rows = select_in_batches(
            self._db,
            "SELECT DISTINCT o.path FROM record r "
            "JOIN placement p ON p.entry = r.entry JOIN source o ON o.id = p.source "
            "WHERE NOT o.is_gone AND r.entry_id",
            entry_ids,
        )
        return sorted({path.decode(errors="replace") for (path,) in rows})

    @translate_sqlite_errors
    def list_read_sources(self) -> list[ReadSource]:
        """Return every source that was read."""
        rows = self._db.execute(
            "SELECT o.agent, o.path, o.generation, o.offset, ifnull(a.file, ''), "
            "ifnull(a.generation, 0), ifnull(a.number, 0) "
            "FROM source o LEFT JOIN archived a ON a.source = o.id WHERE o.offset > 0"
        )
        return [ReadSource(*row) for row in rows]

    @translate_sqlite_errors
    def list_parts(self, entry_ids: Iterable[bytes]) -> list[SessionPart]:
        """Return which sessions have these entries, and how many of them.

        Entries of IS_CONTEXT are not counted: they are deleted if no other remains.
        """
        counts: dict[SessionName, int] = {}
        rows = select_in_batches(
            self._db,
            "SELECT DISTINCT s.agent, s.session_id, s.id, r.entry FROM record r "
            "JOIN placement p ON p.entry = r.entry JOIN session s ON s.id = p.session "
            f"WHERE NOT {IS_CONTEXT} AND r.entry_id",
            entry_ids,
        )
        for agent, session_id, *_ in rows:
            counts[agent, session_id] = counts.get((agent, session_id), 0) + 1
        query = (
            "SELECT count(DISTINCT p.id) FROM session s "
            "JOIN placement p ON p.session = s.id JOIN record r ON r.entry = p.entry "
            f"WHERE s.agent = ? AND s.session_id = ? AND NOT {IS_CONTEXT}"
        )
        return [
            SessionPart(*name, count, fetch_column(self._db, query, name) == [count])
            for name, count in sorted(counts.items())
        ]

    @translate_sqlite_errors
    def list_thread_folders(
        self, sessions: Iterable[SessionName] | None = None
    ) -> list[SessionThreadFolder]:
        """Return the folders of these sessions' threads, or of all threads.

        Include folders that a thread left, and old ids of a thread, if files may remain
        there.
        """
        rows = self._db.execute(
            "SELECT agent, session_id, thread_id, folder FROM session "
            "WHERE folder <> x'' AND source = 'main' UNION "
            "SELECT s.agent, s.session_id, s.thread_id, l.folder FROM left_folder l "
            "JOIN session s ON s.id = l.session UNION "
            "SELECT s.agent, s.session_id, m.thread_id, s.folder FROM thread_move m "
            "JOIN session s ON s.id = m.session WHERE s.folder <> x''"
        )
        folders = [SessionThreadFolder(*row) for row in rows]
        if sessions is None:
            return folders
        selected = set(sessions)
        return [each for each in folders if each[:2] in selected]


def _contains(ranges: list[tuple[int, int]], offset: int) -> bool:
    """Return whether any of the sorted ranges contains the offset."""
    index = bisect_left(ranges, (offset + 1,)) - 1
    return index >= 0 and ranges[index][0] <= offset < ranges[index][1]
