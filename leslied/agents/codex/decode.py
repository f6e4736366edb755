"""Decode one rollout line, or one rollout document of the old format, into records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.agents._parsing import reject_entry, to_json
from leslied.agents.codex.events import decode_event, decode_usage
from leslied.agents.codex.items import decode_item
from leslied.agents.codex.routing import (
    decode_session_meta,
    decode_turn_context,
    detect_replay,
    route_line,
)
from leslied.agents.codex.schema import (
    CodexLine,
    find_noise,
    list_field,
    object_field,
    parse_json,
    parse_line,
    text_field,
)
from leslied.model.record import MAIN, DecodeResult

if TYPE_CHECKING:
    from leslied.agents.codex.items import RecordsStateNoise
    from leslied.agents.codex.routing import LineContext
    from leslied.model.record import Record
    from leslied.model.source import RawEntry


_INHERITED_TYPES = ("turn_context", "response_item", "event_msg", "compacted")
"""Types of lines that a subagent's log repeats from its parent's.

They are noise, because the parent is in the same session.
"""


def decode_line(entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
    """Decode one line of a rollout."""
    noise = "" if entry.is_fragment else find_noise(entry.data)
    if noise:
        return DecodeResult(state=state, noise=noise)
    line = parse_line(entry.data)
    if entry.is_fragment and not line.is_entry:
        reject_entry("a fragment that is not a line")
    context, state = route_line(entry.source, line, state)
    is_replayed, state = detect_replay(line, state)
    if is_replayed and (
        line.type == "session_meta"
        or (context.key.source != MAIN and line.type in _INHERITED_TYPES)
    ):
        return DecodeResult(state=state, noise="replayed")
    records, state, noise = _decode_by_type(line, context, state)
    if is_replayed:
        # Links to the parent's subagents are decoded from the parent's own log.
        records = tuple(r for r in records if r.session == context.key)
    if not records and not noise:
        records = (_make_unknown(entry, line, context),)
    return DecodeResult(
        records=records, state=state, noise=noise, cwd=state.get("cwd", "")
    )


def _decode_by_type(
    line: CodexLine, context: LineContext, state: dict[str, Any]
) -> RecordsStateNoise:
    """Decode a line; an unknown type has neither records nor noise."""
    match line.type:
        case "session_meta":
            return *decode_session_meta(line, context, state), ""
        case "turn_context":
            records, state = decode_turn_context(line, context, state)
            return records, state, "" if records else line.type
        case "response_item":
            return decode_item(line.payload, context, state)
        case "event_msg":
            return decode_event(line, context, state)
        case "token_usage_record":
            return decode_usage(line, context, state)
        case "compacted":
            text = text_field(line.payload, "message")
            return (
                (context.make_event("compacted", text, note="compact_boundary"),),
                state,
                "",
            )
        case "inter_agent_communication":
            text = text_field(line.payload, "content")
            return (
                (context.make_event("notice", text, note="agent_message"),),
                state,
                "",
            )
        case "state":
            return (), state, "state"
    return (), state, ""


def _make_unknown(entry: RawEntry, line: CodexLine, context: LineContext) -> Record:
    """Return a record with the unchanged text of a line of an unknown type."""
    metadata = {"line_type": "/".join(filter(None, (line.type, line.kind)))[:200]}
    text = entry.data.decode(errors="replace")
    return context.make_record("unknown", "system", text, metadata=metadata)


def decode_document(entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
    """Decode a whole rollout of the old format: a session and its items."""
    value = parse_json(entry.data)
    session, items = object_field(value, "session"), list_field(value, "items")
    if not session:
        reject_entry("a document without a session")
    line = CodexLine("session_meta", session, session.get("timestamp"))
    context, state = route_line(entry.source, line, state)
    header_records, state = decode_session_meta(
        line, context._replace(native_id="session"), state
    )
    records, noise = list(header_records), ""
    for number, item in enumerate(items):
        item_context = context._replace(native_id=f"item:{number}", time=None)
        payload = item if isinstance(item, dict) else {}
        item_records, state, item_noise = decode_item(payload, item_context, state)
        noise = noise or item_noise
        if not item_records and not item_noise:
            item_records = (
                item_context.make_record("unknown", "system", to_json(item)),
            )
        records += item_records
    cwd = state.get("cwd", "")
    return DecodeResult(records=tuple(records), state=state, noise=noise, cwd=cwd)
