"""Define the queries that read OpenClaw's database of one agent.

An entry is an event with the current state of its session, or a session with a title.
Events are added as rows. When the client rewrites a session's events, it changes the
session's watermark, and all of its events are read again. A subagent is a session that
another one spawned.
"""

from __future__ import annotations

from leslied.model.source import Feed

_MAX_DEPTH = 20
"""Maximum number of ancestors: two damaged sessions may have spawned each other."""
_ROOT_SQL = f"""
    (WITH RECURSIVE above(key, depth) AS (
        SELECT {{node}}.session_key, 0
        UNION ALL
        SELECT p.spawned_by, depth + 1
        FROM above JOIN session_nodes p ON p.session_key = above.key
        WHERE p.spawned_by <> '' AND depth < {_MAX_DEPTH}
    ) SELECT r.current_session_id FROM above
    JOIN session_nodes r ON r.session_key = above.key ORDER BY depth DESC LIMIT 1)
"""
"""SQL for the session id of the topmost ancestor of the node `{node}`.

For a node that no other session spawned, this is its own session id.
"""
_FOLDER_SQL = """
    (SELECT CASE WHEN json_valid(h.event_json)
        THEN CAST(json_extract(h.event_json, '$.cwd') AS TEXT) END
    FROM transcript_events h WHERE h.session_id = {session} ORDER BY h.seq LIMIT 1)
"""
"""SQL for the directory in a session's first event."""
_TITLE_SQL = "coalesce(nullif({node}.label, ''), nullif({node}.display_name, ''))"
# In a database without the column `event_zstd`, the name refers to the column of
# `no_column`, which is always NULL.
_PACKED_SQL = "(SELECT event_zstd FROM transcript_events z WHERE z.rowid = e.rowid)"
# SQL decompresses events, so that their secrets are masked before they are decoded.
_TEXT_SQL = f"coalesce(e.event_json, CAST(decompress_zstd({_PACKED_SQL}) AS TEXT))"
_EVENT_SQL = f"""
    (SELECT json(CASE WHEN json_valid(text) THEN text ELSE json_quote(text) END)
    FROM (SELECT {_TEXT_SQL} AS text))
"""


def _session_sql(session: str, node: str) -> str:
    """Return SQL for the JSON of a session; `node` is the alias of its node."""
    return f"""
        json_object('id', CAST({session} AS TEXT),
            'key', CAST({node}.session_key AS TEXT),
            'spawner', CAST({node}.spawned_by AS TEXT),
            'root', CAST({_ROOT_SQL.format(node=node)} AS TEXT),
            'cwd', {_FOLDER_SQL.format(session=session)},
            'title', CAST({_TITLE_SQL.format(node=node)} AS TEXT))
    """


def _row_sql(session: str) -> str:
    """Return SQL for the entry of the event `e`, with its session's JSON."""
    return f"""
        json_object('session', json({session}), 'seq', CAST(e.seq AS INTEGER),
            'event', json({_EVENT_SQL}),
            'is_packed', e.event_json IS NULL AND {_PACKED_SQL} IS NOT NULL)
    """


_NO_COLUMN_SQL = "(SELECT NULL AS event_zstd) no_column"
_WITH_NODE_SQL = """
    LEFT JOIN session_windows w ON w.session_id = e.session_id
    LEFT JOIN session_nodes n ON n.session_key = w.session_key
"""
_TABLES = ("transcript_events", "session_windows", "session_nodes")
_EVENT_FEED = Feed(
    name="events",
    tables=_TABLES,
    id_column="session_id",
    sql=f"""
        SELECT 0, e.rowid, e.session_id, {_row_sql(_session_sql("e.session_id", "n"))}
        FROM {_NO_COLUMN_SQL} CROSS JOIN transcript_events e {_WITH_NODE_SQL}
        WHERE e.rowid > :row ORDER BY e.rowid
    """,
)
# Other versions may keep their sessions in other tables.
_PLAIN_FEED = Feed(
    name="events without sessions",
    tables=("transcript_events",),
    id_column="session_id",
    unless_table="session_nodes",
    sql=f"""
        SELECT 0, e.rowid, e.session_id,
            {_row_sql("json_object('id', CAST(e.session_id AS TEXT))")}
        FROM {_NO_COLUMN_SQL} CROSS JOIN transcript_events e
        WHERE e.rowid > :row ORDER BY e.rowid
    """,
)
_REWRITE_FEED = Feed(
    name="rewritten sessions",
    tables=("transcript_rewrite_watermarks", *_TABLES),
    start_sql="""
        SELECT updated_at, rowid, NULL FROM transcript_rewrite_watermarks
        ORDER BY updated_at DESC, rowid DESC LIMIT 1
    """,
    sql=f"""
        SELECT m.updated_at, m.rowid, NULL,
            {_row_sql(_session_sql("e.session_id", "n"))}
        FROM {_NO_COLUMN_SQL} CROSS JOIN transcript_rewrite_watermarks m
        JOIN transcript_events e ON e.session_id = m.session_id {_WITH_NODE_SQL}
        WHERE (m.updated_at, m.rowid) > (:after, :row)
        ORDER BY m.updated_at, m.rowid, e.seq
    """,
)
_TITLE_FEED = Feed(
    name="titles",
    tables=("session_nodes", "transcript_events"),
    sql=f"""
        SELECT n.updated_at, n.rowid, NULL,
            CASE WHEN {_TITLE_SQL.format(node="n")} IS NOT NULL THEN
            json_object('session', json({_session_sql("n.current_session_id", "n")}))
            END
        FROM session_nodes n WHERE (n.updated_at, n.rowid) > (:after, :row)
        ORDER BY n.updated_at, n.rowid
    """,
)
FEEDS = (_EVENT_FEED, _PLAIN_FEED, _REWRITE_FEED, _TITLE_FEED)
