"""The views for `leslied sql` and scripts: each column with its description and SQL.

Views are created for each connection, so they always match the program and need no
migration. They call functions that `store.read.sql_query` defines; a join through such
a function costs nothing in a query that does not use its columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.model.field import index_by_name
from leslied.model.field_tables import (
    RECORD_FIELDS,
    SESSION_FIELDS,
    UNIT_FIELDS,
    USAGE_FIELDS,
)
from leslied.store.read.filter_sql import make_project_sql
from leslied.store.read.view import NO_REDACTION, REDACT_TEXT, Column, View, make_plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leslied.model.field import Field


_ISO_TIME_SQL = "strftime('%Y-%m-%dT%H:%M:%fZ', {})"
"""SQL for a time as text that sorts: ISO, UTC, to the millisecond."""


def _time_sql(microseconds: str) -> str:
    """Return SQL for a time as text, from SQL for microseconds since 1970."""
    return _ISO_TIME_SQL.format(f"{microseconds} / 1e6, 'unixepoch'")


def _null_if_empty(column: str) -> str:
    """Return SQL for a text column of record `r`, with NULL instead of ''."""
    return f"nullif(r.{column}, '')"


def _is_error_sql(metadata: str) -> str:
    """Return SQL for whether a result's metadata says that the tool failed."""
    return (
        f"CASE WHEN {metadata} <> '' "
        f"THEN ifnull(json_extract({metadata}, '$.is_error'), 0) <> 0 ELSE 0 END"
    )


_IS_VISIBLE = "(p.is_copy = 0 OR s.originals = 0)"
SESSION_NAMES_TABLE = "session_names"
"""Temporary table or view with the names of every stream, without secrets."""
SESSION_NAME_COLUMNS = ("id", "session_id", "source", "thread_id", "project")
SESSION_NAMES_SQL = (
    "SELECT s.id, s.session_id, s.source, nullif(s.thread_id, '') AS thread_id, "
    f"nullif({make_project_sql('s')}, '') AS project FROM main.session s"
)
# A left join costs nothing in a query that does not use the names.
_JOIN_NAMES = f"LEFT JOIN {SESSION_NAMES_TABLE} i ON i.id = s.id"
_FROM_RECORDS = (
    f"FROM placement p JOIN session s ON s.id = p.session {_JOIN_NAMES} "
    "JOIN record r ON r.entry = p.entry AND r.is_current = 1"
)
_TEXT_SQL = "CASE WHEN {0}.spilled <> '' THEN {0}.spilled ELSE {0}.content END"
_SECONDS_SQL = (
    "CASE WHEN a.created_us >= r.created_us "
    "THEN round((a.created_us - r.created_us) / 1e6, 3) END"
)
_TOOL_SQL = (
    "CASE WHEN r.type = 'tool_result' THEN "
    "ifnull(call_of(p.session, r.tool_call_id), nullif(r.tool_name, '')) "
    "ELSE nullif(r.tool_name, '') END"
)
# `+r.type` prevents the planner from reading all calls of the store for one session.
_FROM_CALLS = f"{_FROM_RECORDS} AND +r.type = 'tool_use'"
_JOIN_RESULT = "LEFT JOIN record a ON a.id = answer_of(p.session, r.tool_call_id)"
_EXCERPT_CHARACTERS = 200
_EXCERPT_SOURCE_CHARACTERS = 64 * 1024
"""Only this much of a text is redacted for its excerpt. It is far more than the excerpt
shows, so a secret that is cut in two at this limit is not in the excerpt."""


def _make_excerpt_sql(text: str) -> str:
    """Return SQL for the first `_EXCERPT_CHARACTERS` of the redacted text."""
    start = f"substr({text}, 1, {_EXCERPT_SOURCE_CHARACTERS})"
    return f"redact_start({start}, {_EXCERPT_CHARACTERS})"


_DAY_SQL = "date(created_us / 1e6, 'unixepoch')"

_ENTRY_SQL = {
    "agent": "s.agent",
    "session_id": "i.session_id",
    "source": "i.source",
    "sequence": "sequence_of(p.session, p.id)",
    "unit": "p.unit",
    "chat_id": "chat_of(p.session, p.unit)",
    "thread_id": "i.thread_id",
    "project": "i.project",
    "type": "r.type",
    "role": "r.role",
    "created_at": _time_sql("r.created_us"),
    "content": _TEXT_SQL.format("r"),
    "tool_name": _TOOL_SQL,
    "tool_call_id": _null_if_empty("tool_call_id"),
    "tool_input": _null_if_empty("tool_input"),
    "model": _null_if_empty("model"),
    "message_id": _null_if_empty("message_id"),
    "parent_id": _null_if_empty("parent_id"),
    "metadata": _null_if_empty("metadata"),
    "entry_id": "lower(hex(r.entry_id))",
    "log_path": "(SELECT CAST(o.path AS TEXT) FROM source o WHERE o.id = p.source)",
}
"""SQL of the columns that entries have, in the order of the view."""
_ENTRY_REDACTIONS = {
    **dict.fromkeys(("agent", "session_id", "source", "sequence"), NO_REDACTION),
    **dict.fromkeys(("unit", "chat_id", "thread_id", "project"), NO_REDACTION),
    **dict.fromkeys(("type", "role", "created_at", "entry_id"), NO_REDACTION),
    **dict.fromkeys(("tool_input", "metadata"), "redact_json"),
}
"""Redaction of the columns that are not redacted as plain text."""
_PLACEMENT_ABOUT = {
    "unit": "the number of the unit; 0 before the first prompt",
    "chat_id": "the unit's id, for `show`",
    "thread_id": "the session's thread",
    "project": "the session's project",
    "log_path": "the file or database it was read from",
}
"""Descriptions of the columns that are not fields of a record."""


def make_entry_columns(fields: Iterable[Field] = RECORD_FIELDS) -> Iterator[Column]:
    """Yield the columns of entries; a field without SQL is a text column of records."""
    columns = {field.name: field.about for field in fields if field.is_column}
    about_by_name = columns | _PLACEMENT_ABOUT
    for name in dict.fromkeys((*_ENTRY_SQL, *columns)):
        sql = _ENTRY_SQL.get(name) or _null_if_empty(name)
        redact = _ENTRY_REDACTIONS.get(name, REDACT_TEXT)
        yield Column(name, about_by_name[name], sql, redact)


_ENTRY_COLUMNS = {column.name: column for column in make_entry_columns()}
_UNIT_ABOUT = {name: field.about for name, field in index_by_name(UNIT_FIELDS).items()}
_AGENT, _SESSION, _SOURCE, _SEQUENCE, _UNIT, _CREATED = (
    _ENTRY_COLUMNS[name]
    for name in ("agent", "session_id", "source", "sequence", "unit", "created_at")
)
_PROJECT, _CALL, _ENTRY, _MODEL, _TOOL = (
    _ENTRY_COLUMNS[name]
    for name in ("project", "tool_call_id", "entry_id", "model", "tool_name")
)

ENTRIES = View(
    "transcript_entries",
    "Every entry of every session and subagent, as in `show`.",
    tuple(_ENTRY_COLUMNS.values()),
    f"{_FROM_RECORDS} WHERE {_IS_VISIBLE}",
)

FLOW = View(
    "transcript_flow",
    "The order of a conversation: each entry with the previous and the next one.",
    (
        _AGENT,
        _SESSION,
        _SOURCE,
        _SEQUENCE,
        _UNIT,
        _CREATED,
        make_plain("type", "the entry's type", "r.type"),
        make_plain("role", "the entry's role", "r.role"),
        _TOOL,
        make_plain(
            "previous_type", "type of the previous entry in its source", "b.type"
        ),
        make_plain("previous_role", "role of the previous entry", "b.role"),
        make_plain("next_type", "type of the next entry in its source", "n.type"),
        make_plain("next_role", "role of the next entry", "n.role"),
        make_plain(
            "seconds",
            "time since the previous entry; negative if the log is not in time order",
            "round((r.created_us - b.created_us) / 1e6, 3)",
        ),
        make_plain(
            "excerpt",
            f"the first {_EXCERPT_CHARACTERS} characters of the content",
            _make_excerpt_sql(_TEXT_SQL.format("r")),
        ),
    ),
    f"{_FROM_RECORDS} "
    "LEFT JOIN record b ON b.id = neighbour_of(p.session, p.id, -1) "
    "LEFT JOIN record n ON n.id = neighbour_of(p.session, p.id, 1) "
    f"WHERE {_IS_VISIBLE}",
)

TOOLS = View(
    "transcript_tools",
    "Every tool call, with its result.",
    (
        _AGENT,
        _SESSION,
        _SOURCE,
        _SEQUENCE,
        _UNIT,
        _PROJECT,
        Column("tool_name", "the tool", "r.tool_name"),
        Column(
            "input",
            "the call's arguments, as JSON",
            _null_if_empty("tool_input"),
            "redact_json",
        ),
        make_plain("asked_at", "the time of the call", _time_sql("r.created_us")),
        make_plain("answered_at", "the time of the result", _time_sql("a.created_us")),
        make_plain(
            "seconds",
            "time from call to result, including the wait for permission",
            _SECONDS_SQL,
        ),
        make_plain("is_answered", "1 if there is a result, else 0", "a.id IS NOT NULL"),
        make_plain(
            "is_error", "1 if the tool failed, else 0", _is_error_sql("a.metadata")
        ),
        Column("result", "the text of the result", _TEXT_SQL.format("a")),
        _MODEL,
        _CALL,
        _ENTRY,
    ),
    f"{_FROM_CALLS} {_JOIN_RESULT} WHERE {_IS_VISIBLE}",
)

TIMELINE = View(
    "tool_timeline",
    "Tool calls that have a time, the earliest first.",
    (
        _AGENT,
        _SESSION,
        _SOURCE,
        Column("tool_name", "the tool", "r.tool_name"),
        make_plain("started_at", "the time of the call", _time_sql("r.created_us")),
        make_plain("ended_at", "the time of the result", _time_sql("a.created_us")),
        make_plain("seconds", "time from call to result", _SECONDS_SQL),
        make_plain(
            "since_start",
            "seconds from the first entry of its source to the call",
            "round((r.created_us - s.started_us) / 1e6, 3)",
        ),
        make_plain("is_answered", "1 if there is a result, else 0", "a.id IS NOT NULL"),
        make_plain(
            "is_error", "1 if the tool failed, else 0", _is_error_sql("a.metadata")
        ),
        make_plain(
            "input",
            f"the first {_EXCERPT_CHARACTERS} characters of the arguments",
            _make_excerpt_sql("r.tool_input"),
        ),
        _CALL,
    ),
    f"{_FROM_CALLS} {_JOIN_RESULT} "
    f"WHERE {_IS_VISIBLE} AND r.created_us IS NOT NULL ORDER BY r.created_us, p.id",
)

ERRORS = View(
    "error_summary",
    "Failures by agent and tool; entries shared by forks count once.",
    (
        _AGENT,
        make_plain("type", "`tool_result` or `error`", "r.type"),
        Column("tool_name", "the tool that failed; NULL for errors", _TOOL_SQL),
        make_plain("failures", "number of failures", "count(*)"),
        make_plain(
            "sessions",
            "number of sessions with failures",
            "count(DISTINCT s.session_id)",
        ),
        make_plain(
            "first_at",
            "the time of the earliest failure",
            _time_sql("min(r.created_us)"),
        ),
        make_plain(
            "last_at",
            "the time of the latest failure",
            _time_sql("max(r.created_us)"),
        ),
        make_plain("session_id", "the session of the example", "i.session_id"),
        make_plain(
            "example",
            f"the first {_EXCERPT_CHARACTERS} characters of the earliest or latest "
            "failure",
            _make_excerpt_sql(_TEXT_SQL.format("r")),
        ),
    ),
    "FROM record r JOIN placement p ON p.id = "
    "(SELECT min(id) FROM placement WHERE entry = r.entry) "
    f"JOIN session s ON s.id = p.session {_JOIN_NAMES} "
    f"WHERE r.is_current = 1 AND {_IS_VISIBLE} AND (r.type = 'error' "
    f"OR r.type = 'tool_result' AND {_is_error_sql('r.metadata')}) GROUP BY 1, 2, 3",
)

DAILY = View(
    "usage_daily",
    "Tokens by day, agent and model; every API message counts once.",
    (
        make_plain("day", "the day in UTC, such as `2026-01-31`", _DAY_SQL),
        make_plain("agent", "the agent's name", "agent"),
        Column("model", "the model", "model"),
        make_plain("messages", "number of API messages", "count(*)"),
        *(
            make_plain(field.name, field.about, f"CAST(total({field.name}) AS INTEGER)")
            for field in USAGE_FIELDS
        ),
    ),
    "FROM usage GROUP BY 1, 2, 3",
)

_FROM_UNIT = (
    "FROM placement q JOIN record x ON x.entry = q.entry AND x.is_current = 1 "
    "WHERE q.session = p.session AND q.unit = p.unit "
    "AND (q.is_copy = 0 OR s.originals = 0)"
)

UNITS = View(
    "units",
    "Units: from one prompt to just before the next. A subagent is a single unit.",
    (
        _AGENT,
        _SESSION,
        _SOURCE,
        _UNIT,
        _ENTRY_COLUMNS["chat_id"],
        make_plain(
            "started_at",
            _UNIT_ABOUT["started_at"],
            _time_sql("start_of(p.session, p.unit)"),
        ),
        make_plain(
            "ended_at",
            _UNIT_ABOUT["ended_at"],
            _time_sql("end_of(p.session, p.unit)"),
        ),
        Column(
            "prompt",
            f"{_UNIT_ABOUT['prompt']}; NULL before the first prompt",
            "CASE WHEN p.unit > 0 OR s.source <> 'main' THEN (SELECT x.content "
            f"{_FROM_UNIT} AND x.type = 'user_message' ORDER BY q.id LIMIT 1) END",
        ),
        make_plain(
            "rewound",
            f"{_UNIT_ABOUT['rewound']}: 1 or 0; NULL for a subagent",
            "CASE s.source WHEN 'main' THEN is_rewound(s.forks, s.units, p.unit) END",
        ),
        make_plain("entries", "number of entries", f"(SELECT count(*) {_FROM_UNIT})"),
        make_plain(
            "tool_calls",
            _UNIT_ABOUT["tool_calls"],
            f"(SELECT count(*) {_FROM_UNIT} AND x.type = 'tool_use')",
        ),
        Column(
            "transcript",
            _UNIT_ABOUT["transcript"],
            "(SELECT CAST(t.folder AS TEXT) || '/' || t.file FROM transcript t WHERE "
            "t.session = p.session AND t.unit = p.unit AND t.newest > 0 "
            "AND NOT t.is_removed)",
        ),
    ),
    f"FROM session s JOIN placement p ON p.session = s.id {_JOIN_NAMES} "
    "WHERE p.id = (SELECT min(q.id) FROM placement q WHERE q.session = s.id "
    "AND q.unit = p.unit AND (q.is_copy = 0 OR s.originals = 0))",
)

SESSION_LIST_TABLE = "session_list"
"""Temporary table that is filled before a query over `sessions`, without secrets."""


def _iter_session_columns() -> Iterator[Column]:
    """Yield the columns of `sessions`; the tokens have a column each."""
    for field in SESSION_FIELDS:
        if field.name == "usage":
            for count in USAGE_FIELDS:
                is_first = count is USAGE_FIELDS[0]
                note = "; these four include subagents" if is_first else ""
                yield make_plain(count.name, count.about + note, count.name)
            continue
        name = "session_id" if field.name == "id" else field.name
        is_time = name.endswith("_at")
        sql = _ISO_TIME_SQL.format(name) if is_time else name
        yield make_plain(name, field.about, sql)


SESSIONS = View(
    "sessions",
    "The sessions, as in `list` at the time of the query.",
    tuple(_iter_session_columns()),
    f"FROM {SESSION_LIST_TABLE}",
)

VIEWS = (SESSIONS, UNITS, ENTRIES, FLOW, TOOLS, TIMELINE, ERRORS, DAILY)
"""All views, in the order of the documentation."""
