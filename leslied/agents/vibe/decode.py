"""Decode an entry of Mistral Vibe: a record of the journal, or a part of a checkpoint.

The journal has changes of the history and of the session's state. A checkpoint has the
history itself and two states: `runtime`, with the session's identity and settings, and
`projection`, with the view of the user. Journal and checkpoint yield the same records,
with the same ids.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
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
    parse_object,
    parse_time,
    printable_name,
    reject_entry,
)
from leslied.agents.vibe.history import decode_item
from leslied.model.record import MAIN, DecodeResult, Record, SessionKey, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.source import RawEntry

    State = dict[str, Any]
    """`root`: the id of a subagent's main session, empty for a main session; `cwd`;
    `model`; `turn`: the id of the turn of the last history entry; `answered`: the time
    of that entry if it is an answer, else 0; `ended`: the id of the last turn whose end
    was decoded; `tokens`: the last sums; `title`: a hash of the last title."""

_KINDS = ("runtime", "history", "projection", "journal")
"""The keys of entries, as the reader makes them."""
_MAX_ID_LENGTH = 130
_NOISE = frozenset(
    {
        "action_intent",
        "action_result",
        "callback_registered",
        "callback_resolved",
        "command_reserved",
        "core_input",
        "process_notification_submitted",
        "process_operation_dispatched",
        "process_state_changed",
        "receipt_failed",
        "receipt_succeeded",
    }
)
"""Records of the journal from which the client restores a run."""
_PROJECTIONS = ("projection_delta", "projection_advanced", "session_relocated")
"""Records of the journal that change the history or the session that users see."""
_STOP_REASONS = {"limit": "max_turns", "length": "max_tokens"}


def decode_entry(entry: RawEntry, state: State) -> DecodeResult:
    """Decode an entry of one of four kinds."""
    value = parse_object(entry.data)
    kind = next((kind for kind in _KINDS if kind in value), "")
    if not kind:
        reject_entry("neither history nor journal nor state")
    decoder = _Decoder(printable_name(entry.source.parts[0]), entry.source.agent, state)
    records = tuple(decoder.decode(kind, value[kind]))
    return DecodeResult(
        records=records,
        state=decoder.state,
        noise="" if records else decoder.noise,
        cwd=as_text(decoder.state.get("cwd")),
    )


class _Decoder:
    """Decoder of one entry; `state` is the source's state after it."""

    def __init__(self, session_id: str, agent: str, state: State) -> None:
        self.session_id = session_id
        self.agent = agent
        self.state = dict(state)
        self.noise = ""
        """The kind of the entry, for an entry that yields no records."""

    @property
    def log_entry(self) -> LogEntry:
        """The fields that all records of the session share."""
        root = as_text(self.state.get("root"))
        source = f"subagent:{self.session_id}" if root else MAIN
        return LogEntry(
            key=SessionKey(self.agent, root or self.session_id, source),
            native_id="",
            scope=self.session_id,
            model=as_text(self.state.get("model")),
        )

    def decode(self, kind: str, value: Any) -> Iterator[Record]:
        """Yield the records of an entry; set `noise` in case there are none."""
        self.noise = kind
        if not isinstance(value, dict):
            yield self.log_entry.make_unknown(value, entry_type=kind)
        elif kind == "runtime":
            yield from self._decode_runtime(value)
        elif kind == "history":
            yield from self._decode_item(value)
        elif kind == "projection":
            yield from self._decode_snapshot(as_dict(value.get("snapshot")))
        else:
            yield from self._decode_journal(value)

    def _decode_runtime(self, value: dict[str, Any]) -> Iterator[Record]:
        """Decode the session's folder and model, and the link of a subagent."""
        identity = as_dict(value.get("identity"))
        metadata = as_dict(value.get("session_metadata"))
        spawn_key = as_text(metadata.get("subagent_spawn_key"))
        root = as_text(identity.get("root_session_id"))
        is_new = "root" not in self.state
        if len(root) <= _MAX_ID_LENGTH:
            self.state["root"] = root if spawn_key and root != self.session_id else ""
        yield from self._decode_metadata(metadata)
        if is_new and self.state.get("root"):
            yield replace(self.log_entry, native_id="link").make_event(
                "subagent_linked", tool_call_id=f"effect-{spawn_key}"
            )

    def _decode_metadata(self, metadata: dict[str, Any]) -> Iterator[Record]:
        """Decode the folder and the model; the folder again only if it has changed."""
        self._set_model(metadata.get("active_model"))
        folder = as_folder(metadata.get("cwd"))
        if folder and folder != self.state.get("cwd"):
            self.state["cwd"] = folder
            log_entry = replace(self.log_entry, native_id=f"opened {folder}")
            event = log_entry.make_event("opened", cwd=folder)
            yield structs.replace(event, model=self.log_entry.model)

    def _set_model(self, value: object) -> None:
        if model := as_text(value)[:_MAX_ID_LENGTH]:
            self.state["model"] = model

    def _decode_journal(self, record: dict[str, Any]) -> Iterator[Record]:
        """Decode a record of the journal: changes of the history and the state."""
        type_, payload = as_text(record.get("type")), as_dict(record.get("payload"))
        self.noise = type_
        if type_ not in _PROJECTIONS:
            if type_ not in _NOISE:
                id_ = f"journal {as_count(record.get('sequence'))}"
                log_entry = replace(self.log_entry, native_id=id_)
                yield log_entry.make_unknown(record, entry_type=type_)
            return
        yield from self._decode_metadata(as_dict(payload.get("metadata")))
        yield from self._decode_snapshot(as_dict(payload.get("snapshot")))
        for change in map(as_dict, as_list(payload.get("delta"))):
            yield from self._decode_change(change)

    def _decode_change(self, change: dict[str, Any]) -> Iterator[Record]:
        match change.get("op"):
            case "append_entry" | "replace_entry":
                yield from self._decode_item(as_dict(change.get("entry")))
            case "set_history_entries":
                for item in as_list(change.get("entries")):
                    yield from self._decode_item(as_dict(item))
            case "set_envelope":
                yield from self._decode_snapshot(as_dict(change.get("state")))
            case "remove_entry":
                # A call that a turn left open; it stays a call without a result.
                return
            case _:
                yield self.log_entry.make_unknown(change, entry_type="change")

    def _decode_snapshot(self, snapshot: dict[str, Any]) -> Iterator[Record]:
        """Decode the history, tokens, title and last turn of a session."""
        for item in as_list(as_dict(snapshot.get("history")).get("entries")):
            yield from self._decode_item(as_dict(item))
        session = as_dict(snapshot.get("session"))
        yield from self._decode_usage(session)
        yield from self._decode_title(session)
        yield from self._decode_turn(as_dict(snapshot.get("latestTurn")))

    def _decode_item(self, item: dict[str, Any]) -> Iterator[Record]:
        """Decode a history entry; before a new turn, decode the end of the last turn.

        A checkpoint says only how the last turn ended. An earlier turn has ended if the
        last of its entries is an answer.
        """
        turn_id = as_text(item.get("turnId"))[:_MAX_ID_LENGTH]
        if turn_id and turn_id != self.state.get("turn"):
            yield from self._end_turn()
            self.state["turn"] = turn_id
        if turn_id:
            is_answer = (
                item.get("role") == "assistant" and item.get("type") == "message"
            )
            self.state["answered"] = as_count(item.get("updatedAt")) if is_answer else 0
        yield from decode_item(self.log_entry, item)
        if item.get("kind") == "model_change":
            self._set_model(as_dict(item.get("details")).get("model"))

    def _end_turn(self) -> Iterator[Record]:
        """Yield the end of the previous turn, if its last entry was an answer.

        Yield nothing if the end of that turn was decoded before.
        """
        turn_id, time = as_text(self.state.get("turn")), self.state.get("answered")
        if turn_id and time and self.state.get("ended") != turn_id:
            yield self._make_turn_end(turn_id, time, stop_reason="end_turn")

    def _decode_turn(self, turn: dict[str, Any]) -> Iterator[Record]:
        turn_id, time = (
            as_text(turn.get("id"))[:_MAX_ID_LENGTH],
            turn.get("completedAt"),
        )
        if not turn_id or self.state.get("ended") == turn_id:
            return
        match turn.get("status"):
            case "completed":
                reason = _STOP_REASONS.get(as_text(turn.get("stopReason")), "end_turn")
                yield self._make_turn_end(turn_id, time, stop_reason=reason)
            case "interrupted":
                yield self._make_turn_end(turn_id, time, note="interrupt")
            case "failed":
                error = as_dict(turn.get("error"))
                text = as_text(error.get("message")) or "The turn failed."
                log_entry = replace(
                    self.log_entry,
                    native_id=f"end {turn_id}",
                    created_at=parse_time(time),
                )
                yield log_entry.make_record("error", "assistant", content=text)
                self.state["ended"] = turn_id

    def _make_turn_end(
        self, turn_id: str, time: object, *, stop_reason: str = "", note: str = ""
    ) -> Record:
        """Return the end of a turn, and store in the state that it was decoded."""
        self.state["ended"] = turn_id
        log_entry = replace(
            self.log_entry, native_id=f"end {turn_id}", created_at=parse_time(time)
        )
        return log_entry.make_event("turn_ended", stop_reason=stop_reason, note=note)

    def _decode_usage(self, session: dict[str, Any]) -> Iterator[Record]:
        """Decode the tokens of the session: sums, which grow with every request."""
        tokens = as_dict(session.get("tokenUsage"))
        names = ("inputTokens", "outputTokens", "cachedInputTokens")
        counts = [as_count(tokens.get(name)) for name in names]
        if not any(counts) or counts == self.state.get("tokens"):
            return
        self.state["tokens"] = counts
        input_total, output, cached = counts
        log_entry = replace(
            self.log_entry,
            native_id="usage",
            created_at=parse_time(session.get("updatedAt")),
        )
        usage = Usage(max(input_total - cached, 0), output, cached)
        record = log_entry.make_usage(usage, f"session:{self.session_id}")
        yield structs.replace(record, metadata={"is_sum": True})

    def _decode_title(self, session: dict[str, Any]) -> Iterator[Record]:
        title = as_text(session.get("title")).strip()
        digest = hashlib.sha256(title.encode(errors="replace")).hexdigest()[:12]
        if (
            not title
            or self.log_entry.key.source != MAIN
            or digest == self.state.get("title")
        ):
            return
        self.state["title"] = digest
        kind = "ai" if session.get("titleSource") == "auto" else "custom"
        # Each title has its own id, so that a repeated title is stored once.
        log_entry = replace(self.log_entry, native_id=f"title {digest}")
        yield log_entry.make_event("title", title, title_kind=kind)
