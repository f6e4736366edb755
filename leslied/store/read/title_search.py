"""Find sessions by words in their title, their project or their id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.model.record import MAIN
from leslied.store.connection import translate_sqlite_errors
from leslied.store.read.filter_sql import IS_HIDDEN, escape_like
from leslied.store.read.session_queries import SessionGroup

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence
    from pathlib import Path

_IS_LISTED = f"source = '{MAIN}' AND entries > 0 AND NOT {IS_HIDDEN}"
_LIKE = "LIKE ? ESCAPE '\\'"
_FOLDER_NAME = "replace(cwd, rtrim(cwd, replace(cwd, '/', '')), '')"
"""SQL for the last part of the working directory: what follows the last slash."""
_HAS_WORD = (
    "(CASE WHEN title <> '' THEN title ELSE substr(first_prompt, 1, 200) END "
    f"{_LIKE} OR {_FOLDER_NAME} {_LIKE} OR session_id {_LIKE})"
)
"""Condition on a session; the values are patterns for its title, folder and id."""


class TitleSearch:
    """Queries over titles of sessions."""

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db = db
        self.path = path

    @translate_sqlite_errors
    def find(self, words: Sequence[str], limit: int) -> list[SessionGroup]:
        """Return the last active sessions that match all words.

        A word matches if the title or the name of the folder contains it, or if the
        session's id begins with it.
        """
        patterns = [escape_like(word) for word in words]
        values = [v for p in patterns for v in (f"%{p}%", f"%{p}%", f"{p}%")]
        where = " AND ".join([_IS_LISTED, *[_HAS_WORD] * len(patterns)])
        rows = self._db.execute(
            f"SELECT agent, session_id FROM session WHERE {where} "
            "ORDER BY ifnull(ifnull(ended_us, started_us), 0) DESC LIMIT ?",
            (*values, limit),
        )
        return [SessionGroup(*row) for row in rows]
