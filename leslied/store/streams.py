"""Find the row of a session or subagent; its id does not leave the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.store.sql import fetch_value

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from leslied.model.record import SessionKey

IS_STREAM = "agent = ? AND session_id = ? AND source = ?"
"""Condition on a row of `session`; the values are those of a session key."""


def find_stream(db: sqlite3.Connection, key: SessionKey) -> int:
    """Return the row id of a stream; 0, which no row has, if it does not exist."""
    return int(
        fetch_value(db, f"SELECT id FROM session WHERE {IS_STREAM}", key, default=0)
    )


def list_streams(db: sqlite3.Connection, keys: Iterable[SessionKey]) -> list[int]:
    """Return the row ids of those of the streams that exist."""
    return [row_id for key in keys if (row_id := find_stream(db, key))]
