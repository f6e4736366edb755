"""Lines that are neither prompt nor answer: places, tokens, ends, subagents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from leslied.agents.copilot_cli.schema import (
    MAX_FACT_LENGTHS,
    CopilotEvent,
    as_count,
    as_text,
    flatten_text,
)
from leslied.model.record import Usage

if TYPE_CHECKING:
    from leslied.agents.copilot_cli.schema import RecordsAndState, State
    from leslied.model.record import EventKind, Record

_LINK_BLOCK = 900
"""Block number of the record that ties a subagent to its call."""


def decode_session_context(line: CopilotEvent, state: State) -> RecordsAndState:
    """A session begins, goes on, or moves: where, on what branch, in what version."""
    place = line.data.get("context")
    place = place if isinstance(place, dict) else line.data
    told = {
        "cwd": as_text(place.get("cwd")),
        "version": line.text_field("copilotVersion"),
        "git_branch": as_text(place.get("branch")),
    }
    told = {n: v for n, v in told.items() if v and len(v) <= MAX_FACT_LENGTHS[n]}
    is_first = line.kind == "session.start"
    # Where it goes on as it was is nothing to tell: days later, it would make the
    # unit before it look as long.
    if not is_first and all(state.get(n) == v for n, v in told.items()):
        return (), state
    note = "" if is_first else line.kind.removeprefix("session.")
    event = line.make_event("opened" if is_first else "context", note=note, **told)
    return (replace(event, model=line.text_field("selectedModel")),), {**state, **told}


def decode_model(line: CopilotEvent, state: State) -> RecordsAndState:
    """Another model answers from here on."""
    if line.text_field("newModel") == line.text_field("previousModel"):
        return (), state
    event = line.make_event("context", note="model_change")
    return (replace(event, model=line.text_field("newModel")),), state


def decode_mode(line: CopilotEvent, state: State) -> RecordsAndState:
    """The agent only plans from here on, or works again."""
    mode = line.text_field("newMode")
    return (
        line.make_event("context", note="mode_changed", permission_mode=mode),
    ), state


def decode_info(line: CopilotEvent, state: State) -> RecordsAndState:
    """A word to the person; that of a rewind is all that the log keeps of it."""
    note = line.text_field("infoType")
    kind: EventKind = "rewound" if note == "rewind" else "notice"
    return (
        line.make_event(kind, line.text_field("message"), note=note or "info"),
    ), state


def decode_title(line: CopilotEvent, state: State) -> RecordsAndState:
    """The title, in versions that tell it in the log."""
    title = line.text_field("title")
    return (line.make_event("title", title, title_kind="ai"),), state


def decode_usage(line: CopilotEvent, state: State) -> RecordsAndState:
    """The tokens of one API message, in a line of their own."""
    told = line.data.get("usage")
    told = told if isinstance(told, dict) else {}
    name = as_text(told.get("apiCallId")) or line.native_id
    record = _make_usage_record(line, told, name, as_text(told.get("model")))
    return (record,), {**state, "counted": True}


def _make_usage_record(
    line: CopilotEvent, told: dict[str, Any], name: str, model: str
) -> Record:
    counts = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
    given, output, read, written = (as_count(told.get(n)) for n in counts)
    usage = Usage(max(given - read - written, 0), output, read, written)
    more = {"usage": usage or None, "message_id": name, "model": model}
    return line.make_record("token_usage", "system", **more)


def decode_shutdown(line: CopilotEvent, state: State) -> RecordsAndState:
    """The end; where no message told its tokens, also the sum of them by model.

    A sum is named by the run it counts: where later sums of one session hold the
    earlier ones, they also begin at the same time, and the largest counts.
    """
    note, reason = line.text_field("shutdownType"), line.text_field("errorReason")
    records = [line.make_event("ended", reason, note=note)]
    metrics = line.data.get("modelMetrics")
    if isinstance(metrics, dict) and not state.get("counted"):
        began = line.data.get("sessionStartTime")
        run = str(began) if isinstance(began, int) else line.native_id
        for number, (model, told) in enumerate(metrics.items(), 1):
            usage = told.get("usage") if isinstance(told, dict) else None
            usage = usage if isinstance(usage, dict) else {}
            name = f"{line.key.session_id}:{run}:{model}"
            record = _make_usage_record(line, usage, name, model)
            more = {**record.metadata, "is_sum": True}
            records.append(replace(record, block=number, metadata=more))
    return tuple(records), {n: v for n, v in state.items() if n != "asked"}


def decode_error(line: CopilotEvent, state: State) -> RecordsAndState:
    """The turn ended because something went wrong."""
    status = line.data.get("statusCode")
    metadata = {"note": line.text_field("errorType") or "error"}
    if isinstance(status, int):
        metadata["status"] = str(status)
    text = line.text_field("message") or "error"
    return (
        line.make_record("error", "assistant", content=text, metadata=metadata),
    ), state


def decode_compaction(line: CopilotEvent, state: State) -> RecordsAndState:
    """A summary stands for all that was said before, if it could be made."""
    if line.data.get("success") is False:
        text = flatten_text(line.data.get("error"), "message")
        return (line.make_event("notice", text, note="compaction_failed"),), state
    return (line.make_event("compacted", line.text_field("summaryContent")),), state


def decode_abort(line: CopilotEvent, state: State) -> RecordsAndState:
    """The person stopped the turn."""
    reason = line.text_field("reason")
    return (line.make_event("turn_ended", note="interrupt", reason=reason),), state


def decode_spawn(line: CopilotEvent, state: State) -> RecordsAndState:
    """What ties a subagent to the call that spawned it, and whether it is done."""
    is_start = line.kind == "subagent.started"
    told = line.text_field("agentDescription") or line.text_field("agentDisplayName")
    known: dict[str, Any] = {
        "tool_call_id": line.text_field("toolCallId"),
        "parent_agent": line.text_field("parentId"),
        "agent_type": line.text_field("agentType") or line.text_field("agentName"),
        # Its end names it once more, but no longer says what it does.
        "description": told if is_start else None,
        "is_finished": None if is_start else True,
    }
    link = replace(line.make_event("subagent_linked", **known), block=_LINK_BLOCK)
    if line.kind != "subagent.failed":
        return (link,), state
    metadata = {"note": "subagent_failed"}
    text = line.text_field("error") or "the subagent failed"
    failed = line.make_record("error", "assistant", content=text, metadata=metadata)
    return (failed, link), state
