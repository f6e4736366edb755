"""From a message with its parts to records."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from leslied.agents._parsing import parse_time, refuse
from leslied.agents.opencode import parts
from leslied.agents.opencode.wire import Message, Session, inner, parse, text
from leslied.model.record import MAIN, Decoded, Record, SessionKey, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.source import RawEntry

_ERROR, _END, _TOKENS = 1, 2, 3
"""Block numbers of what a message tells beside its parts."""
_OPENED = 900
_NO_TITLE = re.compile(r"(New|Child) session - \d{4}-\d\d-\d\dT[\d:.]+Z")
_SPAWNED = re.compile(r"(.*) \(@\S+ subagent\)", re.DOTALL)
_GOES_ON = ("tool-calls", "unknown")
_ABORTED = "MessageAbortedError"
_MOST_TOKENS = 2**53
"""A larger number is damage, not a count."""


def decode_entry(entry: RawEntry, state: dict[str, Any]) -> Decoded:
    """What a message or session says as it stands now."""
    try:
        return _decode(entry, state, parse(entry))
    except OverflowError:
        return _decode(entry, state, parse(entry, is_odd=True))
    except RecursionError:
        refuse("nested too deeply")


def _decode(entry: RawEntry, state: dict[str, Any], message: Message | None) -> Decoded:
    if message is None:
        return _keep_unknown(entry, state)
    key = message.session.key(entry.source.agent)
    records = (*_tell_session(message, key), *_tell_message(message, key))
    noise = "" if records else text(message.info, "role") or "session"
    cwd = message.session.directory
    return Decoded(records=records, state=state, noise=noise, cwd=cwd)


def _keep_unknown(entry: RawEntry, state: dict[str, Any]) -> Decoded:
    """An entry of a kind nobody knows, as it stood."""
    if entry.is_fragment:
        refuse("a fragment that is no entry of its own")
    record = Record(
        session=SessionKey(entry.source.agent, "unknown"),
        type="unknown",
        role="system",
        content=entry.data.decode(errors="replace"),
    )
    return Decoded(records=(record,), state=state)


def _tell_session(message: Message, key: SessionKey) -> Iterator[Record]:
    """Folder, title and parent: with each prompt, and when the session changed."""
    session = message.session
    if message.id and text(message.info, "role") != "user":
        return
    if message.id:
        known = {"cwd": session.directory, "version": session.version}
        known = {name: value for name, value in known.items() if value}
        yield _event(key, session.id, _OPENED, session.created, "opened", **known)
    if key.source != MAIN:
        yield _link(message, key)
    elif session.title and not _NO_TITLE.fullmatch(session.title):
        # Every title is an entry of its own: a sum of the session sees it once.
        native = f"title:{session.id}:{session.title}"
        event = _event(key, native, 0, session.created, "title", title_kind="ai")
        yield parts.with_content(event, session.title)


def _link(message: Message, key: SessionKey) -> Record:
    """Who spawned a subagent, as its own session tells it."""
    session: Session = message.session
    spawned = _SPAWNED.fullmatch(session.title)
    known = {
        "agent_type": text(message.info, "agent"),
        "description": spawned.group(1) if spawned else "",
        "parent_agent": session.parent if session.parent != session.root else "",
    }
    known = {name: value for name, value in known.items() if value}
    native = f"session:{session.id}:{text(message.info, 'agent')}"
    return _event(key, native, 0, session.created, "subagent_linked", **known)


def _tell_message(message: Message, key: SessionKey) -> Iterator[Record]:
    """All that was said, what it cost, and how it ended."""
    if not message.id:
        return
    base = {
        "session": key,
        "message_id": message.id,
        "parent_id": text(message.info, "parentID"),
        "model": _find_model(message.info),
    }
    match text(message.info, "role"):
        case "user":
            yield from parts.tell_prompt(message, base)
        case "assistant":
            yield from parts.tell_answer(message, base)
            if message.is_complete:
                yield from _tell_usage(message, base)
                yield from _tell_end(message, key, base)
        case _:
            yield parts.keep_message(message, base)


def _find_model(info: dict[str, Any]) -> str:
    return text(info, "modelID") or text(inner(info, "model"), "modelID")


def _tell_usage(message: Message, base: dict[str, Any]) -> Iterator[Record]:
    """The message's tokens, under a name that a fork's copy of it has, too."""
    told = _told_tokens(message)
    usage = _sum_usage(told)
    if not usage:
        return
    times = inner(message.info, "time")
    created, completed = times.get("created"), times.get("completed")
    name = f"{created}-{completed}-{base['model']}" if completed else message.id
    yield Record(
        **{**base, "message_id": name},
        type="token_usage",
        role="assistant",
        native_id=message.id,
        block=_TOKENS,
        created_at=parse_time(completed),
        usage=usage,
        metadata={"is_sum": True} if len(told) > 1 else {},
    )


def _told_tokens(message: Message) -> list[dict[str, Any]]:
    """The tokens of every step; the message itself tells those of its last one."""
    steps = [part.data for part in message.parts if part.type == "step-finish"]
    return [inner(step, "tokens") for step in steps] or [inner(message.info, "tokens")]


def _sum_usage(told: list[dict[str, Any]]) -> Usage:
    return Usage(
        sum(_count(tokens, "input") for tokens in told),
        sum(_count(tokens, "output") + _count(tokens, "reasoning") for tokens in told),
        sum(_count(inner(tokens, "cache"), "read") for tokens in told),
        sum(_count(inner(tokens, "cache"), "write") for tokens in told),
    )


def _count(tokens: dict[str, Any], name: str) -> int:
    number = tokens.get(name)
    is_number = isinstance(number, (int, float)) and not isinstance(number, bool)
    return int(number) if is_number and 0 < number < _MOST_TOKENS else 0  # type: ignore[operator, arg-type]


def _tell_end(
    message: Message, key: SessionKey, base: dict[str, Any]
) -> Iterator[Record]:
    """What went wrong, or that the turn is over."""
    at = inner(message.info, "time").get("completed")
    error = inner(message.info, "error")
    if text(error, "name") == _ABORTED:
        yield _event(key, message.id, _END, at, "turn_ended", note="interrupt")
    elif message.info.get("error"):
        yield parts.tell_error(error, base, message.id, _ERROR, at)
    elif _is_last(message):
        told = {"length": "max_tokens"}.get(text(message.info, "finish"), "end_turn")
        yield _event(key, message.id, _END, at, "turn_ended", stop_reason=told)


def _is_last(message: Message) -> bool:
    """Whether the agent now waits for the person; older messages do not say why."""
    if message.info.get("summary") is True:
        return False
    finish = text(message.info, "finish")
    if finish:
        return finish not in _GOES_ON
    said = [part.type for part in message.parts if part.type in ("text", "tool")]
    return bool(said) and said[-1] == "text"


def _event(
    key: SessionKey, native_id: str, block: int, at: Any, kind: str, **known: Any
) -> Record:
    return Record(
        session=key,
        type="system_event",
        role="system",
        native_id=native_id,
        block=block,
        created_at=parse_time(at),
        metadata={"kind": kind, **known},
    )
