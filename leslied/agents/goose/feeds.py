"""Define the queries that read Goose's database.

An entry is a message with the current state of its session, or a session alone. Goose
only adds messages, or writes all messages of a session again under the same ids. The
session of a subagent does not name its parent. Instead, the result of the call that
started the subagent names the subagent. Below, this result is called the subagent's
link. The messages of a subagent are read as soon as its link exists.
"""

from __future__ import annotations

from leslied.agents._feed_sql import json_sql
from leslied.model.source import Feed

_MESSAGES_PER_QUERY = 64
"""Number of messages per query of the subagents' feed."""
_MAX_CALLS = 32
"""Number of tool results in one message that are searched for subagents."""
_ROWS_BEFORE_SUBAGENT = 100
"""A link may precede its subagent's first message by this many rows."""
_ROWS_AFTER_SUBAGENT = 2000
"""Number of rows after a subagent's last message that are searched for its link."""
_UNLINKED_AFTER_SECONDS = 86_400
"""Age at which a subagent without a link is read as a session of its own."""
_IS_SUBAGENT = "{session}.session_type = 'sub_agent'"
_LINK_KEY = '"subagent_session_id"'
_CHILD_PATH = "'$[' || i || '].toolResult.value._meta.subagent_session_id'"
_CALL_PATH = "'$[' || i || '].id'"


def _session_sql(session: str) -> str:
    """Return SQL for the JSON of the session row with this alias."""
    texts = {
        "id": "id",
        "type": "session_type",
        "directory": "working_dir",
        "name": "name",
        "created": "created_at",
    }
    columns = [
        f"'{key}', CAST({session}.{column} AS TEXT)" for key, column in texts.items()
    ]
    counts = {
        "is_named": "user_set_name",
        "input": "accumulated_input_tokens",
        "output": "accumulated_output_tokens",
    }
    columns += [
        f"'{key}', CAST({session}.{column} AS INTEGER)"
        for key, column in counts.items()
    ]
    columns.append(f"'model', {json_sql(f'{session}.model_config_json')}")
    return f"json_object({', '.join(columns)})"


def _message_sql(message: str, root: str = "NULL", call: str = "NULL") -> str:
    """Return SQL for the entry of the message row with this alias.

    `root` and `call` are SQL for a subagent's main session and for the call that
    started it. Several messages of a session may have the same id, so they are
    numbered.
    """
    return f"""
        json_object('kind', 'message', 'row', {message}.id,
            'id', CAST({message}.message_id AS TEXT),
            'number', (SELECT count(*) FROM messages d
                WHERE d.message_id = {message}.message_id
                AND d.session_id = {message}.session_id AND d.id < {message}.id),
            'role', CAST({message}.role AS TEXT),
            'created', CAST({message}.created_timestamp AS INTEGER),
            'content', {json_sql(f"{message}.content_json")},
            'metadata', {json_sql(f"{message}.metadata_json")},
            'root', CAST({root} AS TEXT), 'call', CAST({call} AS TEXT),
            'session', json((SELECT {_session_sql("x")} FROM sessions x
                WHERE x.id = {message}.session_id)))
    """


def _first_link_sql(child: str, last_row: str) -> str:
    """Return SQL for the row id of the first link to the subagent `child`.

    It is NULL if no row up to `last_row` is such a link. A few rows before the first
    message of the subagent are searched, too.
    """
    return f"""
        (SELECT min(k.id) FROM messages k WHERE k.id <= {last_row}
        AND k.id > (SELECT min(f.id) FROM messages f WHERE f.session_id = {child})
            - {_ROWS_BEFORE_SUBAGENT}
        AND instr(k.content_json, '{_LINK_KEY}:"' || {child} || '"') > 0)
    """


_CHANGES_SQL = f"""
    SELECT r.id, r.session_id, {_IS_SUBAGENT.format(session="s")} AS is_subagent,
        CASE WHEN instr(r.content_json, '{_LINK_KEY}') > 0
            AND json_valid(r.content_json) THEN r.content_json END AS content
    FROM messages r JOIN sessions s ON s.id = r.session_id
    WHERE r.id > :row AND ({_IS_SUBAGENT.format(session="s")}
        OR instr(r.content_json, '{_LINK_KEY}') > 0)
    ORDER BY r.id LIMIT {_MESSAGES_PER_QUERY}
"""
"""SQL for new messages of subagents, and new messages that name one."""
_LINKED_MESSAGES_SQL = f"""
    SELECT l.id, l.session_id, c.id, l.session_id,
        json_extract(l.content, {_CALL_PATH})
    FROM change l JOIN item ON i < json_array_length(l.content)
    JOIN sessions s ON s.id = json_extract(l.content, {_CHILD_PATH})
    JOIN messages c ON c.session_id = s.id AND c.id < l.id
    WHERE NOT l.is_subagent AND {_IS_SUBAGENT.format(session="s")}
    AND l.id = {_first_link_sql("s.id", "l.id")}
"""
"""SQL for the messages that a subagent had when its link was written."""
_LATER_MESSAGES_SQL = f"""
    SELECT r.id, r.session_id, r.id, l.session_id,
        (SELECT json_extract(l.content_json, {_CALL_PATH}) FROM item
        WHERE json_extract(l.content_json, {_CHILD_PATH}) = r.session_id)
    FROM change r JOIN messages l ON l.id = {_first_link_sql("r.session_id", "r.id")}
    WHERE r.is_subagent AND json_valid(l.content_json)
"""
"""SQL for the messages that a subagent in the background writes after its link."""

_SUBAGENT_FEED = Feed(
    name="subagents",
    tables=("messages", "sessions"),
    id_column="session_id",
    sql=f"""
        WITH RECURSIVE item(i) AS (
            SELECT 0 UNION ALL SELECT i + 1 FROM item WHERE i < {_MAX_CALLS - 1}
        ),
        change AS ({_CHANGES_SQL}),
        found(mark, session, message, root, call) AS (
            {_LINKED_MESSAGES_SQL} UNION ALL {_LATER_MESSAGES_SQL}
            UNION ALL SELECT id, session_id, NULL, NULL, NULL FROM change
            UNION ALL SELECT max(id), session_id, NULL, NULL, NULL FROM messages
                WHERE id > :row
                AND (SELECT count(id) FROM change) < {_MESSAGES_PER_QUERY}
        )
        SELECT 0, mark, session,
            CASE WHEN m.id IS NOT NULL THEN {_message_sql("m", "root", "call")} END
        FROM found LEFT JOIN messages m ON m.id = message
        WHERE mark IS NOT NULL ORDER BY mark, m.id
    """,
)
_MESSAGE_FEED = Feed(
    name="messages",
    tables=("messages", "sessions"),
    id_column="session_id",
    sql=f"""
        SELECT 0, m.id, m.session_id,
            CASE WHEN {_IS_SUBAGENT.format(session="s")} THEN NULL
            ELSE {_message_sql("m")} END
        FROM messages m LEFT JOIN sessions s ON s.id = m.session_id
        WHERE m.id > :row ORDER BY m.id
    """,
)
# A subagent without a link is read late: its link might still come, and then it would
# be read both as a session and as a subagent.
_UNLINKED_FEED = Feed(
    name="subagents without a parent",
    tables=("messages", "sessions"),
    id_column="session_id",
    sql=f"""
        WITH subagent AS (
            SELECT s.id,
                (SELECT max(id) FROM messages WHERE session_id = s.id) AS last
            FROM sessions s WHERE {_IS_SUBAGENT.format(session="s")}
        ),
        old AS (
            SELECT subagent.id, last, {
        _first_link_sql("subagent.id", f"last + {_ROWS_AFTER_SUBAGENT}")
    } AS link
            FROM subagent JOIN messages e ON e.id = last
            WHERE last > :row AND e.created_timestamp <
                (SELECT created_timestamp FROM messages ORDER BY id DESC LIMIT 1)
                - {_UNLINKED_AFTER_SECONDS}
            ORDER BY last LIMIT {_MESSAGES_PER_QUERY}
        )
        SELECT 0, last, old.id, CASE WHEN link IS NULL THEN {_message_sql("m")} END
        FROM old JOIN messages m ON m.session_id = old.id
            AND (link IS NULL OR m.id = last)
        ORDER BY last, m.id
    """,
)
# Times of change are in seconds, so the mark also grows with names and tokens.
_SESSION_FEED = Feed(
    name="session changes",
    tables=("sessions", "messages"),
    sql=f"""
        WITH changed AS (
            SELECT s.rowid AS row, CAST(strftime('%s', updated_at) AS INTEGER) AS at,
                length(name) + ifnull(accumulated_total_tokens, 0) + 1 AS size
            FROM sessions s
            WHERE updated_at >= datetime(:after, 'unixepoch')
            AND NOT {_IS_SUBAGENT.format(session="s")}
            AND EXISTS (SELECT m.id FROM messages m WHERE m.session_id = s.id)
        ),
        total AS (SELECT at, sum(size) AS size FROM changed GROUP BY at)
        SELECT total.at, total.size, NULL, json_object('kind', 'session',
            'session', json({_session_sql("s")}))
        FROM total JOIN changed ON changed.at = total.at
        JOIN sessions s ON s.rowid = changed.row
        WHERE (total.at, total.size) > (:after, :row)
        ORDER BY total.at, total.size
    """,
)
FEEDS = (_MESSAGE_FEED, _SUBAGENT_FEED, _UNLINKED_FEED, _SESSION_FEED)
