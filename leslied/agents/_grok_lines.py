"""Decode the updates and the summaries of Grok's sessions.

`docs/formats/grok.md` documents them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from leslied.agents import _acp_updates
from leslied.agents._entry import LogEntry, as_count, as_dict, as_folder, as_text
from leslied.agents._parsing import (
    parse_object,
    parse_time,
    printable_name,
    reject_entry,
    to_json,
)
from leslied.model.record import MAIN, DecodeResult, SessionKey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.record import Record
    from leslied.model.source import RawEntry

    State = dict[str, Any]
    """`cwd`; `beside`: what links a subagent to its session; `model`; `ordinal`: the
    number of the next prompt; `spawns`: calls that start a subagent, with their
    descriptions; and the state of ACP updates."""

NOISE = _acp_updates.NOISE | {
    "background_tasks",
    "compaction_checkpoint",
    "goal_updated",
    "hooks_changed",
    "image_compressed",
    "interaction_resolved",
    "last_turn_summary",
    "memory_files",
    "memory_flush_started",
    "pending_interaction",
    "plugins_changed",
    "reasoning_completed",
    "relay_sync_status",
    "response_completed",
    "response_started",
    "session_recap",
    "session_status",
    "subagent_progress",
    "task_backgrounded",
    "tool_call_delta_chunk",
    "tool_call_update",
    "workflow_updated",
}
"""Updates that repeat others, or that only the client needs."""
_OPENED_BLOCK, _LINK_BLOCK, _USAGE_BLOCK = 900, 901, 902
"""Block numbers of records that do not come from a block of an update."""
_MAX_ID_LENGTH, _MAX_SPAWNS = 100, 5
_LINK_FACT = re.compile(
    r'"(parent_session_id|subagent_type|description)":\s*"((?:[^"\\]|\\.){1,200})"'
)
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")
_QUERY = re.compile(r"<user_query>\n?(.*?)\n?</user_query>", re.DOTALL)
_SUBAGENT_ID = re.compile(r"^subagent_id: ([\w-]{1,100})$", re.MULTILINE | re.ASCII)
_SUBAGENT_NOTES = re.compile(r"\n*<subagent_(?:meta|result)>.*", re.DOTALL)
"""Notes for the agent that the client adds to a subagent's answer."""
_EXIT_LINE = re.compile(r"\Aexit: -?\d+(?:\n|\Z)")
_PROMPT_TEXTS = (
    "tool_output_for_prompt",
    "summary_for_prompt",
    "output_for_prompt",
    "message",
    "content",
)
"""Fields with a result's text as the agent reads it, in order of preference."""


def decode_line(entry: RawEntry, state: State) -> DecodeResult:
    """Decode one update of a session's or subagent's log."""
    value = parse_object(entry.data)
    params = as_dict(value.get("params"))
    update, meta = as_dict(params.get("update")), as_dict(params.get("_meta"))
    kind = as_text(update.get("sessionUpdate"))
    if entry.is_fragment and not (kind and value.get("method")):
        reject_entry("a fragment that is not an update")
    is_first = "cwd" not in state
    state = _start_state(entry, update, state)
    log_entry = LogEntry(
        key=_make_key(entry, state),
        native_id=_make_id(meta),
        created_at=parse_time(meta.get("agentTimestampMs") or value.get("timestamp")),
        scope=printable_name(entry.source.parts[-2]),
        model=as_text(state.get("model")),
    )
    records, state = _decode_update(log_entry, kind, update, state)
    has_own_record = any(record.native_id == log_entry.native_id for record in records)
    noise = kind if not has_own_record and kind in NOISE else ""
    if not records and not noise:
        records = [log_entry.make_unknown(entry.data, update_type=kind)]
    if is_first:
        records[:0] = _open_session(log_entry, state)
    return DecodeResult(
        records=tuple(records), state=state, noise=noise, cwd=as_text(state["cwd"])
    )


def decode_summary(entry: RawEntry) -> DecodeResult:
    """Decode the title of a session, and which session it was forked from."""
    value = parse_object(entry.data)
    cwd = as_folder(as_dict(value.get("info")).get("cwd"))
    state = {"cwd": cwd} if cwd else {}
    if value.get("session_kind") == "subagent":
        return DecodeResult(state=state, noise="summary", cwd=cwd)
    title = as_text(value.get("generated_title")).strip()
    parent = as_text(value.get("parent_session_id"))
    key = _make_key(entry, {})
    log_entry = LogEntry(
        key=key,
        native_id=f"title:{title}",
        created_at=parse_time(value.get("created_at")),
        scope=key.session_id,
    )
    records = []
    if title:
        title_kind = "custom" if value.get("title_is_manual") is True else "ai"
        records.append(log_entry.make_side_title(title, title_kind))
    # The log's path names the folder, unless that name was too long.
    if parent or not _decode_folder(entry):
        event = log_entry.make_event("opened", cwd=cwd, forked_from=parent)
        records.append(replace(event, native_id="opened", block=_OPENED_BLOCK))
    noise = "" if records else "summary"
    return DecodeResult(records=tuple(records), state=state, noise=noise, cwd=cwd)


def _start_state(entry: RawEntry, update: dict[str, Any], state: State) -> State:
    """Return the state with facts from the path, the side file and the update."""
    if "cwd" not in state:
        # Of the side file, keep only what links a subagent to its session.
        side_file = _shorten_side_file(state)
        state = {**state, "cwd": _decode_folder(entry), "beside": side_file}
    model = as_text(as_dict(update.get("_meta")).get("modelId"))
    model = model or as_text(update.get("model_id"))
    return {**state, "model": model[:_MAX_ID_LENGTH]} if model else state


def _decode_folder(entry: RawEntry) -> str:
    """Return the directory that a log's path encodes; "" if it was too long."""
    name = printable_name(entry.source.parts[0]).encode()
    path = _ESCAPE.sub(lambda match: bytes.fromhex(match[1].decode()), name)
    folder = as_folder(path.decode(errors="replace"))
    is_path = folder.startswith("/") or folder[1:3] in (":\\", ":/")
    return folder if is_path else ""


def _shorten_side_file(state: State) -> str:
    """Return what the text of the side file says about a subagent's parent."""
    facts: dict[str, str] = {}
    for name, text in _LINK_FACT.findall(as_text(state.get("beside"))):
        facts.setdefault(name, text)
    return ", ".join(f'"{name}": "{text}"' for name, text in facts.items())


def _parse_link(state: State) -> dict[str, str]:
    return dict(_LINK_FACT.findall(as_text(state.get("beside"))))


def _make_key(entry: RawEntry, state: State) -> SessionKey:
    agent, session_id = entry.source.agent, printable_name(entry.source.parts[-2])
    parent = _parse_link(state).get("parent_session_id", "")
    if parent and parent != session_id:
        return SessionKey(agent, parent, f"subagent:{session_id}")
    return SessionKey(agent, session_id)


def _make_id(meta: dict[str, Any]) -> str:
    """Return an update's id, with its time: each process numbers its events from 0."""
    event_id, time = as_text(meta.get("eventId")), meta.get("agentTimestampMs")
    return f"{event_id}@{as_count(time)}" if event_id else ""


def _open_session(entry: LogEntry, state: State) -> Iterator[Record]:
    """Yield the event of a session's opening, and the link of a subagent."""
    cwd, link = as_text(state["cwd"]), _parse_link(state)
    yield entry.make_event("opened", cwd=cwd, block=_OPENED_BLOCK)
    if entry.key.source != MAIN:
        yield entry.make_event(
            "subagent_linked",
            block=_LINK_BLOCK,
            agent_type=link.get("subagent_type"),
            description=link.get("description"),
        )


def _decode_update(
    entry: LogEntry, kind: str, update: dict[str, Any], state: State
) -> _acp_updates.Decoded:
    if kind == "user_message_chunk":
        return _decode_user(entry, update, state)
    if as_dict(update.get("_meta")).get("hostTurn") is True:
        text = _acp_updates.format_block(update.get("content"))
        event = entry.make_event("notice", text, note="command_output")
        return _acp_updates.Decoded([event], state)
    records, state = _acp_updates.decode_update(
        entry, update, state, output=_find_output(update)
    )
    if kind in ("tool_call", "tool_call_update"):
        return _decode_spawn_call(entry, update, records, state)
    if kind == "subagent_spawned":
        return _decode_subagent_start(entry, update, state)
    records += _decode_extension(entry, kind, update)
    return _acp_updates.Decoded(records, state)


def _decode_user(
    entry: LogEntry, update: dict[str, Any], state: State
) -> _acp_updates.Decoded:
    """Decode a message of a person, or one that the client injected."""
    block = as_dict(update.get("content"))
    meta = as_dict(update.get("_meta"))
    text, index = _acp_updates.format_block(block), meta.get("promptIndex")
    ordinal = index if type(index) is int and 0 <= index < 2**53 else None
    if ordinal is not None:
        state = {**state, "ordinal": ordinal + 1}
    if meta.get("hideFromScrollback") is True or text.startswith("<system-reminder>"):
        event = entry.make_event("context", text, note="injected")
        return _acp_updates.Decoded([event], state)
    prompt = _acp_updates.Prompt(ordinal=ordinal)
    # A shell or slash command (`hostTurn`) gets the number of the next prompt.
    next_ordinal = as_count(state.get("ordinal"))
    if command := as_text(as_dict(block.get("_meta")).get("bash_command")):
        prompt = _acp_updates.Prompt("shell", next_ordinal, f"! {command}")
    elif meta.get("hostTurn") is True:
        prompt = _acp_updates.Prompt("command", next_ordinal)
    elif ordinal is None and entry.key.source == MAIN:
        # A message without a number was typed during a turn.
        match = _QUERY.search(text)
        prompt = _acp_updates.Prompt("queued", None, match[1] if match else text)
    return _acp_updates.decode_update(entry, update, state, prompt=prompt)


def _find_output(update: dict[str, Any]) -> str | None:
    """Return a result's text as the agent reads it, without the exit code."""
    output = as_dict(update.get("rawOutput"))
    for facts in (output, *map(as_dict, output.values())):
        texts = (as_text(facts.get(name)) for name in _PROMPT_TEXTS)
        if text := next(filter(None, texts), ""):
            return _EXIT_LINE.sub("", text)
    return None


def _decode_spawn_call(
    entry: LogEntry, update: dict[str, Any], records: list[Record], state: State
) -> _acp_updates.Decoded:
    """Add to a call's records the link and the report of the subagent it started."""
    call_id = as_text(update.get("toolCallId"))
    output = as_dict(update.get("rawOutput"))
    spawns = dict(as_dict(state.get("spawns")))
    description = as_text(as_dict(update.get("rawInput")).get("description"))
    is_call = _acp_updates.find_tool_name(update) == "spawn_subagent"
    if is_call and len(call_id) <= _MAX_ID_LENGTH:
        spawns[call_id] = description[:_MAX_ID_LENGTH]
    results = [record.content for record in records if record.type == "tool_result"]
    records = [_add_result_facts(record, output) for record in records]
    if results and (call_id in spawns or output.get("type") == "SubagentCompleted"):
        spawns.pop(call_id, None)
        if match := _SUBAGENT_ID.search(results[0]):
            records.append(_make_link(entry, match[1], call_id))
    spawns = dict(list(spawns.items())[-_MAX_SPAWNS:])
    state = {name: fact for name, fact in state.items() if name != "spawns"}
    return _acp_updates.Decoded(
        records, {**state, "spawns": spawns} if spawns else state
    )


def _add_result_facts(record: Record, output: dict[str, Any]) -> Record:
    """Return a result with its spill file's path or a subagent's report as metadata."""
    if record.type != "tool_result":
        return record
    if output.get("truncated") is True and (path := as_text(output.get("output_file"))):
        return replace(record, metadata={**record.metadata, "spill": path})
    report = _SUBAGENT_NOTES.sub("", record.content)
    if output.get("subagent_id") and report != record.content:
        return replace(record, metadata={**record.metadata, "report": report})
    return record


def _decode_subagent_start(
    entry: LogEntry, update: dict[str, Any], state: State
) -> _acp_updates.Decoded:
    """Decode a subagent's start; only its description shows which call started it."""
    task = as_text(update.get("description"))
    spawns = as_dict(state.get("spawns"))
    calls = [id_ for id_, text in spawns.items() if text == task[:_MAX_ID_LENGTH]]
    child = as_text(update.get("child_session_id"))
    if not child:
        return _acp_updates.Decoded([], state)
    call_id = calls[0] if len(calls) == 1 else ""
    agent_type = as_text(update.get("subagent_type"))
    link = _make_link(entry, child, call_id, agent_type=agent_type, description=task)
    return _acp_updates.Decoded([link], state)


def _make_link(entry: LogEntry, child: str, call_id: str, **facts: str) -> Record:
    """Return the link of a subagent, as one of the subagent's own records."""
    event = entry.make_event(
        "subagent_linked", block=_LINK_BLOCK, tool_call_id=call_id, **facts
    )
    key = entry.key._replace(source=f"subagent:{child}")
    return replace(event, session=key, tool_call_id=call_id)


def _decode_extension(
    entry: LogEntry, kind: str, update: dict[str, Any]
) -> Iterator[Record]:
    """Decode an update that only Grok has."""
    match kind:
        case "turn_completed":
            yield from _decode_turn_end(entry, update)
        case "rewind_marker":
            target = as_count(update.get("target_prompt_index"))
            yield entry.make_event("rewound", note=kind, ordinal=target)
        case "auto_compact_completed":
            yield entry.make_event("compacted", as_text(update.get("summary_preview")))
        case "session_summary_generated":
            title = as_text(update.get("session_summary"))
            yield entry.make_event("title", title, title_kind="ai")
        case "model_changed" | "model_auto_switched":
            effort = as_text(update.get("reasoning_effort"))
            event = entry.make_event("context", note=kind, effort=effort)
            model = update.get("model_id") or update.get("new_model_id")
            yield replace(event, model=as_text(model))
        case _:
            yield from _decode_notice(entry, kind, update)


def _decode_notice(
    entry: LogEntry, kind: str, update: dict[str, Any]
) -> Iterator[Record]:
    """Decode a report of the client that is not a part of the conversation."""
    match kind:
        case "subagent_finished":
            # Its answer is in its own log, and in the result of the call.
            error, status = (as_text(update.get(n)) for n in ("error", "status"))
            yield entry.make_event("notice", error, note=kind, status=status)
        case "task_completed":
            yield _decode_task(entry, as_dict(update.get("task_snapshot")))
        case "retry_state":
            is_retry = update.get("type") == "retrying"
            note = "request_retried" if is_retry else kind
            text = as_text(update.get("reason")) or as_text(update.get("message"))
            yield entry.make_event("notice", text, note=note)
        case "hook_annotation" | "monitor_event" | "auto_compact_failed":
            names = ("message", "event_text", "error")
            texts = (as_text(update.get(name)) for name in names)
            yield entry.make_event("notice", next(filter(None, texts), ""), note=kind)
        case "hook_execution" | "image_dropped":
            text = to_json(update.get("runs", update.get("notes")))
            name = as_text(update.get("event_name"))
            yield entry.make_event("notice", text, note=kind, hook=name)


def _decode_turn_end(entry: LogEntry, update: dict[str, Any]) -> Iterator[Record]:
    """Decode the end of a turn; its tokens include those of its subagents.

    A fork repeats updates of another session, where their tokens are counted.
    """
    reason = as_text(update.get("stop_reason"))
    if reason == "error":
        text = as_text(update.get("agent_result")) or "The turn failed."
        yield entry.make_record("error", "assistant", content=text, block=1)
    yield _acp_updates.make_turn_end(entry, reason)
    is_repeated = entry.native_id and not entry.native_id.startswith(f"{entry.scope}-")
    if entry.key.source != MAIN or is_repeated:
        return
    usage, prompt_id = as_dict(update.get("usage")), as_text(update.get("prompt_id"))
    models = as_dict(usage.get("modelUsage")) or {entry.model: usage}
    for number, (model, value) in enumerate(models.items()):
        if tokens := _acp_updates.parse_usage(value):
            message_id = f"{prompt_id}:{model}" if prompt_id else ""
            record = entry.make_usage(tokens, message_id, block=_USAGE_BLOCK + number)
            yield replace(record, model=model)


def _decode_task(entry: LogEntry, task: dict[str, Any]) -> Record:
    """Decode the end of a command in the background."""
    command = as_text(task.get("command"))
    output, code = as_text(task.get("output")), task.get("exit_code")
    status = f" (exit code {code})" if type(code) is int else ""
    return entry.make_event(
        "notice",
        output,
        note="task_completed",
        notification=f"Background command{status}: {command}",
        report=output,
    )
