"""The views for `leslied sql` and scripts: each column with its description and SQL.

Views are created for each connection, so they always match the program and need no
migration. They call functions that `store.read.sql_query` defines; a join through such
a function costs nothing in a query that does not use its columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Column(NamedTuple):
    """Column of a view: name, description and SQL."""

    name: str
    about: str
    sql: str


@dataclass(frozen=True, slots=True)
class View:
    """A view with its description, from which documentation and SQL are generated."""

    name: str
    about: str
    columns: tuple[Column, ...]
    from_sql: str
    """SQL of the FROM clause and everything after it."""

    @property
    def create_sql(self) -> str:
        """SQL that creates the view."""
        columns = ", ".join(f"{column.sql} AS {column.name}" for column in self.columns)
        return f"CREATE TEMP VIEW {self.name} AS SELECT {columns} {self.from_sql}"


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
_FROM_RECORDS = (
    "FROM placement p JOIN session s ON s.id = p.session "
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
_ENTRY_ID_SQL = "lower(hex(r.entry_id))"
_DAY_SQL = "date(created_us / 1e6, 'unixepoch')"

_AGENT = Column("agent", "the agent's name, such as `claude-code`", "s.agent")
_SESSION = Column("session_id", "the session's id", "s.session_id")
_SOURCE = Column("source", "`main`, or `subagent:` and the subagent's id", "s.source")
_SEQUENCE = Column(
    "sequence",
    "position in its source: 1, 2, … without gaps",
    "sequence_of(p.session, p.id)",
)
_UNIT = Column("unit", "the number of the unit; 0 before the first prompt", "p.unit")
_CREATED = Column(
    "created_at",
    "the time in the log, such as `2026-01-31T15:00:00.000Z`",
    _time_sql("r.created_us"),
)
_PROJECT = Column("project", "the session's working directory", "nullif(s.cwd, '')")
_CALL = Column(
    "tool_call_id", "joins a call and its result", _null_if_empty("tool_call_id")
)
_ENTRY = Column("entry_id", "the entry's id, which never changes", _ENTRY_ID_SQL)
_MODEL = Column("model", "the model that wrote it", _null_if_empty("model"))

ENTRIES = View(
    "transcript_entries",
    "Every entry of every session and subagent, as in `show`.",
    (
        _AGENT,
        _SESSION,
        _SOURCE,
        _SEQUENCE,
        _UNIT,
        Column("chat_id", "the unit's id, for `show`", "chat_of(p.session, p.unit)"),
        Column("thread_id", "the session's thread", "nullif(s.thread_id, '')"),
        _PROJECT,
        Column("type", "`user_message`, `tool_use`, `error`, …", "r.type"),
        Column("role", "`system`, `user`, `assistant` or `tool`", "r.role"),
        _CREATED,
        Column(
            "content",
            "the text: message, thinking or tool result",
            _TEXT_SQL.format("r"),
        ),
        Column("tool_name", "the tool, for calls and results", _TOOL_SQL),
        _CALL,
        Column(
            "tool_input", "the call's arguments, as JSON", _null_if_empty("tool_input")
        ),
        _MODEL,
        Column(
            "message_id", "the API message it is part of", _null_if_empty("message_id")
        ),
        Column(
            "parent_id",
            "the id of the entry it follows, from the log",
            _null_if_empty("parent_id"),
        ),
        Column(
            "metadata", "other data from the log, as JSON", _null_if_empty("metadata")
        ),
        _ENTRY,
        Column(
            "log_path",
            "the file or database it was read from",
            "(SELECT CAST(o.path AS TEXT) FROM source o WHERE o.id = p.source)",
        ),
    ),
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
        Column("type", "the entry's type", "r.type"),
        Column("role", "the entry's role", "r.role"),
        Column("tool_name", "the tool, for calls and results", _TOOL_SQL),
        Column("previous_type", "type of the previous entry in its source", "b.type"),
        Column("previous_role", "role of the previous entry", "b.role"),
        Column("next_type", "type of the next entry in its source", "n.type"),
        Column("next_role", "role of the next entry", "n.role"),
        Column(
            "seconds",
            "time since the previous entry; negative if the log is not in time order",
            "round((r.created_us - b.created_us) / 1e6, 3)",
        ),
        Column(
            "excerpt",
            f"the first {_EXCERPT_CHARACTERS} characters of the content",
            f"cut_words({_TEXT_SQL.format('r')}, {_EXCERPT_CHARACTERS})",
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
        Column("input", "the call's arguments, as JSON", _null_if_empty("tool_input")),
        Column("asked_at", "the time of the call", _time_sql("r.created_us")),
        Column("answered_at", "the time of the result", _time_sql("a.created_us")),
        Column(
            "seconds",
            "time from call to result, including the wait for permission",
            _SECONDS_SQL,
        ),
        Column("is_answered", "1 if there is a result, else 0", "a.id IS NOT NULL"),
        Column("is_error", "1 if the tool failed, else 0", _is_error_sql("a.metadata")),
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
        Column("started_at", "the time of the call", _time_sql("r.created_us")),
        Column("ended_at", "the time of the result", _time_sql("a.created_us")),
        Column("seconds", "time from call to result", _SECONDS_SQL),
        Column(
            "since_start",
            "seconds from the first entry of its source to the call",
            "round((r.created_us - s.started_us) / 1e6, 3)",
        ),
        Column("is_answered", "1 if there is a result, else 0", "a.id IS NOT NULL"),
        Column("is_error", "1 if the tool failed, else 0", _is_error_sql("a.metadata")),
        Column(
            "input",
            f"the first {_EXCERPT_CHARACTERS} characters of the arguments",
            f"cut_words(r.tool_input, {_EXCERPT_CHARACTERS})",
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
        Column("type", "`tool_result` or `error`", "r.type"),
        Column("tool_name", "the tool that failed; NULL for errors", _TOOL_SQL),
        Column("failures", "number of failures", "count(*)"),
        Column(
            "sessions",
            "number of sessions with failures",
            "count(DISTINCT s.session_id)",
        ),
        Column(
            "first_at",
            "the time of the earliest failure",
            _time_sql("min(r.created_us)"),
        ),
        Column(
            "last_at",
            "the time of the latest failure",
            _time_sql("max(r.created_us)"),
        ),
        Column("session_id", "the session of the example", "s.session_id"),
        Column(
            "example",
            f"the first {_EXCERPT_CHARACTERS} characters of the earliest or latest "
            "failure",
            f"cut_words({_TEXT_SQL.format('r')}, {_EXCERPT_CHARACTERS})",
        ),
    ),
    "FROM record r JOIN placement p ON p.id = "
    "(SELECT min(id) FROM placement WHERE entry = r.entry) "
    "JOIN session s ON s.id = p.session "
    f"WHERE r.is_current = 1 AND {_IS_VISIBLE} AND (r.type = 'error' "
    f"OR r.type = 'tool_result' AND {_is_error_sql('r.metadata')}) GROUP BY 1, 2, 3",
)

DAILY = View(
    "usage_daily",
    "Tokens by day, agent and model; every API message counts once.",
    (
        Column("day", "the day in UTC, such as `2026-01-31`", _DAY_SQL),
        Column("agent", "the agent's name", "agent"),
        Column("model", "the model", "model"),
        Column("messages", "number of API messages", "count(*)"),
        *(
            Column(name, about, f"CAST(total({name}) AS INTEGER)")
            for name, about in (
                ("input_tokens", "input tokens that were not cached"),
                ("output_tokens", "output tokens, including thinking"),
                ("cache_read_tokens", "tokens read from the cache"),
                ("cache_write_tokens", "tokens written to the cache"),
            )
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
        Column("chat_id", "the unit's id, for `show`", "chat_of(p.session, p.unit)"),
        Column(
            "started_at",
            "the earliest time of its entries",
            _time_sql(f"(SELECT min(x.created_us) {_FROM_UNIT})"),
        ),
        Column(
            "ended_at",
            "the latest time of its entries",
            _time_sql(f"(SELECT max(x.created_us) {_FROM_UNIT})"),
        ),
        Column(
            "prompt",
            "the text of the prompt; NULL before the first prompt",
            "CASE WHEN p.unit > 0 OR s.source <> 'main' THEN (SELECT x.content "
            f"{_FROM_UNIT} AND x.type = 'user_message' ORDER BY q.id LIMIT 1) END",
        ),
        Column("entries", "number of entries", f"(SELECT count(*) {_FROM_UNIT})"),
        Column(
            "tool_calls",
            "number of tool calls",
            f"(SELECT count(*) {_FROM_UNIT} AND x.type = 'tool_use')",
        ),
        Column(
            "transcript",
            "the path of its transcript, once written",
            "(SELECT CAST(t.folder AS TEXT) || '/' || t.file FROM transcript t WHERE "
            "t.session = p.session AND t.unit = p.unit AND t.newest > 0 "
            "AND NOT t.is_removed)",
        ),
    ),
    "FROM session s JOIN placement p ON p.session = s.id "
    "WHERE p.id = (SELECT min(q.id) FROM placement q WHERE q.session = s.id "
    "AND q.unit = p.unit AND (q.is_copy = 0 OR s.originals = 0))",
)

SESSION_LIST_TABLE = "session_list"
"""Temporary table that is filled before a query over `sessions`."""

SESSIONS = View(
    "sessions",
    "The sessions, as in `list` at the time of the query.",
    tuple(
        Column(
            name, about, _ISO_TIME_SQL.format(name) if name.endswith("_at") else name
        )
        for name, about in (
            ("session_id", "the session's id"),
            ("agent", "the agent's name"),
            ("project", "the session's working directory"),
            ("title", "its title, or the beginning of its first prompt"),
            ("status", "`active`, `idle` or `stopped`"),
            ("started_at", "the time of its first entry"),
            ("ended_at", "the time of its last entry, including subagents"),
            ("units", "number of units"),
            ("tool_calls", "number of tool calls, without subagents"),
            ("subagents", "number of subagents"),
            ("model", "the model of the last message"),
            (
                "input_tokens",
                "input tokens that were not cached; these four include subagents",
            ),
            ("output_tokens", "output tokens, including thinking"),
            ("cache_read_tokens", "tokens read from the cache"),
            ("cache_write_tokens", "tokens written to the cache"),
            ("cost_usd", "cost of the tokens at list prices, where they are known"),
            ("thread_id", "the id of its thread"),
            ("transcripts_dir", "the folder of its transcripts, once written"),
        )
    ),
    f"FROM {SESSION_LIST_TABLE}",
)

VIEWS = (SESSIONS, UNITS, ENTRIES, FLOW, TOOLS, TIMELINE, ERRORS, DAILY)
"""All views, in the order of the documentation."""
