"""From one rollout line, or one old rollout document, to records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.agents._parsing import refuse, to_json
from leslied.agents.codex.events import decode_event, record_usage
from leslied.agents.codex.items import decode_item
from leslied.agents.codex.place import notice_replay, open_session, place, turn_to
from leslied.agents.codex.wire import (
    Line,
    find_noise,
    list_in,
    object_in,
    parse_json,
    parse_line,
    text_in,
)
from leslied.model.record import MAIN, Decoded

if TYPE_CHECKING:
    from leslied.agents.codex.items import Outcome
    from leslied.agents.codex.place import Here
    from leslied.model.record import Record
    from leslied.model.source import RawEntry


_TOLD_BEFORE = ("turn_context", "response_item", "event_msg", "compacted")
"""What a subagent need not repeat of its parent: it stands in the same session."""


def decode_line(entry: RawEntry, state: dict[str, Any]) -> Decoded:
    """What one line means."""
    noise = "" if entry.is_fragment else find_noise(entry.data)
    if noise:
        return Decoded(state=state, noise=noise)
    line = parse_line(entry.data)
    if entry.is_fragment and not line.is_entry:
        refuse("a fragment that is no line of its own")
    here, state = place(entry.source, line, state)
    is_replayed, state = notice_replay(line, state)
    if is_replayed and (
        line.type == "session_meta"
        or (here.key.source != MAIN and line.type in _TOLD_BEFORE)
    ):
        return Decoded(state=state, noise="replayed")
    records, state, noise = _decode_by_type(line, here, state)
    if is_replayed:
        # The parent's own log has the link, to a subagent of the parent's session.
        records = tuple(r for r in records if r.session == here.key)
    if not records and not noise:
        records = (_keep_unknown(entry, line, here),)
    return Decoded(records=records, state=state, noise=noise, cwd=state.get("cwd", ""))


def _decode_by_type(line: Line, here: Here, state: dict[str, Any]) -> Outcome:
    match line.type:
        case "session_meta":
            return *open_session(line, here, state), ""
        case "turn_context":
            records, state = turn_to(line, here, state)
            return records, state, "" if records else line.type
        case "response_item":
            return decode_item(line.payload, here, state)
        case "event_msg":
            return decode_event(line, here, state)
        case "token_usage_record":
            return record_usage(line, here, state)
        case "compacted":
            text = text_in(line.payload, "message")
            return (here.tell("compacted", text, note="compact_boundary"),), state, ""
        case "inter_agent_communication":
            text = text_in(line.payload, "content")
            return (here.tell("notice", text, note="agent_message"),), state, ""
        case "state":
            return (), state, "state"
    return (), state, ""


def _keep_unknown(entry: RawEntry, line: Line, here: Here) -> Record:
    """A line of a type nobody knows yet, kept as it is."""
    metadata = {"line_type": "/".join(filter(None, (line.type, line.kind)))[:200]}
    text = entry.data.decode(errors="replace")
    return here.make("unknown", "system", text, metadata=metadata)


def decode_document(entry: RawEntry, state: dict[str, Any]) -> Decoded:
    """The whole of an old rollout: a session and its items, in one object."""
    value = parse_json(entry.data)
    session, items = object_in(value, "session"), list_in(value, "items")
    if not session:
        refuse("a document without a session")
    line = Line("session_meta", session, session.get("timestamp"))
    here, state = place(entry.source, line, state)
    opened, state = open_session(line, here._replace(native_id="session"), state)
    records, noise = list(opened), ""
    for number, item in enumerate(items):
        at = here._replace(native_id=f"item:{number}", time=None)
        payload = item if isinstance(item, dict) else {}
        more, state, quiet = decode_item(payload, at, state)
        noise = noise or quiet
        if not more and not quiet:
            more = (at.make("unknown", "system", to_json(item)),)
        records += more
    cwd = state.get("cwd", "")
    return Decoded(records=tuple(records), state=state, noise=noise, cwd=cwd)
