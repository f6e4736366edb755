"""The fields of records, units and sessions: one table for each.

From these tables follow their JSON forms and JSON Schemas (`model.schema`), the columns
of the SQL views of the same names, and the values of the Python API.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, get_args

from leslied.model.codec import (
    decode_tool_input,
    encode_time,
    metadata_to_dict,
    usage_to_dict,
)
from leslied.model.field import (
    COUNT,
    TEXT,
    TEXT_OR_NULL,
    TIME,
    TIME_OR_NULL,
    Field,
    encode_fields,
    get_or_none,
)
from leslied.model.record import EventKind, Origin, RecordType, Role
from leslied.model.session import (
    AgentMode,
    Status,
    StopReason,
    WaitingFor,
    find_waiting_for,
)

if TYPE_CHECKING:
    from leslied.model.record import PlacedRecord
    from leslied.model.session import SummarizedSession, Unit

USAGE_FIELDS = tuple(
    Field(name, about, attrgetter(name), COUNT)
    for name, about in (
        ("input_tokens", "input tokens that were not cached"),
        ("output_tokens", "output tokens, including thinking"),
        ("cache_read_tokens", "tokens read from the cache"),
        ("cache_write_tokens", "tokens written to the cache"),
    )
)
"""Token counts that are always present."""
_USAGE_SCHEMA = {
    "type": "object",
    "required": [field.name for field in USAGE_FIELDS],
    "properties": {
        **{f.name: {**f.schema, "description": f.about} for f in USAGE_FIELDS},
        "cache_write_1h_tokens": {
            **COUNT,
            "description": "cache writes with a lifetime of one hour; omitted if there "
            "are none",
        },
    },
}

RECORD_FIELDS = (
    Field(
        "entry_id",
        "the entry's id, which never changes",
        attrgetter("entry_id"),
        {"type": "string", "pattern": "^[0-9a-f]{32}$"},
    ),
    Field(
        "agent",
        "the agent's name, such as `claude-code`",
        attrgetter("record.session.agent"),
    ),
    Field("session_id", "the session's id", attrgetter("record.session.session_id")),
    Field(
        "source",
        "`main`, or `subagent:` and the subagent's id",
        attrgetter("record.session.source"),
        {"type": "string", "pattern": "^(main|subagent:.*)$"},
    ),
    Field(
        "sequence",
        "position in its source: 1, 2, … without gaps",
        attrgetter("sequence"),
        COUNT,
    ),
    Field(
        "type",
        "`user_message`, `tool_use`, `error`, …",
        attrgetter("record.type"),
        {"enum": list(get_args(RecordType))},
    ),
    Field(
        "role",
        "`system`, `user`, `assistant` or `tool`",
        attrgetter("record.role"),
        {"enum": list(get_args(Role))},
    ),
    Field(
        "content",
        "the text: message, thinking or tool result",
        lambda placed: placed.record.spilled or placed.record.content,
    ),
    Field(
        "created_at",
        "the time in the log, such as `2026-01-31T15:00:00.000Z`",
        attrgetter("record.created_at"),
        TIME_OR_NULL,
        encode_time,
    ),
    Field(
        "observed_at",
        "the time at which leslied read the entry",
        attrgetter("observed_at"),
        TIME,
        encode_time,
        is_column=False,
    ),
    Field(
        "tool_name",
        "the tool, for calls, results and the output of `!` commands",
        get_or_none("record.tool_name"),
        TEXT_OR_NULL,
    ),
    Field(
        "tool_call_id",
        "joins a call and its result",
        get_or_none("record.tool_call_id"),
        TEXT_OR_NULL,
    ),
    Field(
        "tool_input",
        "the call's arguments, as JSON",
        lambda placed: decode_tool_input(placed.record.tool_input),
        {},
    ),
    Field(
        "model", "the model that wrote it", get_or_none("record.model"), TEXT_OR_NULL
    ),
    Field(
        "usage",
        "tokens of the API message; entries of one message share them",
        attrgetter("record.usage"),
        {**_USAGE_SCHEMA, "type": ["object", "null"]},
        usage_to_dict,
        is_column=False,
    ),
    Field(
        "message_id",
        "the API message it is part of",
        get_or_none("record.message_id"),
        TEXT_OR_NULL,
    ),
    Field(
        "parent_id",
        "the id of the entry it follows, from the log",
        get_or_none("record.parent_id"),
        TEXT_OR_NULL,
    ),
    Field(
        "metadata",
        "other data from the log, as JSON",
        lambda placed: metadata_to_dict(placed.record),
        {
            "type": "object",
            "properties": {
                "kind": {"enum": list(get_args(EventKind))},
                "origin": {"enum": list(get_args(Origin))},
                "native_id": TEXT,
            },
        },
    ),
    Field(
        "decoder_version",
        "the version of the adapter that decoded the entry",
        attrgetter("decoder_version"),
        {"type": "integer", "minimum": 1},
        is_column=False,
    ),
    Field(
        "raw",
        "where the entry is in the agent's log, in bytes",
        lambda placed: {
            "source": placed.path,
            "offset": placed.offset,
            "length": placed.length,
        },
        {
            "type": "object",
            "required": ["source", "offset", "length"],
            "properties": {"source": TEXT, "offset": COUNT, "length": COUNT},
        },
        is_column=False,
    ),
)
"""The fields of a record; `get` takes a PlacedRecord."""

SESSION_FIELDS = (
    Field("id", "the session's id", attrgetter("summary.key.session_id")),
    Field("agent", "the agent's name", attrgetter("summary.key.agent")),
    Field(
        "project",
        "the Git repository it worked in; without Git, its working directory",
        get_or_none("summary.project"),
        TEXT_OR_NULL,
    ),
    Field("cwd", "its working directory", get_or_none("summary.cwd"), TEXT_OR_NULL),
    Field(
        "title",
        "its title, or the beginning of its first prompt",
        get_or_none("summary.title"),
        TEXT_OR_NULL,
    ),
    Field(
        "status",
        "`active`, `idle` or `stopped`",
        attrgetter("status"),
        {"enum": list(get_args(Status))},
    ),
    Field(
        "waiting_for",
        "`permission`, `question` or `prompt` if the agent waits for the user",
        find_waiting_for,
        {"enum": [*get_args(WaitingFor), None]},
    ),
    Field(
        "started_at",
        "the time of its first entry",
        attrgetter("summary.started_at"),
        TIME_OR_NULL,
        encode_time,
    ),
    Field(
        "ended_at",
        "the time of its last entry, including subagents",
        attrgetter("summary.ended_at"),
        TIME_OR_NULL,
        encode_time,
    ),
    Field(
        "units",
        "number of units, without rewound ones",
        attrgetter("summary.current_units"),
        COUNT,
    ),
    Field(
        "tool_calls",
        "number of tool calls, without subagents",
        attrgetter("summary.tool_calls"),
        COUNT,
    ),
    Field("subagents", "number of subagents", attrgetter("summary.subagents"), COUNT),
    Field(
        "hidden",
        "whether `list` shows it only with `--all`: nobody said anything in it",
        attrgetter("summary.is_hidden"),
        {"type": "boolean"},
    ),
    Field(
        "model",
        "the model of the last message",
        get_or_none("summary.model"),
        TEXT_OR_NULL,
    ),
    Field(
        "usage",
        "tokens, including those of subagents",
        attrgetter("summary.usage"),
        _USAGE_SCHEMA,
        usage_to_dict,
    ),
    Field(
        "cost_usd",
        "cost of the tokens at list prices, where they are known",
        attrgetter("summary.cost.usd"),
        {"type": ["number", "null"], "minimum": 0},
    ),
    Field(
        "thread_id", "its thread's id", get_or_none("summary.thread_id"), TEXT_OR_NULL
    ),
    Field(
        "transcripts_dir",
        "the folder of its transcripts, once written",
        get_or_none("summary.transcripts_dir"),
        TEXT_OR_NULL,
    ),
)
"""The fields of a session; `get` takes a SummarizedSession."""

UNIT_FIELDS = (
    Field(
        "chat_id",
        "the unit's id, for `show`",
        attrgetter("chat_id"),
        {"type": "string", "pattern": "^chat-[0-9a-f]{12}$"},
    ),
    Field(
        "started_at",
        "the time of its first own entry that has one",
        attrgetter("started_at"),
        TIME_OR_NULL,
        encode_time,
    ),
    Field(
        "ended_at",
        "the latest time of its own entries, without lines between turns",
        attrgetter("ended_at"),
        TIME_OR_NULL,
        encode_time,
    ),
    Field("prompt", "the text of the prompt", attrgetter("prompt")),
    Field(
        "stop_reason",
        "why the unit ended",
        attrgetter("stop_reason"),
        {"enum": list(get_args(StopReason))},
        is_column=False,
    ),
    Field(
        "agent_mode",
        "the mode of the agent",
        attrgetter("agent_mode"),
        {"enum": list(get_args(AgentMode))},
        is_column=False,
    ),
    Field(
        "rewound",
        "whether the user took the unit back",
        attrgetter("is_rewound"),
        {"type": "boolean"},
    ),
    Field("tool_calls", "number of tool calls", attrgetter("tool_calls"), COUNT),
    Field(
        "transcript",
        "the path of its transcript, once written",
        get_or_none("transcript"),
        TEXT_OR_NULL,
    ),
    Field(
        "entries",
        "the entries, without those of subagents",
        attrgetter("entries"),
        {"type": "array", "items": {"$ref": "record.schema.json"}},
        lambda entries: [record_to_dict(placed) for placed in entries],
        is_column=False,
    ),
    Field(
        "subagents",
        "the subagents that the unit started",
        attrgetter("subagents"),
        {"type": "array", "items": {"$ref": "#/$defs/unit"}},
        lambda units: [unit_to_dict(unit) for unit in units],
        is_column=False,
    ),
)
"""The fields of a unit; `get` takes a Unit."""

SUBAGENT_FIELDS = (
    Field("id", "the subagent's id", attrgetter("summary.subagent_id")),
    Field(
        "agent_type",
        "the type of the subagent",
        get_or_none("summary.agent_type"),
        TEXT_OR_NULL,
    ),
    Field(
        "description",
        "the task of the subagent",
        get_or_none("summary.description"),
        TEXT_OR_NULL,
    ),
    Field(
        "spawn_call_id",
        "the tool call that started the subagent",
        get_or_none("summary.spawn_call_id"),
        TEXT_OR_NULL,
    ),
)
"""Fields that only the unit of a subagent has."""


def record_to_dict(placed: PlacedRecord) -> dict[str, Any]:
    """Return the JSON form of a stored record, with every field present."""
    return encode_fields(RECORD_FIELDS, placed)


def session_to_dict(session: SummarizedSession) -> dict[str, Any]:
    """Return the JSON form of a session without its units, as in lists."""
    return encode_fields(SESSION_FIELDS, session)


def unit_to_dict(unit: Unit) -> dict[str, Any]:
    """Return the JSON form of a unit with its entries and, nested, its subagents."""
    fields = encode_fields(UNIT_FIELDS, unit)
    if unit.summary.is_subagent:
        fields |= encode_fields(SUBAGENT_FIELDS, unit)
    return fields
