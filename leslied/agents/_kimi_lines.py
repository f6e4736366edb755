"""Decode the lines and the state of Kimi Code's sessions.

The client writes most things twice: as changes of the context (`context.*`), and as
events of the agent (`agent.*`). Only the context is decoded, because it also contains
messages that the client injects. `docs/formats/kimi-code.md` documents the lines.
"""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from leslied.agents._entry import (
    LogEntry,
    as_count,
    as_dict,
    as_folder,
    as_list,
    as_text,
)
from leslied.agents._parsing import (
    mark_exit_code,
    parse_object,
    parse_time,
    printable_name,
    reject_entry,
)
from leslied.model.record import MAIN, SHELL, DecodeResult, SessionKey, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.record import Record
    from leslied.model.source import RawEntry

    State = dict[str, Any]
    """`cwd`; `beside`: the text of `cwd` in the session's state file; `model`; `turn`:
    the id of the running turn's prompt; `finish`: how its last request ended."""

NOISE_TYPES = frozenset(
    {
        "forked",
        "permission.record_approval_result",
        "subagent.completed",
        "subagent.started",
        "subagent.suspended",
        "turn.cancel",
        "turn.prompt",
        "turn.steer",
    }
)
NOISE_GROUPS = frozenset(
    {
        "agent",
        "cron",
        "file_history",
        "full_compaction",
        "goal",
        "interaction",
        "interruptionReminder",
        "llm",
        "mcp",
        "plan",
        "plugin",
        "prompt",
        "runtime",
        "staleGuard",
        "swarm_mode",
        "task",
        "token_counting",
        "tools",
        "tower_mode",
    }
)
"""Beginnings of types of lines that repeat others, or that only the client needs."""
_MAX_ID_LENGTH = 100
_CALL_BLOCK = 500
"""Block number of the first call in a message."""
_FOLDER = re.compile(r'"cwd":\s*("(?:[^"\\]|\\.){1,800}")')
_EXIT_CODE = re.compile(r"\n*Command failed with exit code: (-?\d{1,9})\.\s*\Z")
_SHELL_INPUT = re.compile(r"<bash-input>\n?(.*?)\n?</bash-input>", re.DOTALL)
_SHELL_OUTPUT = re.compile(
    r"<bash-stdout>(.*)</bash-stdout><bash-stderr>(.*)</bash-stderr>", re.DOTALL
)
_SUMMARY = re.compile(r"\[summary\]\n(.*?)(?:\n\nresume_hint: .*)?\Z", re.DOTALL)
"""The answer of a subagent in the result of its call."""


def decode_line(entry: RawEntry, state: State) -> DecodeResult:
    """Decode one line of the log of a session's main agent, or of a subagent."""
    value = parse_object(entry.data)
    kind = as_text(value.get("type"))
    if entry.is_fragment and not (kind and value.get("time")):
        reject_entry("a fragment that is not a line")
    key = _make_key(entry, entry.source.parts[-2])
    previous_state, state = state, _update_state(kind, value, state)
    log_entry = LogEntry(
        key=key,
        native_id=_find_id(kind, value),
        created_at=parse_time(value.get("time") or value.get("created_at")),
        scope=f"{key.session_id}/{key.subagent_id}",
        model=as_text(state.get("model")),
    )
    records = tuple(_decode_by_type(log_entry, kind, value, previous_state))
    noise, cwd = "" if records else _find_noise(kind, value), as_text(state["cwd"])
    if not records and not noise:
        records = (log_entry.make_unknown(entry.data, line_type=kind),)
    return DecodeResult(records=records, state=state, noise=noise, cwd=cwd)


def decode_state(entry: RawEntry) -> DecodeResult:
    """Decode the title of a session, and which session it was forked from."""
    value = parse_object(entry.data)
    cwd = as_folder(value.get("cwd"))
    title, parent = (as_text(value.get(name)) for name in ("title", "forkedFrom"))
    log_entry = LogEntry(
        key=_make_key(entry, MAIN),
        native_id=f"title:{title}",
        created_at=parse_time(value.get("createdAt")),
        scope=f"{printable_name(entry.source.parts[-2])}/",
    )
    records = []
    if title.strip():
        kind = "custom" if value.get("isCustomTitle") is True else "ai"
        records.append(log_entry.make_side_title(title, kind))
    if parent:
        event = log_entry.make_event("opened", cwd=cwd, forked_from=parent)
        records.append(replace(event, native_id="opened"))
    noise = "" if records else "state"
    state = {"cwd": cwd} if cwd else {}
    return DecodeResult(records=tuple(records), state=state, noise=noise, cwd=cwd)


def _make_key(entry: RawEntry, agent_id: str) -> SessionKey:
    """Return the key of an agent in the session named by the path's second folder."""
    agent, session_id = entry.source.agent, printable_name(entry.source.parts[1])
    if agent_id == MAIN:
        return SessionKey(agent, session_id)
    return SessionKey(agent, session_id, f"subagent:{printable_name(agent_id)}")


def _update_state(kind: str, value: dict[str, Any], state: State) -> State:
    """Return the state after a line; of the side file (`beside`), keep only `cwd`."""
    changes: State = {}
    if "cwd" not in state:
        match = _FOLDER.search(as_text(state.get("beside")))
        text = match[0] if match else ""
        folder = parse_object(b"{%s}" % text.encode()) if text else {}
        changes = {"cwd": as_folder(folder.get("cwd")), "beside": text}
    cwd = as_folder(as_dict(value.get("environmentDisclosure")).get("cwd"))
    if cwd and not (state.get("cwd") or changes.get("cwd")):
        changes["cwd"] = cwd
    if kind == "llm.request" and value.get("model"):
        changes["model"] = as_text(value["model"])[:_MAX_ID_LENGTH]
    elif kind == "turn.prompt":
        changes["turn"] = as_text(value.get("promptId"))[:_MAX_ID_LENGTH]
    elif kind == "turn.ended":
        changes |= {"turn": None, "finish": None}
    elif reason := as_text(as_dict(value.get("event")).get("finishReason")):
        changes["finish"] = reason[:_MAX_ID_LENGTH]
    new_state = {**state, **changes}
    return {name: fact for name, fact in new_state.items() if fact is not None}


def _find_id(kind: str, value: dict[str, Any]) -> str:
    """Return the id of a line, or "" if it has none."""
    event, message = as_dict(value.get("event")), as_dict(value.get("message"))
    if kind == "context.append_loop_event":
        parent = as_text(event.get("parentUuid"))
        return f"result:{parent}" if parent else as_text(event.get("uuid"))
    if kind == "context.append_message":
        return as_text(message.get("id"))
    if kind.startswith("subagent."):
        return f"{kind}:{as_text(value.get('subagentId'))}:{value.get('time')}"
    return ""


def _find_noise(kind: str, value: dict[str, Any]) -> str:
    event = as_text(as_dict(value.get("event")).get("type"))
    if kind == "context.append_loop_event" and event in ("step.begin", "step.end"):
        return event
    group = kind.partition(".")[0]
    return kind if kind in NOISE_TYPES or group in NOISE_GROUPS else ""


def _decode_by_type(
    entry: LogEntry, kind: str, value: dict[str, Any], state: State
) -> Iterator[Record]:
    match kind:
        case "metadata":
            cwd = as_text(_update_state(kind, value, state).get("cwd"))
            yield entry.make_event("opened", cwd=cwd)
        case "context.append_message":
            yield from _decode_message(entry, as_dict(value.get("message")), state)
        case "context.append_loop_event":
            yield from _decode_loop_event(entry, as_dict(value.get("event")))
        case "usage.record":
            yield from _decode_usage(entry, value)
        case "turn.ended":
            yield from _decode_turn_end(entry, value, state)
        case "subagent.spawned":
            yield from _decode_subagent_link(entry, value)
        case _:
            yield from _decode_setting(entry, kind, value)


def _decode_setting(
    entry: LogEntry, kind: str, value: dict[str, Any]
) -> Iterator[Record]:
    match kind:
        case "profile.bind" | "config.update":
            cwd = as_folder(as_dict(value.get("environmentDisclosure")).get("cwd"))
            text = as_text(value.get("systemPrompt"))
            effort = as_text(value.get("thinkingEffort"))
            yield entry.make_event("context", text, note=kind, cwd=cwd, effort=effort)
        case "permission.set_mode" | "plan_mode.exit" | "plan_mode.cancel":
            mode = as_text(value.get("mode"))
            yield entry.make_event("context", note=kind, permission_mode=mode)
        case "plan_mode.enter":
            yield entry.make_event("context", note=kind, permission_mode="plan")
        case "context.apply_compaction":
            summary = value.get("summary") or value.get("contextSummary")
            text = _join_parts(as_dict(summary).get("content")) or as_text(summary)
            yield entry.make_event("compacted", text)
        case "context.undo":
            turns = as_count(value.get("count"))
            yield entry.make_event("rewound", note=kind, turns=turns)
        case "context.clear":
            yield entry.make_event("context", note=kind)
        case "subagent.failed":
            yield entry.make_event("notice", as_text(value.get("error")), note=kind)


def _decode_message(
    entry: LogEntry, message: dict[str, Any], state: State
) -> Iterator[Record]:
    text = _join_parts(message.get("content"))
    match message.get("role"):
        case "user":
            yield _decode_user(entry, text, as_dict(message.get("origin")), state)
        case "assistant":
            if text:
                yield entry.make_answer(text)
            calls = map(as_dict, as_list(message.get("toolCalls")))
            for number, call in enumerate(calls, _CALL_BLOCK):
                name, call_id = as_text(call.get("name")), as_text(call.get("id"))
                arguments = as_text(call.get("arguments")) or "{}"
                yield entry.make_call(name, call_id, arguments, block=number)
        case "tool":
            facts = {"output": text, "isError": message.get("isError")}
            yield _make_result(entry, as_text(message.get("toolCallId")), facts)
        case "system":
            yield entry.make_event("context", text, note="system")


def _decode_user(
    entry: LogEntry, text: str, origin: dict[str, Any], state: State
) -> Record:
    """Decode a message of a person, or one that the client injected."""
    match origin.get("kind"):
        case None | "user":
            turn_prompt_id, id_ = state.get("turn"), entry.native_id[:_MAX_ID_LENGTH]
            is_queued = bool(turn_prompt_id) and turn_prompt_id != id_
            return entry.make_prompt(text, origin="queued" if is_queued else "")
        case "system_trigger" if entry.key.source != MAIN:
            return entry.make_prompt(text)
        case "skill_activation" if origin.get("trigger") == "user-slash":
            return _make_command(entry, text, origin, "skill")
        case "plugin_command":
            return _make_command(entry, text, origin, "command")
        case "shell_command":
            return _decode_shell(entry, text, origin)
        case "task":
            task, status = (as_text(origin.get(name)) for name in ("taskId", "status"))
            title = f"Background task {task}: {status}"
            return entry.make_event("notice", text, note="task", notification=title)
        case "system_trigger" if origin.get("name") == "stop_hook":
            return entry.make_event("context", text, note="stop_blocked")
    notes = (as_text(origin.get(name)) for name in ("variant", "name", "kind"))
    return entry.make_event("context", text, note=next(filter(None, notes), ""))


def _make_command(
    entry: LogEntry, text: str, origin: dict[str, Any], kind: str
) -> Record:
    """Return a `/name` command; its expansion, `text`, is attached."""
    parts = (as_text(origin.get(f"{kind}{name}")) for name in ("Name", "Args"))
    record = entry.make_prompt(f"/{' '.join(filter(None, parts))}", origin="command")
    return replace(record, metadata={**record.metadata, "attached": text})


def _decode_shell(entry: LogEntry, text: str, origin: dict[str, Any]) -> Record:
    """Decode a command that a person ran with `!`, or its output."""
    if origin.get("phase") == "input":
        match = _SHELL_INPUT.search(text)
        command = unescape(match[1] if match else text)
        return entry.make_prompt(f"! {command}", origin="shell")
    parts = match.groups() if (match := _SHELL_OUTPUT.search(text)) else (text,)
    output = "\n".join(unescape(part).rstrip("\n") for part in parts if part)
    event = entry.make_event("notice", output, note="shell_output")
    return replace(event, tool_name=SHELL)


def _decode_loop_event(entry: LogEntry, event: dict[str, Any]) -> Iterator[Record]:
    """Decode a `context.append_loop_event`: a part of an answer, a call or a result."""
    call_id = as_text(event.get("toolCallId"))
    match event.get("type"):
        case "content.part":
            part = as_dict(event.get("part"))
            if part.get("type") == "think":
                yield entry.make_thinking(as_text(part.get("think")))
            else:
                yield entry.make_answer(_join_parts([part]))
        case "tool.call":
            yield entry.make_call(
                as_text(event.get("name")), call_id, event.get("args")
            )
        case "tool.result":
            yield _make_result(entry, call_id, as_dict(event.get("result")))


def _make_result(entry: LogEntry, call_id: str, result: dict[str, Any]) -> Record:
    """Return a result; the client reports an exit code in the output's last line."""
    output = result.get("output")
    text = output if isinstance(output, str) else _join_parts(output)
    facts: dict[str, Any] = {}
    if match := _EXIT_CODE.search(text):
        text, facts = mark_exit_code(text[: match.start()], int(match[1]))
    if result.get("isError") is True:
        facts["is_error"] = True
    elif text.startswith("agent_id: ") and (summary := _SUMMARY.search(text)):
        facts["report"] = summary[1]
    return entry.make_result("", call_id, text, **facts)


def _decode_usage(entry: LogEntry, value: dict[str, Any]) -> Iterator[Record]:
    """Decode the tokens of a request; `step.end` repeats them.

    An agent's log may begin with a copy of another's. The message ids in the copy are
    the same, so that its tokens are not counted again.
    """
    counts = as_dict(value.get("usage"))
    names = ("inputOther", "output", "inputCacheRead", "inputCacheCreation")
    usage = Usage(*(as_count(counts.get(name)) for name in names))
    agent, time = as_text(value.get("agentId")), value.get("time")
    message_id = f"{agent}:{time}:{usage.total_tokens}" if time else ""
    record = entry.make_usage(usage, message_id)
    yield replace(record, model=entry.model or as_text(value.get("model")))


def _decode_turn_end(
    entry: LogEntry, value: dict[str, Any], state: State
) -> Iterator[Record]:
    reason = as_text(value.get("reason"))
    if reason == "cancelled":
        yield entry.make_event("turn_ended", note="interrupt")
        return
    if reason == "failed":
        error = as_dict(value.get("error"))
        text = as_text(error.get("message")) or "The turn failed."
        yield entry.make_record("error", "assistant", content=text, block=1)
    is_cut = state.get("finish") in ("max_tokens", "length", "truncated")
    stop_reason = "max_tokens" if is_cut else "end_turn"
    yield entry.make_event("turn_ended", stop_reason=stop_reason, reason=reason)


def _decode_subagent_link(entry: LogEntry, value: dict[str, Any]) -> Iterator[Record]:
    """Decode the link of a subagent, as one of the subagent's own records."""
    child = as_text(value.get("subagentId"))
    if not child:
        return
    call_id = as_text(value.get("parentToolCallId"))
    name, task = as_text(value.get("subagentName")), as_text(value.get("description"))
    event = entry.make_event(
        "subagent_linked", tool_call_id=call_id, agent_type=name, description=task
    )
    key = SessionKey(entry.key.agent, entry.key.session_id, f"subagent:{child}")
    yield replace(event, session=key, tool_call_id=call_id)


def _join_parts(content: object) -> str:
    """Return the text of a message, with a placeholder for each file."""
    if isinstance(content, str):
        return content
    parts = map(as_dict, as_list(content))
    return "\n\n".join(filter(None, map(_format_part, parts)))


def _format_part(part: dict[str, Any]) -> str:
    kind = as_text(part.get("type"))
    if not kind.endswith("_url"):
        return as_text(part.get("text")) or as_text(part.get("think"))
    link = part.get("imageUrl") or part.get("audioUrl") or part.get("videoUrl")
    url = as_text(as_dict(link).get("url"))
    name = "data" if url.startswith("data:") else url[:_MAX_ID_LENGTH]
    return f"[{kind.removesuffix('_url')} {name}]"
