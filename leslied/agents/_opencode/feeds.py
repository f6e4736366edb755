"""Define the queries that read OpenCode's database.

An entry is a message with the current state of all its parts, so that entries are in
the order of the conversation and the author of each part is known. The first read goes
session by session; later reads follow new messages. OpenCode updates messages and parts
in place. If there is a table of events, each event names the message or session to read
again; in older databases, rows are read again if their time of change is new.
"""

from __future__ import annotations

from leslied.model.source import Feed

_CHANGES_PER_QUERY = 64
"""Number of changes per query; the rows that the changes name are read together."""
_MAX_RECENT_ROWS = 2000
"""Without events, this many of the newest rows are checked for changes."""
_MAX_PART_SIZE = 8_000_000
"""Size of the largest part that is read."""
_MAX_PARTS_SIZE = 24_000_000
"""If the parts of a message together are larger, only small parts are read."""
_SMALL_PART_SIZE = 10_000
"""Size of the largest part that counts as small."""


def _json_sql(column: str) -> str:
    """Return SQL for the column's JSON; invalid JSON becomes a JSON string."""
    return (
        f"CASE WHEN json_valid({column}) THEN {column} "
        f"ELSE json_quote(CAST({column} AS TEXT)) END"
    )


def _text_sql(column: str) -> str:
    return f"CAST({column} AS TEXT)"


_ROOT_SQL = """
    (WITH RECURSIVE above(id, depth) AS (
        SELECT {session}, 0
        UNION ALL
        SELECT s.parent_id, depth + 1 FROM above JOIN session s ON s.id = above.id
        WHERE s.parent_id <> '' AND depth < 20
    ) SELECT CAST(id AS TEXT) FROM above ORDER BY depth DESC LIMIT 1)
"""
"""SQL for the id of the topmost ancestor of `{session}`; its own id if it has none.

The depth is limited because two damaged sessions may be each other's parents.
"""
_SESSION_SQL = f"""
    ifnull(
        (SELECT json_object(
            'id', {_text_sql("s.id")}, 'parent', {_text_sql("s.parent_id")},
            'directory', {_text_sql("s.directory")}, 'title', {_text_sql("s.title")},
            'version', {_text_sql("s.version")},
            'created', CAST(s.time_created AS INTEGER),
            'root', {_ROOT_SQL.format(session="s.id")})
        FROM session s WHERE s.id = {{session}}),
        json_object('id', {_text_sql("{session}")}, 'root', {_text_sql("{session}")}))
"""
"""SQL for the JSON of the session `{session}`, even if its row is missing."""
_PARTS_SQL = f"""
    ifnull(
        (SELECT group_concat(
            '{{{{"id":' || json_quote({_text_sql("id")}) || ',"data":' || (
            CASE WHEN length(data) > iif(total > {_MAX_PARTS_SIZE}, {_SMALL_PART_SIZE},
                {_MAX_PART_SIZE})
            THEN json_object('type', 'oversized', 'size', length(data))
            ELSE {_json_sql("data")} END) || '}}}}')
        FROM (SELECT p.id, p.data, (
                SELECT total(length(data)) FROM part WHERE message_id = {{message}}
            ) AS total FROM part p WHERE p.message_id = {{message}} ORDER BY p.id)),
        '')
"""
"""SQL for the JSON of all parts of the message `{message}`, separated by commas."""


def _message_sql(message: str) -> str:
    """Return SQL for the entry of the message row with this alias."""
    session = _SESSION_SQL.format(session=f"{message}.session_id")
    parts = _PARTS_SQL.format(message=f"{message}.id")
    return (
        f"""'{{"kind":"message","id":' || json_quote({_text_sql(f"{message}.id")}) """
        f"""|| ',"session":' || {session} """
        f"""|| ',"data":' || ({_json_sql(f"{message}.data")}) """
        f"""|| ',"parts":[' || {parts} || ']}}'"""
    )


def _session_sql(session: str) -> str:
    """Return SQL for the entry of the session row with this alias."""
    session_json = _SESSION_SQL.format(session=f"{session}.id")
    return f"""'{{"kind":"session","session":' || {session_json} || '}}'"""


def _changes_sql(changes_query: str) -> str:
    """Return SQL for the rows that changed, in the order of the conversation.

    `changes_query` selects four columns: the two numbers of a feed's mark, the id of
    the changed row or NULL, and the id of the message or session to read again. All
    result rows have the mark of the last change. If anything changed, there is at least
    one row, so that the mark advances even if the message was deleted.
    """
    return f"""
        WITH change(after, row, row_id, target) AS ({changes_query}),
        last AS (SELECT * FROM change ORDER BY after DESC, row DESC LIMIT 1)
        SELECT last.after, last.row, last.row_id,
            CASE WHEN m.id IS NOT NULL THEN {_message_sql("m")}
            WHEN x.id IS NOT NULL THEN {_session_sql("x")} END
        FROM last, (SELECT DISTINCT target AS id FROM change) t
        LEFT JOIN message m ON m.id = t.id LEFT JOIN session x ON x.id = t.id
        ORDER BY m.rowid
    """


_EVENT_TARGET_SQL = """
    CASE WHEN json_valid(data) THEN coalesce(
        json_extract(data, '$.part.messageID'), json_extract(data, '$.messageID'),
        json_extract(data, '$.info.id')) END
"""
"""SQL for the id of the message or session that an event changed."""
_CHANGED_AT_SQL = "CAST(time_updated AS INTEGER)"


def _make_change_feed(table: str, target: str) -> Feed:
    """Return a feed of a table's newest rows, by the time of their last change.

    `target` is the column with the id of the message or session to read again.
    """
    recent = f"rowid > (SELECT max(rowid) FROM {table}) - {_MAX_RECENT_ROWS}"
    columns = f"SELECT {_CHANGED_AT_SQL} AS after, rowid AS row, NULL"
    return Feed(
        name=f"{table} changes",
        tables=(table, "session", "message", "part"),
        unless_table="event",
        start_sql=f"{columns} FROM {table} WHERE {recent} "
        "ORDER BY 1 DESC, 2 DESC LIMIT 1",
        sql=_changes_sql(
            f"{columns}, {target} FROM {table} "
            f"WHERE {recent} AND ({_CHANGED_AT_SQL}, rowid) > (:after, :row) "
            f"ORDER BY 1, 2 LIMIT {_CHANGES_PER_QUERY}"
        ),
    )


_SESSION_FEED = Feed(
    name="sessions",
    tables=("session", "message", "part"),
    sql=f"SELECT s.rowid, CAST(m.time_created AS INTEGER), NULL, {_message_sql('m')} "
    "FROM session s JOIN message m ON m.session_id = s.id "
    "WHERE s.rowid >= :after AND (s.rowid > :after OR m.time_created > :row) "
    "ORDER BY s.rowid, m.time_created, m.id",
)
_MESSAGE_FEED = Feed(
    name="messages",
    tables=("message", "part", "session"),
    id_column="id",
    start_sql="SELECT 0, rowid, id FROM message ORDER BY rowid DESC LIMIT 1",
    sql=f"SELECT 0, m.rowid, m.id, {_message_sql('m')} FROM message m "
    "WHERE m.rowid > :row ORDER BY m.rowid",
)
_EVENT_FEED = Feed(
    name="events",
    tables=("event", "message", "part", "session"),
    id_column="id",
    start_sql="SELECT 0, rowid, id FROM event ORDER BY rowid DESC LIMIT 1",
    sql=_changes_sql(
        f"SELECT 0, rowid, id, {_EVENT_TARGET_SQL} FROM event "
        f"WHERE rowid > :row ORDER BY rowid LIMIT {_CHANGES_PER_QUERY}"
    ),
)
# Feeds of changes come first: the row of a prompt exists before it has text, and the
# prompt must not be decoded after an answer that was written in the meantime.
FEEDS = (
    _EVENT_FEED,
    _make_change_feed("part", "message_id"),
    _make_change_feed("message", "id"),
    _make_change_feed("session", "id"),
    _SESSION_FEED,
    _MESSAGE_FEED,
)
