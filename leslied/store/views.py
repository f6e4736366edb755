"""The views that `leslied sql` and scripts ask: their columns, in words and in SQL.

They are made for each connection, so they always fit the program and the store needs
no step for them. The functions in them are those of `leslied.store.sql_query`: what is
joined by them costs nothing in a query that does not ask for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Column(NamedTuple):
    """One column: its name, what it holds, and where that comes from."""

    name: str
    about: str
    sql: str


@dataclass(frozen=True, slots=True)
class View:
    """One view; the text that is documented and the SQL that runs stand together."""

    name: str
    about: str
    columns: tuple[Column, ...]
    from_sql: str
    """SQL from FROM on."""

    @property
    def create_sql(self) -> str:
        """The SQL that makes it."""
        shown = ", ".join(f"{column.sql} AS {column.name}" for column in self.columns)
        return f"CREATE TEMP VIEW {self.name} AS SELECT {shown} {self.from_sql}"


_ISO = "strftime('%Y-%m-%dT%H:%M:%fZ', {})"
"""SQL for a time as text that sorts: ISO, UTC, to the millisecond."""


def _time_sql(microseconds: str) -> str:
    return _ISO.format(f"{microseconds} / 1e6, 'unixepoch'")


def _null_if_empty(name: str) -> str:
    """SQL for a text that is NULL where the log has none."""
    return f"nullif(r.{name}, '')"


def _is_error_sql(metadata: str) -> str:
    return (
        f"CASE WHEN {metadata} <> '' "
        f"THEN ifnull(json_extract({metadata}, '$.is_error'), 0) <> 0 ELSE 0 END"
    )


_IS_SHOWN = "(p.is_copy = 0 OR s.originals = 0)"
_FROM_RECORDS = (
    "FROM placement p JOIN session s ON s.id = p.session "
    "JOIN record r ON r.entry = p.entry AND r.is_current = 1"
)
_TEXT = "CASE WHEN {0}.spilled <> '' THEN {0}.spilled ELSE {0}.content END"
_SECONDS = (
    "CASE WHEN a.created_us >= r.created_us "
    "THEN round((a.created_us - r.created_us) / 1e6, 3) END"
)
_TOOL = (
    "CASE WHEN r.type = 'tool_result' THEN "
    "ifnull(call_of(p.session, r.tool_call_id), nullif(r.tool_name, '')) "
    "ELSE nullif(r.tool_name, '') END"
)
# `+r.type` keeps the planner from reading every call there is for one session's.
_CALLS = f"{_FROM_RECORDS} AND +r.type = 'tool_use'"
_JOIN_RESULT = "LEFT JOIN record a ON a.id = answer_of(p.session, r.tool_call_id)"
_EXCERPT_CHARACTERS = 200
_HEX = "lower(hex(r.entry_id))"
_DAY = "date(created_us / 1e6, 'unixepoch')"

_AGENT = Column("agent", "the agent's name, as `claude-code`", "s.agent")
_SESSION = Column("session_id", "the session's id", "s.session_id")
_SOURCE = Column("source", "`main`, or `subagent:` and its id", "s.source")
_SEQUENCE = Column(
    "sequence", "1, 2, … in its source, without a gap", "sequence_of(p.session, p.id)"
)
_UNIT = Column("unit", "the number of the unit; 0 before the first prompt", "p.unit")
_CREATED = Column(
    "created_at", "the log's own time, as `2026-01-31T15:00:00.000Z`",
    _time_sql("r.created_us"),
)  # fmt: skip
_PROJECT = Column("project", "the folder it works in", "nullif(s.cwd, '')")
_CALL = Column(
    "tool_call_id", "joins a call and its result", _null_if_empty("tool_call_id")
)
_ENTRY = Column("entry_id", "the record's id, for ever the same", _HEX)
_MODEL = Column("model", "the model that spoke", _null_if_empty("model"))

ENTRIES = View(
    "transcript_entries",
    "Every entry of every session and subagent, as `show` tells it.",
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
        Column("content", "what was said, thought or answered", _TEXT.format("r")),
        Column("tool_name", "the tool, of calls and of results", _TOOL),
        _CALL,
        Column("tool_input", "the call's arguments, as JSON", _null_if_empty("tool_input")),
        _MODEL,
        Column("message_id", "the API message it is part of", _null_if_empty("message_id")),
        Column("parent_id", "what it follows, as the log tells", _null_if_empty("parent_id")),
        Column("metadata", "what else the log tells, as JSON", _null_if_empty("metadata")),
        _ENTRY,
        Column(
            "log_path",
            "the file or database it was read from",
            "(SELECT CAST(o.path AS TEXT) FROM source o WHERE o.id = p.source)",
        ),
    ),
    f"{_FROM_RECORDS} WHERE {_IS_SHOWN}",
)  # fmt: skip

FLOW = View(
    "transcript_flow",
    "The order of a conversation: each entry between its neighbours.",
    (
        _AGENT,
        _SESSION,
        _SOURCE,
        _SEQUENCE,
        _UNIT,
        _CREATED,
        Column("type", "what it is", "r.type"),
        Column("role", "whose it is", "r.role"),
        Column("tool_name", "the tool, of calls and of results", _TOOL),
        Column("previous_type", "what stands before it in its source", "b.type"),
        Column("previous_role", "whose that is", "b.role"),
        Column("next_type", "what stands after it", "n.type"),
        Column("next_role", "whose that is", "n.role"),
        Column(
            "seconds",
            "since the one before; below 0 where the log is not in time order",
            "round((r.created_us - b.created_us) / 1e6, 3)",
        ),
        Column(
            "excerpt",
            f"the first {_EXCERPT_CHARACTERS} characters of what was said",
            f"cut_words({_TEXT.format('r')}, {_EXCERPT_CHARACTERS})",
        ),
    ),
    f"{_FROM_RECORDS} "
    "LEFT JOIN record b ON b.id = neighbour_of(p.session, p.id, -1) "
    "LEFT JOIN record n ON n.id = neighbour_of(p.session, p.id, 1) "
    f"WHERE {_IS_SHOWN}",
)

TOOLS = View(
    "transcript_tools",
    "Every call of a tool, with its result.",
    (
        _AGENT,
        _SESSION,
        _SOURCE,
        _SEQUENCE,
        _UNIT,
        _PROJECT,
        Column("tool_name", "the tool", "r.tool_name"),
        Column("input", "the call's arguments, as JSON", _null_if_empty("tool_input")),
        Column("asked_at", "when it was called", _time_sql("r.created_us")),
        Column("answered_at", "when the result came", _time_sql("a.created_us")),
        Column("seconds", "between the two, waiting for a permission too", _SECONDS),
        Column("is_answered", "1 where there is a result, else 0", "a.id IS NOT NULL"),
        Column(
            "is_error", "1 where the tool failed, else 0", _is_error_sql("a.metadata")
        ),
        Column("result", "the text of the result", _TEXT.format("a")),
        _MODEL,
        _CALL,
        _ENTRY,
    ),
    f"{_CALLS} {_JOIN_RESULT} WHERE {_IS_SHOWN}",
)

TIMELINE = View(
    "tool_timeline",
    "The calls that have a time, the earliest first.",
    (
        _AGENT,
        _SESSION,
        _SOURCE,
        Column("tool_name", "the tool", "r.tool_name"),
        Column("started_at", "when it was called", _time_sql("r.created_us")),
        Column("ended_at", "when the result came", _time_sql("a.created_us")),
        Column("seconds", "between the two", _SECONDS),
        Column(
            "since_start",
            "seconds from the first entry of its source to the call",
            "round((r.created_us - s.started_us) / 1e6, 3)",
        ),
        Column("is_answered", "1 where there is a result, else 0", "a.id IS NOT NULL"),
        Column(
            "is_error", "1 where the tool failed, else 0", _is_error_sql("a.metadata")
        ),
        Column(
            "input",
            f"the first {_EXCERPT_CHARACTERS} characters of the arguments",
            f"cut_words(r.tool_input, {_EXCERPT_CHARACTERS})",
        ),
        _CALL,
    ),
    f"{_CALLS} {_JOIN_RESULT} "
    f"WHERE {_IS_SHOWN} AND r.created_us IS NOT NULL ORDER BY r.created_us, p.id",
)

ERRORS = View(
    "error_summary",
    "What failed, by agent and tool; what forks share counts once.",
    (
        _AGENT,
        Column("type", "`tool_result` or `error`", "r.type"),
        Column("tool_name", "the tool that failed; NULL for errors", _TOOL),
        Column("failures", "how often", "count(*)"),
        Column("sessions", "in how many sessions", "count(DISTINCT s.session_id)"),
        Column("first_at", "the earliest", _time_sql("min(r.created_us)")),
        Column("last_at", "the latest", _time_sql("max(r.created_us)")),
        Column("session_id", "the session of the example", "s.session_id"),
        Column(
            "example",
            f"the first {_EXCERPT_CHARACTERS} characters of the earliest or latest one",
            f"cut_words({_TEXT.format('r')}, {_EXCERPT_CHARACTERS})",
        ),
    ),
    "FROM record r JOIN placement p ON p.id = "
    "(SELECT min(id) FROM placement WHERE entry = r.entry) "
    "JOIN session s ON s.id = p.session "
    f"WHERE r.is_current = 1 AND {_IS_SHOWN} AND (r.type = 'error' "
    f"OR r.type = 'tool_result' AND {_is_error_sql('r.metadata')}) GROUP BY 1, 2, 3",
)

DAILY = View(
    "usage_daily",
    "Tokens by day, agent and model; every API message counts once.",
    (
        Column("day", "the day in UTC, as `2026-01-31`", _DAY),
        Column("agent", "the agent's name", "agent"),
        Column("model", "the model", "model"),
        Column("messages", "how many messages of the API", "count(*)"),
        *(
            Column(name, about, f"CAST(total({name}) AS INTEGER)")
            for name, about in (
                ("input_tokens", "tokens read anew"),
                ("output_tokens", "tokens written, thinking included"),
                ("cache_read_tokens", "tokens read from the cache"),
                ("cache_write_tokens", "tokens written to the cache"),
            )
        ),
    ),
    "FROM usage GROUP BY 1, 2, 3",
)  # fmt: skip

_IN_UNIT = (
    "FROM placement q JOIN record x ON x.entry = q.entry AND x.is_current = 1 "
    "WHERE q.session = p.session AND q.unit = p.unit "
    "AND (q.is_copy = 0 OR s.originals = 0)"
)

UNITS = View(
    "units",
    "From one prompt to just before the next; all that a subagent did is one.",
    (
        _AGENT,
        _SESSION,
        _SOURCE,
        _UNIT,
        Column("chat_id", "the unit's id, for `show`", "chat_of(p.session, p.unit)"),
        Column(
            "started_at",
            "the first time in it",
            _time_sql(f"(SELECT min(x.created_us) {_IN_UNIT})"),
        ),
        Column(
            "ended_at",
            "the last time in it",
            _time_sql(f"(SELECT max(x.created_us) {_IN_UNIT})"),
        ),
        Column(
            "prompt",
            "what was asked; NULL before the first prompt",
            "CASE WHEN p.unit > 0 OR s.source <> 'main' THEN (SELECT x.content "
            f"{_IN_UNIT} AND x.type = 'user_message' ORDER BY q.id LIMIT 1) END",
        ),
        Column("entries", "how many entries", f"(SELECT count(*) {_IN_UNIT})"),
        Column(
            "tool_calls",
            "how many calls of tools",
            f"(SELECT count(*) {_IN_UNIT} AND x.type = 'tool_use')",
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

SESSIONS = View(
    "sessions",
    "The sessions, as `list` tells them at the moment of asking.",
    tuple(
        Column(name, about, _ISO.format(name) if name.endswith("_at") else name)
        for name, about in (
            ("session_id", "the session's id"),
            ("agent", "the agent's name"),
            ("project", "the folder it works in"),
            ("title", "its title, or the beginning of its first prompt"),
            ("status", "`active`, `idle` or `stopped`"),
            ("started_at", "the time of its first entry"),
            ("ended_at", "the time of its last entry, subagents' included"),
            ("units", "how many units"),
            ("tool_calls", "how many calls of tools, subagents' not included"),
            ("subagents", "how many subagents"),
            ("model", "the last model that spoke"),
            ("input_tokens", "tokens read anew; these four include subagents'"),
            ("output_tokens", "tokens written, thinking included"),
            ("cache_read_tokens", "tokens read from the cache"),
            ("cache_write_tokens", "tokens written to the cache"),
            ("cost_usd", "what the tokens cost at list prices, as far as known"),
            ("thread_id", "its thread"),
            ("transcripts_dir", "where its transcripts are, once written"),
        )
    ),
    "FROM told_session",
)  # fmt: skip

VIEWS = (SESSIONS, UNITS, ENTRIES, FLOW, TOOLS, TIMELINE, ERRORS, DAILY)
"""Every view, in the order in which they are listed."""
