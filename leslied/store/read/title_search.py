"""Find sessions by words in their title, their project or their id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.model.record import MAIN
from leslied.store.read.filter_sql import IS_HIDDEN, escape_like
from leslied.store.read.session_queries import SessionGroup

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

_LIKE = "LIKE ? ESCAPE '\\'"
_HAS_WORD = (
    "(CASE WHEN title <> '' THEN title ELSE substr(first_prompt, 1, 200) END "
    f"{_LIKE} OR cwd {_LIKE} OR session_id {_LIKE})"
)
"""Condition on a session; its values are two patterns of a text and one of an id."""


def find_sessions_by_title(
    db: sqlite3.Connection, words: Sequence[str], limit: int
) -> list[SessionGroup]:
    """Return the last active sessions that have all the words, or begin with an id."""
    patterns = [escape_like(word) for word in words]
    values = [v for p in patterns for v in (f"%{p}%", f"%{p}%", f"{p}%")]
    conditions = [f"source = '{MAIN}'", "entries > 0", *[_HAS_WORD] * len(patterns)]
    rows = db.execute(
        f"SELECT agent, session_id FROM session WHERE {' AND '.join(conditions)} AND NOT {IS_HIDDEN} "
        "ORDER BY ifnull(ifnull(ended_us, started_us), 0) DESC "
        f"LIMIT {limit:d}",
        values,
    )
    return [SessionGroup(*row) for row in rows]
