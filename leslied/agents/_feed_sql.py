"""Build parts of the queries that read agents' databases."""

from __future__ import annotations

MAX_DEPTH = 20
"""Maximum number of ancestors: two damaged sessions may be each other's parents."""


def json_sql(column: str) -> str:
    """Return SQL for the column's JSON; invalid JSON becomes a JSON string."""
    text = f"CAST({column} AS TEXT)"
    return f"json(CASE WHEN json_valid({text}) THEN {text} ELSE json_quote({text}) END)"


def root_sql(table: str, parent: str, session: str) -> str:
    """Return SQL for the id of a session's topmost ancestor.

    A session without a parent is its own topmost ancestor. `session` is SQL for the
    session's id. `parent` is the column of `table` that has the id of each session's
    parent.
    """
    return f"""
        (WITH RECURSIVE above(id, depth) AS (
            SELECT {session}, 0
            UNION ALL
            SELECT p.{parent}, depth + 1 FROM above JOIN {table} p ON p.id = above.id
            WHERE p.{parent} <> '' AND depth < {MAX_DEPTH}
        ) SELECT CAST(id AS TEXT) FROM above ORDER BY depth DESC LIMIT 1)
    """
