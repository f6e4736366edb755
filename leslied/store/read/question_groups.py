"""The groups of questions that a reader answers, each in a module of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.store import read

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path


class QuestionGroups:
    """The groups of questions about one open store."""

    _db: sqlite3.Connection
    path: Path

    @property
    def audits(self) -> read.AuditQueries:
        """Queries that compare logs with the store."""
        return read.AuditQueries(self._db, self.path)

    @property
    def usage(self) -> read.UsageQueries:
        """Queries over tokens and tool calls."""
        return read.UsageQueries(self._db, self.path)

    @property
    def change_feed(self) -> read.ChangeFeed:
        """Feed of new records and stopped sessions."""
        return read.ChangeFeed(self._db, self.path)

    @property
    def files(self) -> read.FileQueries:
        """Queries over calls that change files."""
        return read.FileQueries(self._db, self.path)

    @property
    def projects(self) -> read.ProjectQueries:
        """Queries over projects."""
        return read.ProjectQueries(self._db, self.path)

    @property
    def reading(self) -> read.ReadingQueries:
        """Queries for reading one session."""
        return read.ReadingQueries(self._db, self.path)

    @property
    def session_index(self) -> read.SessionIndexQueries:
        """Queries over all sessions at once."""
        return read.SessionIndexQueries(self._db, self.path)

    @property
    def sizes(self) -> read.SizeQueries:
        """Queries over sizes in bytes."""
        return read.SizeQueries(self._db, self.path)

    @property
    def titles(self) -> read.TitleSearch:
        """Queries over titles of sessions."""
        return read.TitleSearch(self._db, self.path)

    @property
    def unknown(self) -> read.UnknownQueries:
        """Queries over entries of unknown kinds."""
        return read.UnknownQueries(self._db, self.path)
