"""Define the queries that read Crush's database.

An entry is a message with the current state of its session. Crush updates the parts of
a message in place while the model answers, and its times are whole seconds. So the
messages that changed last are read again when the time of the last change is new, or
when the messages with that time have become longer.
"""

from __future__ import annotations

from leslied.agents._feed_sql import json_sql, root_sql
from leslied.model.source import Feed

_RECENT_ROWS = 1000
"""This many of the newest messages are checked for changes."""
_MAX_PARTS_SIZE = 24_000_000
"""Size of the largest message that is read."""
_ENTRY_SQL = f"""
    CASE WHEN m.session_id NOT LIKE 'title-%' THEN
    json_object('kind', 'message', 'id', CAST(m.id AS TEXT),
        'role', CAST(m.role AS TEXT), 'model', CAST(m.model AS TEXT),
        'is_summary', CAST(m.is_summary_message AS INTEGER),
        'created', CAST(m.created_at AS INTEGER),
        'parts', CASE WHEN length(m.parts) <= {_MAX_PARTS_SIZE}
            THEN {json_sql("m.parts")} END,
        'session', json_object('id', CAST(m.session_id AS TEXT),
            'root', {root_sql("sessions", "parent_session_id", "m.session_id")},
            'title', (SELECT CAST(s.title AS TEXT) FROM sessions s
                WHERE s.id = m.session_id),
            'created', (SELECT CAST(s.created_at AS INTEGER) FROM sessions s
                WHERE s.id = m.session_id)))
    END
"""
"""SQL for the entry of a message; NULL if it was only written to make a title."""
_MARK_SQL = f"""
    recent AS (
        SELECT rowid AS row, CAST(updated_at AS INTEGER) AS at, length(parts) AS size
        FROM messages
        WHERE rowid > (SELECT max(rowid) FROM messages) - {_RECENT_ROWS}
    ),
    mark AS (
        SELECT at, sum(size + 1) AS size FROM recent
        WHERE at = (SELECT max(at) FROM recent) GROUP BY at
    )
"""
# If all recent messages are new, the other feed reads them, with those before them.
_CHANGE_FEED = Feed(
    name="changes",
    tables=("messages", "sessions"),
    start_sql=f"WITH {_MARK_SQL} SELECT at, size, NULL FROM mark",
    sql=f"""
        WITH {_MARK_SQL}
        SELECT mark.at, mark.size, NULL,
            CASE WHEN (SELECT min(at) FROM recent) <= :after
                OR (SELECT count(row) FROM recent) < {_RECENT_ROWS}
            THEN {_ENTRY_SQL} END
        FROM mark JOIN recent r ON r.at >= :after JOIN messages m ON m.rowid = r.row
        WHERE (mark.at, mark.size) > (:after, :row) ORDER BY m.rowid
    """,
)
_MESSAGE_FEED = Feed(
    name="messages",
    tables=("messages", "sessions"),
    id_column="id",
    sql=f"""
        SELECT 0, m.rowid, m.id, {_ENTRY_SQL}
        FROM messages m WHERE m.rowid > :row ORDER BY m.rowid
    """,
)
# Changes come first: an answer that was empty before precedes the results of its calls.
FEEDS = (_CHANGE_FEED, _MESSAGE_FEED)
