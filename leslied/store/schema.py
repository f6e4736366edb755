"""Tables and indexes of the store, as an ordered list of forward migrations."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    Migration = Callable[[sqlite3.Connection], object]

_INITIAL_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- One log file or database of an agent, and its cursor.
CREATE TABLE source (
  id INTEGER PRIMARY KEY,
  agent TEXT NOT NULL,
  path BLOB NOT NULL,
  generation INTEGER NOT NULL DEFAULT 1,
  offset INTEGER NOT NULL DEFAULT 0,
  crc INTEGER NOT NULL DEFAULT 0,
  anchor BLOB NOT NULL DEFAULT x'',
  scanned INTEGER NOT NULL DEFAULT 0,
  finished INTEGER NOT NULL DEFAULT -1,
  dev INTEGER, inode INTEGER, size INTEGER, mtime_ns INTEGER, ctime_ns INTEGER,
  state TEXT NOT NULL DEFAULT '',
  trouble TEXT NOT NULL DEFAULT '',
  is_gone INTEGER NOT NULL DEFAULT 0,
  UNIQUE (agent, path)
);

CREATE INDEX source_file ON source (inode);

-- One stream of entries: a session, or one of its subagents.
CREATE TABLE session (
  id INTEGER PRIMARY KEY,
  agent TEXT NOT NULL,
  session_id TEXT NOT NULL,
  source TEXT NOT NULL,
  thread_id TEXT NOT NULL DEFAULT '',
  title TEXT NOT NULL DEFAULT '',
  title_rank INTEGER NOT NULL DEFAULT 0,
  first_prompt TEXT NOT NULL DEFAULT '',
  cwd TEXT NOT NULL DEFAULT '',
  model TEXT NOT NULL DEFAULT '',
  started_us INTEGER,
  ended_us INTEGER,
  entries INTEGER NOT NULL DEFAULT 0,
  originals INTEGER NOT NULL DEFAULT 0,
  units INTEGER NOT NULL DEFAULT 0,
  tool_calls INTEGER NOT NULL DEFAULT 0,
  copied_calls INTEGER NOT NULL DEFAULT 0,
  waiting_command INTEGER NOT NULL DEFAULT 0,
  has_turn_ended INTEGER NOT NULL DEFAULT 0,
  stopped_us INTEGER,
  spawn_call_id TEXT NOT NULL DEFAULT '',
  parent_agent TEXT NOT NULL DEFAULT '',
  agent_type TEXT NOT NULL DEFAULT '',
  description TEXT NOT NULL DEFAULT '',
  is_finished INTEGER NOT NULL DEFAULT 0,
  is_dirty INTEGER NOT NULL DEFAULT 0,
  seen_us INTEGER NOT NULL DEFAULT 0,
  folder BLOB NOT NULL DEFAULT x'',
  UNIQUE (agent, session_id, source)
);
CREATE INDEX session_spawn ON session (spawn_call_id) WHERE spawn_call_id <> '';
CREATE INDEX session_dirty ON session (ended_us) WHERE is_dirty;
CREATE UNIQUE INDEX session_thread ON session (thread_id) WHERE thread_id <> '';

-- Content of entries; a changed entry gets a new row with the same entry number.
CREATE TABLE record (
  id INTEGER PRIMARY KEY,
  entry INTEGER NOT NULL,
  is_current INTEGER NOT NULL DEFAULT 1,
  entry_id BLOB NOT NULL,
  digest BLOB NOT NULL,
  type TEXT NOT NULL,
  role TEXT NOT NULL,
  native_id TEXT NOT NULL,
  created_us INTEGER,
  utc_offset INTEGER NOT NULL DEFAULT 0,
  observed_us INTEGER NOT NULL,
  tool_name TEXT NOT NULL,
  tool_call_id TEXT NOT NULL,
  model TEXT NOT NULL,
  usage TEXT NOT NULL,
  message_id TEXT NOT NULL,
  parent_id TEXT NOT NULL,
  metadata TEXT NOT NULL,
  decoder_version INTEGER NOT NULL,
  tool_input TEXT NOT NULL,
  content TEXT NOT NULL,
  spilled TEXT NOT NULL
);
CREATE UNIQUE INDEX record_name ON record (entry_id, digest);
CREATE INDEX record_entry ON record (entry, is_current);
CREATE INDEX record_call ON record (tool_call_id) WHERE type = 'tool_use';

-- Position of an entry in a session; forks and resumes share records, not placements.
CREATE TABLE placement (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES session (id),
  entry INTEGER NOT NULL,
  unit INTEGER NOT NULL,
  source INTEGER NOT NULL REFERENCES source (id),
  generation INTEGER NOT NULL,
  offset INTEGER NOT NULL,
  length INTEGER NOT NULL,
  is_copy INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX placement_once ON placement (entry, session);
CREATE INDEX placement_order ON placement (session, unit, id);

-- Titles for the sessions that contain an entry, which may not have been read yet.
CREATE TABLE leaf_title (
  id INTEGER PRIMARY KEY,
  entry_id BLOB NOT NULL UNIQUE,
  title TEXT NOT NULL
);

-- How often a line without an id occurred in the current generation of its source.
CREATE TABLE occurrence (
  source INTEGER NOT NULL,
  line_digest BLOB NOT NULL,
  times INTEGER NOT NULL,
  PRIMARY KEY (source, line_digest)
) WITHOUT ROWID;

-- What was read and is not a record: recognized noise, and rejected entries.
CREATE TABLE noise (
  source INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  offset INTEGER NOT NULL,
  length INTEGER NOT NULL,
  kind TEXT NOT NULL
);
CREATE INDEX noise_source ON noise (source);
CREATE TABLE rejected (
  source INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  offset INTEGER NOT NULL,
  length INTEGER NOT NULL,
  reason TEXT NOT NULL,
  digest BLOB NOT NULL,
  head BLOB NOT NULL,
  PRIMARY KEY (source, generation, offset)
) WITHOUT ROWID;

-- Tokens of each API message, with the session in which it was first read.
CREATE TABLE usage (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  agent TEXT NOT NULL,
  message_id TEXT NOT NULL,
  request_id TEXT NOT NULL,
  model TEXT NOT NULL,
  created_us INTEGER,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cache_read_tokens INTEGER NOT NULL,
  cache_write_tokens INTEGER NOT NULL,
  UNIQUE (agent, message_id, request_id)
);
-- Messages that more than one session contains, with each of these sessions.
CREATE TABLE usage_share (
  usage INTEGER NOT NULL,
  session INTEGER NOT NULL,
  PRIMARY KEY (usage, session)
) WITHOUT ROWID;

-- Transcript of a unit or subagent; its file name never changes.
CREATE TABLE transcript (
  session INTEGER NOT NULL,
  unit INTEGER NOT NULL,
  chat_id TEXT NOT NULL,
  folder BLOB NOT NULL,
  file TEXT NOT NULL,
  utc_offset INTEGER NOT NULL,
  started_us INTEGER NOT NULL,
  newest INTEGER NOT NULL,
  digest BLOB NOT NULL,
  is_removed INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (session, unit)
) WITHOUT ROWID;
CREATE UNIQUE INDEX transcript_name ON transcript (folder, file);

CREATE VIRTUAL TABLE record_text USING fts5 (
  text, content = '', tokenize = 'unicode61 remove_diacritics 2'
);
INSERT INTO record_text (record_text, rank) VALUES ('hashsize', 16000000);
"""


def _create(connection: sqlite3.Connection) -> None:
    connection.executescript("BEGIN;" + _INITIAL_SCHEMA)


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
]
"""All migrations, oldest first. A released migration is never changed."""
