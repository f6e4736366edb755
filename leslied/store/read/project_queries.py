"""Read-only queries over projects."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from leslied.model.project import ProjectFolder
from leslied.model.record import MAIN
from leslied.store.connection import translate_sqlite_errors
from leslied.store.ledgers.projects import ProjectLedger
from leslied.store.read.filter_sql import IS_GROUP_HIDDEN, make_project_sql

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

    from leslied.model.project import Repository


class FolderActivity(NamedTuple):
    """A working directory, and the sessions that worked in it."""

    folder: ProjectFolder
    sessions: int
    """Number of sessions that are not hidden."""
    last_active_us: int


class ThreadFolder(NamedTuple):
    """A folder that holds threads in its `.leslie`."""

    path: str
    project: str
    """The project of the session that was active last."""
    last_active_us: int


class ProjectQueries:
    """Read-only queries over projects."""

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db = db
        self.path = path

    @translate_sqlite_errors
    def list_folders(self) -> list[FolderActivity]:
        """List the working directories of sessions, sorted by path."""
        folders = {each.path: each for each in ProjectLedger(self._db).list_folders()}
        rows = self._db.execute(
            f"SELECT cwd, sum(NOT {IS_GROUP_HIDDEN}), "
            "max(ifnull(ifnull(ended_us, started_us), 0)) "
            f"FROM session h WHERE cwd <> '' AND source = '{MAIN}' AND entries > 0 "
            "GROUP BY cwd ORDER BY cwd"
        )
        return [
            FolderActivity(
                folders.get(cwd) or ProjectFolder(cwd, "", cwd, cwd), count, last_us
            )
            for cwd, count, last_us in rows
        ]

    @translate_sqlite_errors
    def list_project_folders(self) -> list[ProjectFolder]:
        """List the working directories whose project is known; this is fast."""
        return ProjectLedger(self._db).list_folders()

    @translate_sqlite_errors
    def list_repositories(self) -> list[Repository]:
        """List the known Git repositories, sorted by path."""
        return ProjectLedger(self._db).list_repositories()

    @translate_sqlite_errors
    def list_thread_folders(self) -> list[ThreadFolder]:
        """List the folders that hold threads of sessions, last active first."""
        rows = self._db.execute(
            # With max(), SQLite takes the other columns from the same row.
            f"SELECT folder, {make_project_sql('s')}, "
            "max(ifnull(ended_us, 0)) AS last_us FROM session s "
            f"WHERE folder <> x'' AND source = '{MAIN}' "
            "GROUP BY folder ORDER BY last_us DESC, folder"
        )
        return [ThreadFolder(os.fsdecode(path), *values) for path, *values in rows]
