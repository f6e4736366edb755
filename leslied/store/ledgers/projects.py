"""Ledger of projects: working directories of sessions, and Git repositories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from leslied.model.project import ProjectFolder, Repository
from leslied.store.sql import fetch_column, list_columns, make_insert

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

_FOLDER_COLUMNS = ProjectFolder.__struct_fields__
_REPOSITORY_COLUMNS = Repository.__struct_fields__
# Each step jumps to the next working directory in the index of sessions.
_NEW_FOLDERS = (
    "WITH RECURSIVE folder (path) AS (SELECT min(cwd) FROM session UNION ALL "
    "SELECT (SELECT min(cwd) FROM session WHERE cwd > path) FROM folder "
    "WHERE path IS NOT NULL) SELECT path FROM folder WHERE path <> '' "
    "AND path NOT IN (SELECT path FROM project_folder)"
)


class ProjectLedger:
    """Read and write projects; the caller holds the transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def list_new_folders(self) -> list[str]:
        """List the working directories whose project is not known yet."""
        return fetch_column(self._db, _NEW_FOLDERS)

    def list_folders(self) -> list[ProjectFolder]:
        """List all working directories, sorted by path."""
        query = f"SELECT {list_columns(_FOLDER_COLUMNS)} FROM project_folder"
        return [ProjectFolder(*row) for row in self._db.execute(query)]

    def save_folders(self, folders: Iterable[ProjectFolder]) -> None:
        """Save working directories with their projects."""
        query = make_insert("project_folder", _FOLDER_COLUMNS, "INSERT OR REPLACE")
        self._db.executemany(query, map(structs.astuple, folders))

    def list_repositories(self) -> list[Repository]:
        """List all repositories, sorted by path."""
        query = f"SELECT {list_columns(_REPOSITORY_COLUMNS)} FROM repository"
        rows = self._db.execute(query)
        return [
            Repository(**dict(zip(_REPOSITORY_COLUMNS, row, strict=True)))
            for row in rows
        ]

    def save_repositories(self, repositories: Iterable[Repository]) -> None:
        """Save repositories with the facts that identify them."""
        query = make_insert("repository", _REPOSITORY_COLUMNS, "INSERT OR REPLACE")
        self._db.executemany(query, map(structs.astuple, repositories))
