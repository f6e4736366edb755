"""The tables of the first migration. Like every migration, it is never changed."""

from __future__ import annotations

INITIAL_SCHEMA = """
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
