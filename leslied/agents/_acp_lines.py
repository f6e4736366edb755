"""Decode streams of ACP messages; `docs/formats/acp.md` documents them."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from leslied.agents import _acp_updates
from leslied.agents._entry import LogEntry, as_dict, as_folder, as_list, as_text
from leslied.agents._parsing import (
    parse_object,
    parse_time,
    printable_name,
    reject_entry,
    to_json,
)
from leslied.errors import DecodeError
from leslied.model.record import DecodeResult, SessionKey

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from leslied.model.record import Record
    from leslied.model.source import RawEntry

_TIMES = ("timestamp", "time", "ts")
_CHUNKS = ("user_message_chunk", "agent_message_chunk", "agent_thought_chunk")

_EMPTY_LINE = b'{"result":null}'
"""A line that is decoded to nothing: a response to no request."""
_ERASED_DIGEST = re.compile("[0-9a-f]{16}")
"""The digest of a stream, which replaces its first message when that is erased."""


class _Line(NamedTuple):
    """A line of a stream, or the joined lines of one text."""

    number: int
    """Number of the first line."""
    message: dict[str, Any]
    session_id: str
    update: dict[str, Any]
    """The update of a notification; else empty."""


def is_message(fields: dict[str, Any]) -> bool:
    """Return whether an object is a message, or only the parameters of an update."""
    is_call = as_text(fields.get("method")).startswith("session/")
    is_start = fields.get("method") == "initialize" and "jsonrpc" in fields
    return is_call or is_start or ("sessionId" in fields and "update" in fields)


def decode_stream(entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
    """Decode a document: one message per line, of one session or several."""
    default_id = _get_default_session_id(entry.source.parts[-1])
    stream = _Stream(entry.source.agent, default_id)
    try:
        records = tuple(stream.decode(entry.data))
    except RecursionError:
        reject_entry("nested too deeply")
    if not records:
        reject_entry("no messages of a session")
    return DecodeResult(records=records, state=state, cwd=stream.cwd)


def _get_default_session_id(name: str) -> str:
    """Return the session id of messages without one: the file's name."""
    return printable_name(name).removesuffix(".jsonl")


def erase_sessions(name: str, data: bytes, session_ids: Collection[str]) -> bytes:
    """Return the stream with the messages of these sessions replaced by empty ones.

    A message without the id of a session belongs to the session that is named after
    the file. A damaged line may belong to any session, so it is erased, too. The other
    lines keep their numbers, which are parts of ids. A response names its request by
    number only; it is erased if the latest request with that number was erased.
    """
    lines, erased_requests = [], set[str]()
    default_id = _get_default_session_id(name)
    replacement = _make_first_replacement(data)
    new_sessions = _find_new_sessions(data)
    for number, text in enumerate(data.split(b"\n")):
        message = _parse_message(text)
        params = as_dict(message.get("params")) or message
        request_id = to_json(message.get("id"))
        is_request = "method" in message
        session_id = as_text(params.get("sessionId")) or new_sessions.get(number)
        is_erased = (
            (session_id or default_id) in session_ids
            or (not is_request and request_id in erased_requests)
            or bool(text.strip() and not message)
        )
        if is_erased and is_request and "id" in message:
            erased_requests.add(request_id)
        elif not is_erased and is_request:
            erased_requests.discard(request_id)
        if is_erased and text.strip():
            lines.append(replacement)
        else:
            lines.append(text)
        if text.strip():
            replacement = _EMPTY_LINE
    return b"\n".join(lines)


def _make_first_replacement(data: bytes) -> bytes:
    """Return an empty line with the stream's digest, which is part of all ids."""
    first_line = next(_join_texts(_Stream("", "").parse_lines(data)), None)
    if first_line is None:
        return _EMPTY_LINE
    return b'{"result":null,"digest":"%b"}' % _digest(first_line).encode()


def _find_new_sessions(data: bytes) -> dict[int, str]:
    """Return the ids of new sessions by line number.

    Both the request for a session and its response are listed, although only the
    response contains the id.
    """
    requests: dict[str, int] = {}
    session_ids: dict[int, str] = {}
    for number, text in enumerate(data.split(b"\n")):
        message = _parse_message(text)
        request_id = to_json(message.get("id"))
        session_id = as_text(as_dict(message.get("result")).get("sessionId"))
        if message.get("method") == "session/new":
            requests[request_id] = number
        elif session_id:
            session_ids[number] = session_id
            session_ids[requests.pop(request_id, number)] = session_id
    return session_ids


def _parse_message(text: bytes) -> dict[str, Any]:
    try:
        return parse_object(text)
    except DecodeError:
        return {}


@dataclass(slots=True)
class _Stream:
    """The messages of one file."""

    agent: str
    default_session_id: str
    digest: str = ""
    """Hash of the first message; it tells apart the streams of one session in ids."""
    cwd: str = ""
    requests: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Requests without a response, by id: the method, and the session's id.

    A new session has no id yet: in its place is the folder that the request names.
    """
    states: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The decode state of updates, by session."""

    def decode(self, data: bytes) -> Iterator[Record]:
        """Yield the records of all lines."""
        for line in _join_texts(self.parse_lines(data)):
            # The first message identifies the stream in the ids of all entries.
            self.digest = self.digest or _digest(line)
            if line.update:
                yield from self._decode_update(line)
            elif "method" in line.message:
                yield from self._decode_request(line)
            elif "result" in line.message or "error" in line.message:
                yield from self._decode_response(line)
            else:
                yield self._make_entry(line).make_unknown(line.message)

    def parse_lines(self, data: bytes) -> Iterator[_Line]:
        lines = [line for line in data.split(b"\n") if line.strip()]
        for number, text in enumerate(lines, 1):
            try:
                message = parse_object(text)
            except DecodeError:
                # Skip the last line, unless it is the only one: the stream was probably
                # cut off in it.
                if number < len(lines) or len(lines) == 1:
                    damaged = {"damaged": text.decode(errors="replace")}
                    yield _Line(number, damaged, self.default_session_id, {})
                continue
            params = as_dict(message.get("params")) or message
            session_id = as_text(params.get("sessionId")) or self.default_session_id
            yield _Line(number, message, session_id, as_dict(params.get("update")))

    def _make_entry(self, line: _Line) -> LogEntry:
        times = (parse_time(line.message.get(name)) for name in _TIMES)
        return LogEntry(
            key=SessionKey(self.agent, line.session_id),
            native_id=f"{self.digest}:{line.number}",
            scope=line.session_id,
            created_at=next(filter(None, times), None),
        )

    def _decode_update(self, line: _Line) -> Iterator[Record]:
        entry = self._make_entry(line)
        state = self.states.get(line.session_id, {})
        decoded = _acp_updates.decode_update(entry, line.update, state)
        self.states[line.session_id] = decoded.state
        yield from decoded.records
        kind = as_text(line.update.get("sessionUpdate"))
        # A chunk may be empty, and an update of a call may have nothing to store.
        is_noise = kind in _acp_updates.NOISE or kind in (*_CHUNKS, "tool_call_update")
        if not decoded.records and not is_noise:
            yield entry.make_unknown(line.update)

    def _decode_request(self, line: _Line) -> Iterator[Record]:
        """Decode a request, and store what its response does not repeat."""
        params = as_dict(line.message.get("params"))
        method, entry = as_text(line.message.get("method")), self._make_entry(line)
        request_id = to_json(line.message.get("id"))
        match method:
            case "session/prompt":
                self.requests[request_id] = (method, line.session_id)
                blocks = map(_acp_updates.format_block, as_list(params.get("prompt")))
                yield entry.make_prompt("\n\n".join(filter(None, blocks)))
            case "session/new":
                folder = as_folder(params.get("cwd"))
                self.requests[request_id] = (method, folder)
            case "session/load" | "session/resume":
                yield from self._open(entry, as_folder(params.get("cwd")))
            case "session/cancel":
                yield entry.make_event("notice", note="cancelled")
            case _ if "update" in params:
                yield entry.make_unknown(line.message)

    def _decode_response(self, line: _Line) -> Iterator[Record]:
        """Decode a new session or the end of a turn, depending on the request."""
        request_id = to_json(line.message.get("id"))
        method, session_or_folder = self.requests.pop(request_id, ("", ""))
        result = as_dict(line.message.get("result"))
        error = as_dict(line.message.get("error"))
        if method == "session/new":
            session_id = as_text(result.get("sessionId")) or self.default_session_id
            entry = self._make_entry(line._replace(session_id=session_id))
            yield from self._open(entry, session_or_folder)
        elif method == "session/prompt":
            entry = self._make_entry(line._replace(session_id=session_or_folder))
            if error:
                text = as_text(error.get("message")) or to_json(error)
                yield entry.make_record("error", "assistant", content=text)
            else:
                reason = as_text(result.get("stopReason"))
                yield _acp_updates.make_turn_end(entry, reason)

    def _open(self, entry: LogEntry, folder: str) -> Iterator[Record]:
        self.cwd = self.cwd or folder
        yield entry.make_event("opened", cwd=folder)


def _digest(line: _Line) -> str:
    message = line.message
    if _ERASED_DIGEST.fullmatch(digest := as_text(message.get("digest"))):
        return digest
    text = _acp_updates.format_block(line.update.get("content"))
    facts = [message.get("method"), message.get("id"), message.get("timestamp"), text]
    return hashlib.sha256(to_json(facts).encode()).hexdigest()[:16]


def _join_texts(lines: Iterator[_Line]) -> Iterator[_Line]:
    """Join the lines of each text, which a stream may split into single tokens."""
    pending: _Line | None = None
    for line in lines:
        if pending is None:
            pending = line
            continue
        if pending.session_id == line.session_id and pending.update and line.update:
            merged = list(_acp_updates.merge_chunks([pending.update, line.update]))
            if len(merged) == 1:
                pending = pending._replace(update=merged[0])
                continue
        yield pending
        pending = line
    if pending:
        yield pending
