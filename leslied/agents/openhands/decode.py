"""Decode an entry of OpenHands: an event, or the state of a conversation.

This module decodes facts that need more than one event: the folder, the tokens of
requests, and which call started a subagent. `events.py` decodes the event itself.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from msgspec import structs

from leslied.agents._entry import (
    LogEntry,
    as_count,
    as_dict,
    as_folder,
    as_list,
    as_text,
)
from leslied.agents._parsing import (
    parse_local_time,
    parse_object,
    printable_name,
    reject_entry,
)
from leslied.agents.openhands.events import decode_event, is_noise, join_texts
from leslied.model.record import MAIN, DecodeResult, Record, SessionKey, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.source import RawEntry

    State = dict[str, Any]

_OPENED_BLOCK, _LINK_BLOCK, _USAGE_BLOCK = 600, 601, 602
"""Block numbers of records about the session."""
_MAX_PAIRS = 14
"""Maximum number of calls without a subagent, and of subagents without a call, in the
decode state."""
_MAX_COUNTERS = 8
"""Maximum number of sessions whose number of requests is in the decode state."""
_MAX_USE_LENGTH = 20
_MAX_USES = 3
"""Maximum number of kinds of use, such as `agent`, in the counters of a session."""
_MAX_ID_LENGTH = 48
"""Calls and subagents with a longer id are not linked, to keep the state small."""
_MAX_MODEL_LENGTH = 100
_SUBAGENT_METRICS = ("task:", "delegate:")
"""Prefixes of metrics that repeat those of a subagent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Event(LogEntry):
    """The fields that the records of an event share, and the path to its session."""

    path: tuple[str, ...] = ()
    """The ids of the subagents from the conversation to this session."""

    @property
    def label(self) -> str:
        """The session's name in the decode state; empty for the main session."""
        return self.path[-1][:_MAX_ID_LENGTH] if self.path else ""


def decode_entry(entry: RawEntry, state: State) -> DecodeResult:
    """Decode an event, or the state of a conversation or subagent."""
    value = parse_object(entry.data)
    if not {"event", "state"} & value.keys():
        reject_entry("neither an event nor a state")
    conversation, body = as_dict(value.get("state")), as_dict(value.get("event"))
    state = _update_state(state, conversation, body)
    event = _parse_event(entry, value, state)
    records, state = _decode_opened(event, conversation, state)
    noise = "" if "event" in value else "state"
    if "event" in value:
        kind = as_text(body.get("kind"))
        event_records = [*decode_event(event, kind, body)]
        noise = kind if not event_records and is_noise(kind, body) else ""
        if not event_records and not noise:
            event_records = [event.make_unknown(value["event"], event_type=kind)]
        links, state = _link_subagents(event, body, state)
        records += [*event_records, *links]
    usages, state = _decode_usages(event, conversation, body, state)
    records += usages
    return DecodeResult(
        records=tuple(records),
        state=state,
        noise="" if records else noise,
        cwd=as_text(state.get("cwd")),
    )


def _update_state(
    state: State, conversation: dict[str, Any], body: dict[str, Any]
) -> State:
    """Return the decode state with the folder, the model and the time of the entry."""
    workspace = as_dict(conversation.get("workspace"))
    llm = as_dict(as_dict(conversation.get("agent")).get("llm"))
    facts = {
        "cwd": as_folder(workspace.get("working_dir")),
        "model": as_text(llm.get("model"))[:_MAX_MODEL_LENGTH],
        "time": as_text(body.get("timestamp"))[:_MAX_ID_LENGTH],
    }
    return {**state, **{name: fact for name, fact in facts.items() if fact}}


def _parse_event(entry: RawEntry, value: dict[str, Any], state: State) -> _Event:
    names = [as_text(name) for name in as_list(value.get("path"))]
    path = tuple(printable_name(name) for name in names if name)
    session_id = printable_name(entry.source.parts[0])
    source = f"subagent:{path[-1]}" if path else MAIN
    body = as_dict(value.get("event"))
    return _Event(
        key=SessionKey(entry.source.agent, session_id, source),
        native_id=as_text(body.get("id")),
        created_at=parse_local_time(state.get("time")),
        model=as_text(state.get("model")),
        path=path,
    )


def _decode_opened(
    event: _Event, conversation: dict[str, Any], state: State
) -> tuple[list[Record], State]:
    """Decode a session's folder when the session's state comes for the first time.

    From then on, the session has counters in the decode state.
    """
    counters = as_dict(state.get("counters"))
    if not conversation or event.label in counters:
        return [], state
    counters = dict([*counters.items(), (event.label, {})][-_MAX_COUNTERS:])
    folder = as_folder(as_dict(conversation.get("workspace")).get("working_dir"))
    record = event.make_event("opened", block=_OPENED_BLOCK, cwd=folder)
    id_ = event.path[-1] if event.path else event.key.session_id
    record = structs.replace(record, native_id=f"opened {id_}")
    return [record], {**state, "counters": counters}


def _link_subagents(
    event: _Event, body: dict[str, Any], state: State
) -> tuple[list[Record], State]:
    """Link a subagent to the call whose prompt is the subagent's first message.

    Nothing else connects the two. Calls and subagents that have no counterpart yet are
    in the state, each with a hash of its prompt.
    """
    calls = _parse_pairs(state.get("calls"))
    subagents = _parse_pairs(state.get("subagents"))
    call_id = as_text(body.get("tool_call_id"))
    if 0 < len(call_id) <= _MAX_ID_LENGTH:
        prompts = _list_prompts(as_dict(body.get("action")))
        calls += [[_hash_prompt(event.path, prompt), call_id] for prompt in prompts]
    is_message = body.get("kind") == "MessageEvent" and body.get("source") == "user"
    if event.path and is_message and len(event.path[-1]) <= _MAX_ID_LENGTH:
        text = join_texts(as_dict(body.get("llm_message")).get("content"))
        subagents.append([_hash_prompt(event.path[:-1], text), event.path[-1]])
    records = []
    for subagent in [*subagents]:
        prompt_hash, subagent_id = subagent
        call = next((call for call in calls if call[0] == prompt_hash), None)
        if call:
            calls.remove(call)
            subagents.remove(subagent)
            records.append(_make_link(event, subagent_id, call[1]))
    pairs = {"calls": calls[-_MAX_PAIRS:], "subagents": subagents[-_MAX_PAIRS:]}
    return records, {**state, **pairs} if calls or subagents or records else state


def _parse_pairs(value: object) -> list[list[str]]:
    """Return pairs of the decode state: the hash of a prompt, and an id."""
    pairs = (as_list(pair) for pair in as_list(value))
    return [[as_text(pair[0]), as_text(pair[1])] for pair in pairs if len(pair) > 1]


def _make_link(event: _Event, subagent: str, call_id: str) -> Record:
    """Return the same link, whether the call or the subagent is decoded first."""
    log_entry = replace(
        event,
        key=event.key._replace(source=f"subagent:{subagent}"),
        native_id=f"link {subagent}",
        created_at=None,
    )
    return log_entry.make_event(
        "subagent_linked", block=_LINK_BLOCK, tool_call_id=call_id
    )


def _list_prompts(action: dict[str, Any]) -> list[str]:
    """List the prompts of the subagents that an action starts."""
    if action.get("kind") == "TaskAction" and not action.get("resume"):
        return [as_text(action.get("prompt"))]
    if action.get("kind") == "DelegateAction":
        return [as_text(task) for task in as_dict(action.get("tasks")).values()]
    return []


def _hash_prompt(path: tuple[str, ...], prompt: str) -> str:
    text = "\0".join([*path, prompt.strip()])
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:12]


def _decode_usages(
    event: _Event, conversation: dict[str, Any], body: dict[str, Any], state: State
) -> tuple[list[Record], State]:
    """Decode the tokens of new requests, up to the one that returned the event.

    The state of the session lists all requests. Without an event, decode all that were
    not decoded before. For each kind of use, the decode state has the number of decoded
    requests.
    """
    stats = as_dict(as_dict(conversation.get("stats")).get("usage_to_metrics"))
    counters = as_dict(state.get("counters"))
    counts = as_dict(counters.get(event.label))
    records: list[Record] = []
    for use, metrics in stats.items():
        if use.startswith(_SUBAGENT_METRICS) or len(use) > _MAX_USE_LENGTH:
            continue
        requests = as_list(as_dict(metrics).get("token_usages"))
        start, end = as_count(counts.get(use)), len(requests)
        if body:
            response_id = as_text(body.get("llm_response_id"))
            end = _find_requests_end(requests, start, response_id)
        for number in range(start, end):
            records += _decode_usage(event, use, number, as_dict(requests[number]))
        if end > start:
            counts = dict([*counts.items(), (use, end)][-_MAX_USES:])
    if counts and event.label in counters:
        state = {**state, "counters": {**counters, event.label: counts}}
    return records, state


def _find_requests_end(requests: list[Any], start: int, response_id: str) -> int:
    """Return the index after the request with this response; `start` if there is none.

    Only requests from the index `start` on are searched.
    """
    if not response_id:
        return start
    for number in range(start, len(requests)):
        if as_dict(requests[number]).get("response_id") == response_id:
            return number + 1
    return start


def _decode_usage(
    event: _Event, use: str, number: int, request: dict[str, Any]
) -> Iterator[Record]:
    """Decode the tokens of a request.

    `use` says what the model was used for, such as `agent`; `number` counts the
    requests of that kind.
    """
    names = (
        "prompt_tokens",
        "completion_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
    )
    input_total, output, cache_read, cache_write = (
        as_count(request.get(name)) for name in names
    )
    # The prompt's tokens include those that are read from or written to the cache.
    input_tokens = max(input_total - cache_read - cache_write, 0)
    usage = Usage(input_tokens, output, cache_read, cache_write)
    if not usage:
        return
    session = event.path[-1] if event.path else event.key.session_id
    id_ = as_text(request.get("response_id")) or f"{session} {use} {number}"
    log_entry = replace(event, model=as_text(request.get("model")) or event.model)
    record = log_entry.make_usage(usage, id_, block=_USAGE_BLOCK)
    yield structs.replace(record, native_id=f"request {id_}")
