"""Lines that are neither prompt nor answer: places, tokens, ends, subagents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from leslied.agents.copilot_cli.line import LONGEST, Line, count, flatten, text_of
from leslied.model.record import Usage

if TYPE_CHECKING:
    from leslied.agents.copilot_cli.line import Made, State
    from leslied.model.record import EventKind, Record

_LINK = 900
"""Block number of the record that ties a subagent to its call."""


def decode_place(line: Line, state: State) -> Made:
    """A session begins, goes on, or moves: where, on what branch, in what version."""
    place = line.data.get("context")
    place = place if isinstance(place, dict) else line.data
    told = {
        "cwd": text_of(place.get("cwd")),
        "version": line.text("copilotVersion"),
        "git_branch": text_of(place.get("branch")),
    }
    told = {n: v for n, v in told.items() if v and len(v) <= LONGEST[n]}
    is_first = line.kind == "session.start"
    # Where it goes on as it was is nothing to tell: days later, it would make the
    # unit before it look as long.
    if not is_first and all(state.get(n) == v for n, v in told.items()):
        return (), state
    note = "" if is_first else line.kind.removeprefix("session.")
    event = line.event("opened" if is_first else "context", note=note, **told)
    return (replace(event, model=line.text("selectedModel")),), {**state, **told}


def decode_model(line: Line, state: State) -> Made:
    """Another model answers from here on."""
    if line.text("newModel") == line.text("previousModel"):
        return (), state
    event = line.event("context", note="model_change")
    return (replace(event, model=line.text("newModel")),), state


def decode_mode(line: Line, state: State) -> Made:
    """The agent only plans from here on, or works again."""
    mode = line.text("newMode")
    return (line.event("context", note="mode_changed", permission_mode=mode),), state


def decode_info(line: Line, state: State) -> Made:
    """A word to the person; that of a rewind is all that the log keeps of it."""
    note = line.text("infoType")
    kind: EventKind = "rewound" if note == "rewind" else "notice"
    return (line.event(kind, line.text("message"), note=note or "info"),), state


def decode_title(line: Line, state: State) -> Made:
    """The title, in versions that tell it in the log."""
    title = line.text("title")
    return (line.event("title", title, title_kind="ai"),), state


def decode_usage(line: Line, state: State) -> Made:
    """The tokens of one API message, in a line of their own."""
    told = line.data.get("usage")
    told = told if isinstance(told, dict) else {}
    name = text_of(told.get("apiCallId")) or line.native_id
    record = _tell_usage(line, told, name, text_of(told.get("model")))
    return (record,), {**state, "counted": True}


def _tell_usage(line: Line, told: dict[str, Any], name: str, model: str) -> Record:
    counts = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
    given, output, read, written = (count(told.get(n)) for n in counts)
    usage = Usage(max(given - read - written, 0), output, read, written)
    more = {"usage": usage or None, "message_id": name, "model": model}
    return line.record("token_usage", "system", **more)


def decode_shutdown(line: Line, state: State) -> Made:
    """The end; where no message told its tokens, also the sum of them by model.

    A sum is named by the run it counts: where later sums of one session hold the
    earlier ones, they also begin at the same time, and the largest counts.
    """
    note, reason = line.text("shutdownType"), line.text("errorReason")
    records = [line.event("ended", reason, note=note)]
    metrics = line.data.get("modelMetrics")
    if isinstance(metrics, dict) and not state.get("counted"):
        began = line.data.get("sessionStartTime")
        run = str(began) if isinstance(began, int) else line.native_id
        for number, (model, told) in enumerate(metrics.items(), 1):
            usage = told.get("usage") if isinstance(told, dict) else None
            usage = usage if isinstance(usage, dict) else {}
            name = f"{line.key.session_id}:{run}:{model}"
            record = _tell_usage(line, usage, name, model)
            more = {**record.metadata, "is_sum": True}
            records.append(replace(record, block=number, metadata=more))
    return tuple(records), {n: v for n, v in state.items() if n != "asked"}


def decode_error(line: Line, state: State) -> Made:
    """The turn ended because something went wrong."""
    status = line.data.get("statusCode")
    metadata = {"note": line.text("errorType") or "error"}
    if isinstance(status, int):
        metadata["status"] = str(status)
    text = line.text("message") or "error"
    return (line.record("error", "assistant", content=text, metadata=metadata),), state


def decode_compaction(line: Line, state: State) -> Made:
    """A summary stands for all that was said before, if it could be made."""
    if line.data.get("success") is False:
        text = flatten(line.data.get("error"), "message")
        return (line.event("notice", text, note="compaction_failed"),), state
    return (line.event("compacted", line.text("summaryContent")),), state


def decode_abort(line: Line, state: State) -> Made:
    """The person stopped the turn."""
    reason = line.text("reason")
    return (line.event("turn_ended", note="interrupt", reason=reason),), state


def decode_spawn(line: Line, state: State) -> Made:
    """What ties a subagent to the call that spawned it, and whether it is done."""
    is_start = line.kind == "subagent.started"
    told = line.text("agentDescription") or line.text("agentDisplayName")
    known: dict[str, Any] = {
        "tool_call_id": line.text("toolCallId"),
        "parent_agent": line.text("parentId"),
        "agent_type": line.text("agentType") or line.text("agentName"),
        # Its end names it once more, but no longer says what it does.
        "description": told if is_start else None,
        "is_finished": None if is_start else True,
    }
    link = replace(line.event("subagent_linked", **known), block=_LINK)
    if line.kind != "subagent.failed":
        return (link,), state
    metadata = {"note": "subagent_failed"}
    text = line.text("error") or "the subagent failed"
    failed = line.record("error", "assistant", content=text, metadata=metadata)
    return (failed, link), state
