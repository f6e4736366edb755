"""Tables and indexes of the store, as an ordered list of forward migrations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.store.initial_schema import INITIAL_SCHEMA

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    Migration = Callable[[sqlite3.Connection], object]


def _create(connection: sqlite3.Connection) -> None:
    connection.executescript("BEGIN;" + INITIAL_SCHEMA)


def _add_archive(connection: sqlite3.Connection) -> None:
    """Add tables of archived sources and of the sessions that each source feeds."""
    connection.execute(
        "CREATE TABLE archived (source INTEGER PRIMARY KEY, "
        "generation INTEGER NOT NULL, offset INTEGER NOT NULL, "
        "finished INTEGER NOT NULL, number INTEGER NOT NULL, "
        "newest INTEGER NOT NULL, file TEXT NOT NULL, size INTEGER NOT NULL)"
    )
    connection.execute("CREATE INDEX archived_file ON archived (file)")
    connection.execute(
        "CREATE TABLE feed (source INTEGER NOT NULL, session INTEGER NOT NULL, "
        "first INTEGER NOT NULL, PRIMARY KEY (source, session)) WITHOUT ROWID"
    )


def _add_relations(connection: sqlite3.Connection) -> None:
    """Add tables of threads with due relations, relations files and moved threads."""
    connection.execute(
        "CREATE TABLE thread_due (session INTEGER PRIMARY KEY, "
        "told BLOB NOT NULL DEFAULT x'')"
    )
    connection.execute(
        "INSERT INTO thread_due (session) "
        "SELECT id FROM session WHERE source = 'main' AND folder <> x''"
    )
    connection.execute(
        "CREATE TABLE relations_file (folder BLOB PRIMARY KEY, stamp TEXT NOT NULL) "
        "WITHOUT ROWID"
    )
    connection.execute(
        "CREATE TABLE thread_move (session INTEGER PRIMARY KEY, "
        "thread_id TEXT NOT NULL, files TEXT NOT NULL)"
    )


def _add_asset_index(connection: sqlite3.Connection) -> None:
    """Add tables of file changes and of the index state of each thread."""
    connection.execute(
        "CREATE TABLE touch (session INTEGER NOT NULL, placement INTEGER NOT NULL, "
        "nth INTEGER NOT NULL, unit INTEGER NOT NULL, kind TEXT NOT NULL, "
        "path TEXT NOT NULL, tool TEXT NOT NULL, call_id TEXT NOT NULL, "
        "chat_id TEXT NOT NULL, at_us INTEGER, body TEXT NOT NULL, "
        "PRIMARY KEY (session, placement, nth)) WITHOUT ROWID"
    )
    connection.execute("CREATE INDEX touch_path ON touch (path)")
    connection.execute(
        "CREATE TABLE touched (session INTEGER PRIMARY KEY, newest INTEGER NOT NULL)"
    )
    connection.execute(
        "CREATE TABLE collected (session INTEGER PRIMARY KEY, "
        "is_due INTEGER NOT NULL DEFAULT 1, status TEXT NOT NULL DEFAULT '', "
        "stamp BLOB NOT NULL DEFAULT x'', files TEXT NOT NULL DEFAULT '', "
        "summary TEXT NOT NULL DEFAULT '')"
    )
    connection.execute("CREATE INDEX collected_due ON collected (session) WHERE is_due")
    connection.execute(
        "CREATE INDEX collected_unfinished ON collected (session) "
        "WHERE status <> 'stopped'"
    )
    connection.execute(
        "CREATE INDEX session_folder ON session (folder) WHERE folder <> x''"
    )
    connection.execute(
        "INSERT INTO collected (session) SELECT id FROM session "
        "WHERE source = 'main' AND folder <> x''"
    )


def _add_published(connection: sqlite3.Connection) -> None:
    """Add the table of exported sessions."""
    connection.execute(
        "CREATE TABLE published (session INTEGER PRIMARY KEY, "
        "seen_us INTEGER NOT NULL, formats TEXT NOT NULL)"
    )


def _add_prices(connection: sqlite3.Connection) -> None:
    """Add columns for prices, and indexes of messages."""
    connection.execute(
        "ALTER TABLE usage ADD COLUMN cache_write_1h_tokens INTEGER NOT NULL DEFAULT 0"
    )
    # A row with `is_sum` has the tokens of several requests, each of which may have
    # been too small for the price of large requests.
    connection.execute("ALTER TABLE usage ADD COLUMN is_sum INTEGER NOT NULL DEFAULT 0")
    connection.execute("CREATE INDEX usage_time ON usage (created_us)")
    connection.execute("CREATE INDEX usage_session ON usage (session)")
    connection.execute("CREATE INDEX usage_model ON usage (model)")


def _add_times(connection: sqlite3.Connection) -> None:
    """Add indexes for search and for lists.

    A search walks back from the newest record, or checks a few candidates.
    """
    connection.execute(
        "CREATE INDEX record_time ON record (created_us) WHERE is_current"
    )
    connection.execute(
        "CREATE INDEX record_tool ON record (tool_call_id, tool_name) "
        "WHERE type = 'tool_use'"
    )
    connection.execute("DROP INDEX record_call")
    connection.execute(
        "CREATE INDEX record_result ON record (tool_call_id) WHERE type = 'tool_result'"
    )
    # The index covers what lists and `status` need, so that they read no rows.
    connection.execute(
        "CREATE INDEX session_family ON session "
        "(agent, session_id, source, entries, ended_us, started_us)"
    )
    connection.execute(
        "CREATE INDEX source_time ON source (agent, is_gone, mtime_ns, path)"
    )
    connection.execute(
        "CREATE INDEX source_trouble ON source (agent) WHERE trouble <> ''"
    )


def _add_pruned(connection: sqlite3.Connection) -> None:
    """Add the table of tombstones of pruned entries."""
    connection.execute(
        "CREATE TABLE pruned (id INTEGER PRIMARY KEY, agent TEXT NOT NULL, "
        "session_id TEXT NOT NULL, source TEXT NOT NULL, entries BLOB NOT NULL, "
        "UNIQUE (agent, session_id, source))"
    )


def _add_failures(connection: sqlite3.Connection) -> None:
    """Add the table of work that failed unexpectedly and is tried again later."""
    connection.execute(
        "CREATE TABLE failure (scope TEXT NOT NULL, name TEXT NOT NULL, "
        "reason TEXT NOT NULL, attempts INTEGER NOT NULL, retry_us INTEGER NOT NULL, "
        "PRIMARY KEY (scope, name)) WITHOUT ROWID"
    )


def _add_live(connection: sqlite3.Connection) -> None:
    """Add a column for whether a process works on the session."""
    connection.execute(
        "ALTER TABLE session ADD COLUMN is_live INTEGER NOT NULL DEFAULT 0"
    )
    connection.execute("CREATE INDEX session_live ON session (agent) WHERE is_live")


def _repair_indexes(connection: sqlite3.Connection) -> None:
    """Give all stores the same indexes.

    Some stores were created by earlier forms of the steps above.
    """
    for name in ("record_call", "record_tool", "session_dirty"):
        connection.execute(f"DROP INDEX IF EXISTS {name}")
    connection.execute(
        "CREATE INDEX record_tool ON record (tool_call_id, tool_name) "
        "WHERE type = 'tool_use'"
    )
    connection.execute(
        "CREATE INDEX session_dirty ON session (ended_us) WHERE is_dirty"
    )
    connection.execute(
        "CREATE INDEX IF NOT EXISTS session_family ON session "
        "(agent, session_id, source, entries, ended_us, started_us)"
    )
    connection.execute(
        "CREATE INDEX IF NOT EXISTS source_time "
        "ON source (agent, is_gone, mtime_ns, path)"
    )
    connection.execute(
        "CREATE INDEX IF NOT EXISTS source_trouble "
        "ON source (agent) WHERE trouble <> ''"
    )


def _add_decoder_versions(connection: sqlite3.Connection) -> None:
    """Add the decoder versions of sources: applied and last tried, 0 if unread."""
    was_read = "offset > 0 OR finished > 0"
    for name in ("decoder_version", "tried_version"):
        column = f"{name} INTEGER NOT NULL DEFAULT 0"
        connection.execute(f"ALTER TABLE source ADD COLUMN {column}")
        # All decoders had version 1 when these columns were added.
        connection.execute(f"UPDATE source SET {name} = 1 WHERE {was_read}")
    columns = "agent, tried_version, decoder_version"
    connection.execute(f"CREATE INDEX source_version ON source ({columns})")


def _add_projects(connection: sqlite3.Connection) -> None:
    """Add tables of working directories, repositories, and folders that threads left.

    The columns of the first two tables are the fields in `model/project.py`.
    """
    connection.execute(
        "CREATE TABLE project_folder (path TEXT PRIMARY KEY, worktree TEXT NOT NULL, "
        "repository TEXT NOT NULL, project TEXT NOT NULL) WITHOUT ROWID"
    )
    connection.execute(
        "CREATE TABLE repository (path TEXT PRIMARY KEY, directory_id TEXT NOT NULL, "
        "remote TEXT NOT NULL, root_commit TEXT NOT NULL, walk_commit TEXT NOT NULL, "
        "walked INTEGER NOT NULL, linked_to TEXT NOT NULL) WITHOUT ROWID"
    )
    connection.execute("CREATE INDEX session_cwd ON session (cwd)")
    # The folder that a thread left, until its files there are deleted.
    connection.execute(
        "CREATE TABLE left_folder (session INTEGER PRIMARY KEY, folder BLOB NOT NULL)"
    )


def _add_forks(connection: sqlite3.Connection) -> None:
    """Add a column for the forks of a session, and an index of user messages by parent.

    The forks are found when the logs are decoded again.
    """
    connection.execute("ALTER TABLE session ADD COLUMN forks TEXT NOT NULL DEFAULT ''")
    connection.execute("UPDATE session SET forks = 'unknown' WHERE source = 'main'")
    connection.execute(
        "CREATE INDEX record_parent ON record (parent_id) "
        "WHERE type = 'user_message' AND parent_id <> ''"
    )


def _add_rejected_times(connection: sqlite3.Connection) -> None:
    """Add a column for how many rejected entries a row stands for."""
    connection.execute(
        "ALTER TABLE rejected ADD COLUMN times INTEGER NOT NULL DEFAULT 1"
    )


def _add_waiting(connection: sqlite3.Connection) -> None:
    """Add columns for what a session waits for, and since when."""
    connection.execute(
        "ALTER TABLE session ADD COLUMN waiting_for TEXT NOT NULL DEFAULT ''"
    )
    connection.execute(
        "ALTER TABLE session ADD COLUMN waiting_us INTEGER NOT NULL DEFAULT 0"
    )
    connection.execute(
        "CREATE INDEX session_waiting ON session (agent) WHERE waiting_for <> ''"
    )


def _add_archive_checks(connection: sqlite3.Connection) -> None:
    """Add columns for when an archive file was written and when it was verified."""
    for column in ("mtime_ns", "verified_us"):
        connection.execute(
            f"ALTER TABLE archived ADD COLUMN {column} INTEGER NOT NULL DEFAULT 0"
        )


def _add_unknown_index(connection: sqlite3.Connection) -> None:
    """Add an index of records of unknown kinds, which `status` counts."""
    connection.execute(
        "CREATE INDEX record_unknown ON record (entry) "
        "WHERE type = 'unknown' AND is_current"
    )


MIGRATIONS: list[tuple[str, Migration]] = [
    ("create", _create),
    ("archive", _add_archive),
    ("relations", _add_relations),
    ("index", _add_asset_index),
    ("published", _add_published),
    ("prices", _add_prices),
    ("times", _add_times),
    ("pruned", _add_pruned),
    ("failures", _add_failures),
    ("live", _add_live),
    ("repair indexes", _repair_indexes),
    ("decoder versions", _add_decoder_versions),
    ("projects", _add_projects),
    ("forks", _add_forks),
    ("rejected times", _add_rejected_times),
    ("waiting", _add_waiting),
    ("archive checks", _add_archive_checks),
    ("unknown records", _add_unknown_index),
]
"""All migrations, oldest first. A released migration is never changed."""
