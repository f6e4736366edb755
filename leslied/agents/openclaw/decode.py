"""Decode rows of OpenClaw's database: events in Pi's format, and sessions with a title.

`docs/formats/openclaw.md` documents them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from leslied.agents._entry import LogEntry, as_dict, as_folder, as_text
from leslied.agents._parsing import parse_object, reject_entry, to_json
from leslied.agents._pi_events import decode_event
from leslied.model.record import MAIN, DecodeResult, SessionKey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.record import Record
    from leslied.model.source import RawEntry

    State = dict[str, Any]
    """The state of Pi's events (see `_pi_events.py`), and `session`: the id of the
    session to which this state belongs."""

_MAX_ID_LENGTH = 100
"""Longer ids are truncated in the decode state."""
_LINK_BLOCK = 2000
"""Block number of the link to a subagent, in the result of the call."""


def decode_row(entry: RawEntry, state: State) -> DecodeResult:
    """Decode an event of a session, or the title of a session."""
    value = parse_object(entry.data)
    session = as_dict(value.get("session"))
    session_id = as_text(session.get("id"))
    if not session_id:
        reject_entry("a row without a session")
    key = _make_key(entry.source.agent, session_id, session)
    cwd = as_folder(session.get("cwd"))
    if "seq" not in value:
        records = tuple(_decode_title(key, session_id, as_text(session.get("title"))))
        noise = "" if records else "session"
        return DecodeResult(records=records, state=state, noise=noise, cwd=cwd)
    # Rows of several sessions may alternate; the state is that of the last one only.
    is_same = state.get("session") == session_id[:_MAX_ID_LENGTH]
    event_state = {**state} if is_same else {"session": session_id[:_MAX_ID_LENGTH]}
    event, data = _load_event(value)
    if event is None:
        log_entry = LogEntry(
            key=key, native_id=f"seq:{value.get('seq')}", scope=session_id
        )
        return DecodeResult(
            records=(log_entry.make_unknown(data),), state=event_state, cwd=cwd
        )
    if not as_text(event.get("id")):
        event = {**event, "id": f"seq:{value.get('seq')}"}
    decoded = decode_event(event, key, event_state, data, scope=session_id)
    records = tuple(_finish_records(decoded.records, event, key, session))
    return DecodeResult(
        records=records,
        state=decoded.state,
        noise=decoded.noise,
        cwd=cwd or decoded.cwd,
    )


def _make_key(agent: str, session_id: str, session: dict[str, Any]) -> SessionKey:
    """Return the key of a session; a subagent belongs to the topmost session."""
    root, name = as_text(session.get("root")), _get_name(session.get("key"))
    if as_text(session.get("spawner")) and name and root not in ("", session_id):
        return SessionKey(agent, root, f"subagent:{name}")
    return SessionKey(agent, session_id)


def _get_name(session_key: object) -> str:
    """Return the last part of a key such as `agent:main:subagent:ID`."""
    return as_text(session_key).rpartition(":")[2]


def _load_event(value: dict[str, Any]) -> tuple[dict[str, Any] | None, bytes]:
    """Return an event and its text; None instead of an event that is not an object.

    Raise DecodeError for a compressed event that SQL could not decompress.
    """
    event = value.get("event")
    if isinstance(event, dict):
        return event, to_json(event).encode()
    if value.get("is_packed"):
        reject_entry("a compressed event that is damaged or too large")
    text = event if isinstance(event, str) else to_json(event)
    return None, text.encode(errors="replace")


def _finish_records(
    records: tuple[Record, ...],
    event: dict[str, Any],
    key: SessionKey,
    session: dict[str, Any],
) -> Iterator[Record]:
    """Yield the records of an event, and links of subagents to calls and parents.

    A prompt in a subagent's session is the subagent's task.
    """
    for record in records:
        is_task = key.source != MAIN and record.metadata.get("origin") == "prompt"
        metadata = {**record.metadata, "origin": "task"}
        yield replace(record, metadata=metadata) if is_task else record
    entry = LogEntry(
        key=key, native_id=as_text(event.get("id")), scope=as_text(session.get("id"))
    )
    message = as_dict(event.get("message"))
    child = _get_name(as_dict(message.get("details")).get("childSessionKey"))
    if child:
        link = entry.make_event(
            "subagent_linked",
            block=_LINK_BLOCK,
            tool_call_id=as_text(message.get("toolCallId")),
        )
        yield replace(link, session=key._replace(source=f"subagent:{child}"))
    is_nested = ":subagent:" in as_text(session.get("spawner"))
    if event.get("type") == "session" and key.source != MAIN and is_nested:
        parent = _get_name(session.get("spawner"))
        yield entry.make_event(
            "subagent_linked", block=_LINK_BLOCK, parent_agent=parent
        )


def _decode_title(key: SessionKey, session_id: str, title: str) -> Iterator[Record]:
    """Decode the name that a person or a channel gave a session."""
    if title and key.source == MAIN:
        entry = LogEntry(key=key, native_id=f"title:{title}", scope=session_id)
        yield entry.make_side_title(title, "custom")
