"""Decode lines that are not messages: context, tokens, errors, ends, subagents."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from leslied.agents.copilot_cli.schema import (
    MAX_FACT_LENGTHS,
    CopilotLine,
    as_count,
    as_text,
    flatten_text,
)
from leslied.model.record import Usage

if TYPE_CHECKING:
    from leslied.agents.copilot_cli.schema import RecordsAndState, State
    from leslied.model.record import EventKind, Record

_NOTIFICATION_TAG = re.compile(r"</?system_notification>")
_LINK_BLOCK = 900
"""Block number of the record that links a subagent to its call."""


def decode_session_context(line: CopilotLine, state: State) -> RecordsAndState:
    """Decode the start, resumption or move of a session: directory, branch, version."""
    context = line.data.get("context")
    context = context if isinstance(context, dict) else line.data
    facts = {
        "cwd": as_text(context.get("cwd")),
        "version": line.text_field("copilotVersion"),
        "git_branch": as_text(context.get("branch")),
    }
    facts = {
        name: value
        for name, value in facts.items()
        if value and len(value) <= MAX_FACT_LENGTHS[name]
    }
    is_start = line.kind == "session.start"
    # A resumption without changes gets no record: its time, perhaps days later,
    # would extend the previous unit.
    if not is_start and all(state.get(name) == value for name, value in facts.items()):
        return (), state
    note = "" if is_start else line.kind.removeprefix("session.")
    event = line.make_event("opened" if is_start else "context", note=note, **facts)
    return (replace(event, model=line.text_field("selectedModel")),), {**state, **facts}


def decode_model(line: CopilotLine, state: State) -> RecordsAndState:
    """Decode a change of the model."""
    if line.text_field("newModel") == line.text_field("previousModel"):
        return (), state
    event = line.make_event("context", note="model_change")
    return (replace(event, model=line.text_field("newModel")),), state


def decode_mode(line: CopilotLine, state: State) -> RecordsAndState:
    """Decode a change of the agent's mode, such as planning."""
    mode = line.text_field("newMode")
    return (
        line.make_event("context", note="mode_changed", permission_mode=mode),
    ), state


def decode_info(line: CopilotLine, state: State) -> RecordsAndState:
    """Decode a notice, or a rewind, which no other line reports."""
    note = line.text_field("infoType")
    kind: EventKind = "rewound" if note == "rewind" else "notice"
    return (
        line.make_event(kind, line.text_field("message"), note=note or "info"),
    ), state


def decode_notification(line: CopilotLine, state: State) -> RecordsAndState:
    """Decode the client's message to the agent, such as that a subagent finished."""
    text = line.text_field("content")
    words = _NOTIFICATION_TAG.sub(" ", text).split()
    event = line.make_event(
        "notice", text, note=line.kind, notification=" ".join(words)
    )
    return (event,), state


def decode_title(line: CopilotLine, state: State) -> RecordsAndState:
    """Decode the title, which only some versions write to the log."""
    title = line.text_field("title")
    return (line.make_event("title", title, title_kind="ai"),), state


def decode_usage(line: CopilotLine, state: State) -> RecordsAndState:
    """Decode the token counts of one API message."""
    counts = line.data.get("usage")
    counts = counts if isinstance(counts, dict) else {}
    message_id = as_text(counts.get("apiCallId")) or line.native_id
    record = _make_usage_record(line, counts, message_id, as_text(counts.get("model")))
    # The totals at the end of the session are then ignored.
    return (record,), {**state, "counted": True}


def _make_usage_record(
    line: CopilotLine, counts: dict[str, Any], message_id: str, model: str
) -> Record:
    """Return a record of token counts; the log's input count includes cached tokens."""
    names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
    input_total, output, cache_read, cache_write = (
        as_count(counts.get(count_name)) for count_name in names
    )
    usage = Usage(
        max(input_total - cache_read - cache_write, 0), output, cache_read, cache_write
    )
    fields = {"usage": usage or None, "message_id": message_id, "model": model}
    return line.make_record("token_usage", "system", **fields)


def decode_shutdown(line: CopilotLine, state: State) -> RecordsAndState:
    """Decode the session's end, and token totals by model if no message had counts.

    The message id of a total contains the start of the run that it counts. A total that
    includes an earlier one has the same start, so both have the same id, and the store
    uses only the largest.
    """
    note, reason = line.text_field("shutdownType"), line.text_field("errorReason")
    records = [line.make_event("ended", reason, note=note)]
    metrics = line.data.get("modelMetrics")
    if isinstance(metrics, dict) and not state.get("counted"):
        started_at = line.data.get("sessionStartTime")
        run_id = str(started_at) if isinstance(started_at, int) else line.native_id
        for number, (model, metric) in enumerate(metrics.items(), 1):
            counts = metric.get("usage") if isinstance(metric, dict) else None
            counts = counts if isinstance(counts, dict) else {}
            message_id = f"{line.key.session_id}:{run_id}:{model}"
            record = _make_usage_record(line, counts, message_id, model)
            metadata = {**record.metadata, "is_sum": True}
            records.append(replace(record, block=number, metadata=metadata))
    state = {name: value for name, value in state.items() if name != "asked"}
    return tuple(records), state


def decode_error(line: CopilotLine, state: State) -> RecordsAndState:
    """Decode an error that ended the turn."""
    status = line.data.get("statusCode")
    metadata = {"note": line.text_field("errorType") or "error"}
    if isinstance(status, int):
        metadata["status"] = str(status)
    text = line.text_field("message") or "error"
    return (
        line.make_record("error", "assistant", content=text, metadata=metadata),
    ), state


def decode_compaction(line: CopilotLine, state: State) -> RecordsAndState:
    """Decode a compaction and its summary, or the failure of one."""
    if line.data.get("success") is False:
        text = flatten_text(line.data.get("error"), "message")
        return (line.make_event("notice", text, note="compaction_failed"),), state
    return (line.make_event("compacted", line.text_field("summaryContent")),), state


def decode_abort(line: CopilotLine, state: State) -> RecordsAndState:
    """Decode the end of a turn that the person stopped."""
    reason = line.text_field("reason")
    return (line.make_event("turn_ended", note="interrupt", reason=reason),), state


def decode_subagent(line: CopilotLine, state: State) -> RecordsAndState:
    """Decode a subagent's start or end: its link to the call, and its error if any."""
    is_start = line.kind == "subagent.started"
    description = line.text_field("agentDescription") or line.text_field(
        "agentDisplayName"
    )
    facts: dict[str, Any] = {
        "tool_call_id": line.text_field("toolCallId"),
        "parent_agent": line.text_field("parentId"),
        "agent_type": line.text_field("agentType") or line.text_field("agentName"),
        # Only the line of the start describes the subagent's work.
        "description": description if is_start else None,
        "is_finished": None if is_start else True,
    }
    link = replace(line.make_event("subagent_linked", **facts), block=_LINK_BLOCK)
    if line.kind != "subagent.failed":
        return (link,), state
    metadata = {"note": "subagent_failed"}
    text = line.text_field("error") or "the subagent failed"
    error = line.make_record("error", "assistant", content=text, metadata=metadata)
    return (error, link), state
