"""Define the queries that read Hermes' database.

An entry is a message, the tokens of a model in a session, or the end of a session, each
with the current state of its session. A subagent is a session that was delegated: its
row names its parent, but not the call that started it. So the calls in the parent's
last delegating message before the subagent's first message are read with the row.
"""

from __future__ import annotations

from leslied.agents._feed_sql import MAX_DEPTH, json_sql
from leslied.model.source import Feed


def _is_subagent_sql(session: str) -> str:
    """Return SQL for whether a session was delegated.

    Any other session that has a parent continues its parent.
    """
    return (
        f"({session}.parent_session_id <> '' AND ({session}.source = 'subagent' "
        f"OR instr({session}.model_config, '\"_delegate_from\"') > 0))"
    )


_ROOT_SQL = f"""
    (WITH RECURSIVE above(id, depth) AS (
        SELECT {{session}}, 0
        UNION ALL
        SELECT p.parent_session_id, depth + 1
        FROM above JOIN sessions p ON p.id = above.id
        WHERE {_is_subagent_sql("p")} AND depth < {MAX_DEPTH}
    ) SELECT CAST(id AS TEXT) FROM above ORDER BY depth DESC LIMIT 1)
"""
"""SQL for the id of the topmost ancestor of `{session}`; its own id if it has none."""
_FOLDER_SQL = "(SELECT CAST(r.cwd AS TEXT) FROM sessions r WHERE r.id = {root})"
_FIRST_SQL = "(SELECT min(f.id) FROM messages f WHERE f.session_id = {session})"
_CALLS_SQL = f"""
    (SELECT {json_sql("c.tool_calls")} FROM messages c
    WHERE c.session_id = {{parent}}
    AND c.id < {_FIRST_SQL.format(session="{session}")}
    AND instr(c.tool_calls, '"delegate_task"') > 0 ORDER BY c.id DESC LIMIT 1)
"""
"""SQL for the calls of `{parent}` in its last delegating message before `{session}`."""
_TASK_SQL = f"""
    (SELECT CAST(t.content AS TEXT) FROM messages t
    WHERE t.id = {_FIRST_SQL.format(session="{session}")})
"""


def _session_sql(session: str) -> str:
    """Return SQL for the JSON of the session row with this alias."""
    id_, parent = f"{session}.id", f"{session}.parent_session_id"
    root = _ROOT_SQL.format(session=id_)
    is_subagent = _is_subagent_sql(session)
    return f"""
        json_object('id', CAST({id_} AS TEXT), 'parent', CAST({parent} AS TEXT),
            'root', {root},
            'directory', ifnull(nullif(CAST({session}.cwd AS TEXT), ''),
                {_FOLDER_SQL.format(root=root)}),
            'title', CAST({session}.title AS TEXT),
            'model', CAST({session}.model AS TEXT),
            'started', CAST({session}.started_at AS REAL),
            'ended', CAST({session}.ended_at AS REAL),
            'end_reason', CAST({session}.end_reason AS TEXT),
            'calls', json(CASE WHEN {is_subagent} THEN
                {_CALLS_SQL.format(session=id_, parent=parent)} END),
            'task', CASE WHEN {is_subagent} THEN {_TASK_SQL.format(session=id_)} END)
    """


_MESSAGE_FEED = Feed(
    name="messages",
    tables=("messages", "sessions"),
    id_column="session_id",
    sql=f"""
        SELECT 0, m.id, m.session_id, json_object('kind', 'message', 'row', m.id,
            'role', CAST(m.role AS TEXT), 'content', CAST(m.content AS TEXT),
            'tool_calls', {json_sql("m.tool_calls")},
            'tool_call_id', CAST(m.tool_call_id AS TEXT),
            'tool_name', CAST(m.tool_name AS TEXT),
            'finish_reason', CAST(m.finish_reason AS TEXT),
            'reasoning', CAST(ifnull(m.reasoning, m.reasoning_content) AS TEXT),
            'at', CAST(m.timestamp AS REAL), 'session', json({_session_sql("s")}))
        FROM messages m JOIN sessions s ON s.id = m.session_id
        WHERE m.id > :row ORDER BY m.id
    """,
)
_USAGE_FEED = Feed(
    name="tokens",
    tables=("session_model_usage", "sessions", "messages"),
    sql=f"""
        SELECT CAST(u.last_seen * 1000000 AS INTEGER), u.rowid, NULL,
            json_object('kind', 'usage', 'model', CAST(u.model AS TEXT),
                'provider', CAST(u.billing_provider AS TEXT),
                'mode', CAST(u.billing_mode AS TEXT), 'task', CAST(u.task AS TEXT),
                'at', CAST(u.first_seen AS REAL),
                'input', CAST(u.input_tokens AS INTEGER),
                'output', CAST(u.output_tokens AS INTEGER),
                'cache_read', CAST(u.cache_read_tokens AS INTEGER),
                'cache_write', CAST(u.cache_write_tokens AS INTEGER),
                'session', json({_session_sql("s")}))
        FROM session_model_usage u JOIN sessions s ON s.id = u.session_id
        WHERE (CAST(u.last_seen * 1000000 AS INTEGER), u.rowid) > (:after, :row)
        AND EXISTS (SELECT m.id FROM messages m WHERE m.session_id = s.id)
        ORDER BY 1, 2
    """,
)
_END_FEED = Feed(
    name="ends",
    tables=("sessions", "messages"),
    sql=f"""
        SELECT CAST(s.ended_at * 1000000 AS INTEGER), s.rowid, NULL,
            json_object('kind', 'end', 'session', json({_session_sql("s")}))
        FROM sessions s
        WHERE (CAST(s.ended_at * 1000000 AS INTEGER), s.rowid) > (:after, :row)
        AND EXISTS (SELECT m.id FROM messages m WHERE m.session_id = s.id)
        ORDER BY 1, 2
    """,
)
FEEDS = (_MESSAGE_FEED, _USAGE_FEED, _END_FEED)
