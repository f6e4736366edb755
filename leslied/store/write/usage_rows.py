"""Usage rows of one transaction: one per API message, with its largest counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import astuple

from leslied.model.record import Record, SessionKey, Usage
from leslied.model.times import from_us, to_us
from leslied.store.columns import unpack_usage
from leslied.store.sql import fetch_value, make_insert, select_in_batches

if TYPE_CHECKING:
    import sqlite3

_COUNTS = Usage.__struct_fields__
_LARGEST = ", ".join(f"{n} = max({n}, excluded.{n})" for n in _COUNTS)
_MESSAGE_COLUMNS = ("agent", "message_id", "request_id")
_FIRST_COLUMNS = ("session", "model", "created_us", "is_sum")
_SAVE_USAGE = (
    f"{make_insert('usage', (*_MESSAGE_COLUMNS, *_FIRST_COLUMNS, *_COUNTS))} "
    f"ON CONFLICT DO UPDATE SET {_LARGEST}"
)
_MAX_SQLITE_INTEGER = 2**63 - 1
_MESSAGE = (
    "CASE r.message_id WHEN '' THEN 'entry:' || lower(hex(r.entry_id)) "
    "ELSE r.message_id END"
)
_SELECT_USAGE = (
    f"SELECT p.id, p.session, s.agent, {_MESSAGE}, r.entry_id, r.metadata, r.model, "
    "r.created_us, r.usage FROM placement p JOIN session s ON s.id = p.session "
    "JOIN record c ON c.entry = p.entry AND c.is_current "
    # Versions of an older decoder do not count.
    "JOIN record r ON r.entry = p.entry AND r.decoder_version = c.decoder_version "
    "WHERE r.usage <> '' AND p.session"
)
_CountedMessage = tuple[int, str, str]
"""Stream, agent and message id."""
_Message = tuple[str, str]
"""Agent and message id."""
_MessageKey = tuple[str, str, str]
"""Values of _MESSAGE_COLUMNS; the request id can be empty."""


class _UsedRecord(NamedTuple):
    """A row of _SELECT_USAGE: a placed record that has usage."""

    placement: int
    session: int
    agent: str
    message_id: str
    entry_id: bytes
    metadata: str
    model: str
    created_us: int | None
    usage: str

    @property
    def message(self) -> _CountedMessage:
        """The message, as it counts for the stream."""
        return (self.session, self.agent, self.message_id)


class UsageRows:
    """Gather usage by message, then write it."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._usages: dict[_MessageKey, Usage] = {}
        self._first_values: dict[_MessageKey, tuple[Any, ...]] = {}
        """Values of _FIRST_COLUMNS from the first record, by message."""
        self._session_messages: set[tuple[int, _MessageKey]] = set()
        """(session, message) for every session that contains the message."""
        self._without_request_id: set[_Message] = set()
        """Messages with a record that has no request id."""

    def add(self, record: Record, entry_id: bytes, session: int) -> None:
        """Merge a record's usage into its message: the largest counts are used.

        Also remember that the session contains the message.
        """
        message = record.message_id or f"entry:{entry_id.hex()}"
        request = str(record.metadata.get("request_id") or "")
        key = (record.session.agent, message, request)
        if not request:
            self._without_request_id.add((record.session.agent, message))
        created = to_us(record.created_at) if record.created_at else None
        is_sum = bool(record.metadata.get("is_sum"))
        self._first_values.setdefault(key, (session, record.model, created, is_sum))
        self._usages[key] = self._usages.get(key, Usage()).max(record.usage or Usage())
        self._session_messages.add((session, key))

    def write(self) -> None:
        """Write each message once, with the largest counts of its records."""
        stored_messages = self._find_stored_messages()
        full_keys = self._find_full_keys(stored_messages)
        self._db.executemany(
            _SAVE_USAGE,
            [
                (
                    *full_keys.get(key, key),
                    *self._first_values[key],
                    *_clamp_counts(usage),
                )
                for key, usage in self._usages.items()
            ],
        )
        # `usage` names one session for each message. If several contain the message,
        # list all of them in `usage_share`: the one in `usage`, then the others.
        shared_messages = stored_messages.union(self._find_shared_messages())
        containing_sessions = sorted(
            {
                (*full_keys.get(key, key), session)
                for session, key in self._session_messages
                if key[:2] in shared_messages
            }
        )
        where = (
            "WHERE agent = ?1 AND message_id = ?2 AND request_id = ?3 AND session <> ?4"
        )
        self._db.executemany(
            f"INSERT OR IGNORE INTO usage_share SELECT id, session FROM usage {where}",
            containing_sessions,
        )
        self._db.executemany(
            f"INSERT OR IGNORE INTO usage_share SELECT id, ?4 FROM usage {where}",
            containing_sessions,
        )

    def _find_stored_messages(self) -> set[_Message]:
        """Return those of the gathered messages that the store already has."""
        ids_by_agent: dict[str, set[str]] = {}
        for agent, message, _ in self._usages:
            ids_by_agent.setdefault(agent, set()).add(message)
        query = "SELECT message_id FROM usage WHERE agent = ? AND message_id"
        return {
            (agent, message)
            for agent, ids in ids_by_agent.items()
            for (message,) in select_in_batches(self._db, query, ids, (agent,))
        }

    def _find_shared_messages(self) -> set[_Message]:
        """Return the messages that were gathered for more than one session."""
        first_sessions: dict[_Message, int] = {}
        return {
            key[:2]
            for session, key in self._session_messages
            if first_sessions.setdefault(key[:2], session) != session
        }

    def _find_full_keys(
        self, stored_messages: set[_Message]
    ) -> dict[_MessageKey, _MessageKey]:
        """Map keys without a request id to the key of the same message with one.

        Copies of a message may lack the request id. Also add request ids to stored
        messages that have none.
        """
        full_keys: dict[_MessageKey, _MessageKey] = {}
        gathered_keys = {
            (agent, message): (agent, message, request)
            for agent, message, request in self._usages
            if request
        }
        query = (
            "SELECT request_id FROM usage WHERE agent = ? AND message_id = ? "
            "ORDER BY request_id = ''"
        )
        for agent, message in self._without_request_id:
            request = fetch_value(self._db, query, (agent, message))
            if (agent, message) in gathered_keys:
                full_keys[agent, message, ""] = gathered_keys[agent, message]
            elif request:
                full_keys[agent, message, ""] = (agent, message, request)
        self._db.executemany(
            "UPDATE OR IGNORE usage SET request_id = ? "
            "WHERE agent = ? AND message_id = ? AND request_id = ''",
            [
                (request, agent, message)
                for agent, message, request in gathered_keys.values()
                if (agent, message) in stored_messages
            ],
        )
        return full_keys


def recount_usage(db: sqlite3.Connection, sessions: set[int]) -> None:
    """Count the messages of these streams again, from their records.

    Only messages that were counted before are counted, and for the same streams: a log
    may contain a message without its usage, and then it does not count for its stream.
    """
    usage_ids = _find_usage_ids(db, sessions)
    owned_messages, counted_messages = _load_counted_messages(db, usage_ids)
    parameters = [(usage_id,) for usage_id in usage_ids]
    db.executemany("DELETE FROM usage_share WHERE usage = ?", parameters)
    db.executemany("DELETE FROM usage WHERE id = ?", parameters)
    rows = select_in_batches(
        db, _SELECT_USAGE, {stream for stream, _, _ in counted_messages}.union(sessions)
    )
    records = [
        row for row in map(_UsedRecord._make, rows) if row.message in counted_messages
    ]
    # The stream for which a message is added first owns it.
    records.sort(key=lambda row: (row.message not in owned_messages, row.placement))
    usage_rows = UsageRows(db)
    for row in records:
        usage_rows.add(_make_usage_record(row), row.entry_id, row.session)
    usage_rows.write()


def _make_usage_record(row: _UsedRecord) -> Record:
    """Return a record with only the fields that `UsageRows.add` reads."""
    created_us = row.created_us
    return Record(
        session=SessionKey(row.agent, ""),
        type="token_usage",
        role="assistant",
        message_id=row.message_id,
        metadata=msgspec.json.decode(row.metadata) if row.metadata else {},
        model=row.model,
        created_at=from_us(created_us) if created_us is not None else None,
        usage=unpack_usage(row.usage),
    )


def _find_usage_ids(db: sqlite3.Connection, sessions: set[int]) -> set[int]:
    """Return the row ids of the messages that these streams own or contain."""
    owned = select_in_batches(db, "SELECT id FROM usage WHERE session", sessions)
    contained = select_in_batches(
        db,
        "SELECT u.id FROM placement p JOIN record r ON r.entry = p.entry "
        "JOIN session s ON s.id = p.session "
        f"JOIN usage u ON u.agent = s.agent AND u.message_id = {_MESSAGE} "
        "WHERE r.is_current AND p.session",
        sessions,
    )
    return {usage_id for (usage_id,) in (*owned, *contained)}


def _load_counted_messages(
    db: sqlite3.Connection, usage_ids: set[int]
) -> tuple[set[_CountedMessage], set[_CountedMessage]]:
    """Return the messages with the stream of each, in two sets.

    The first has the streams that own the messages, the second all that contain them.
    """
    query = "SELECT session, agent, message_id FROM usage WHERE id"
    owners = set(select_in_batches(db, query, usage_ids))
    query = (
        "SELECT h.session, u.agent, u.message_id FROM usage_share h "
        "JOIN usage u ON u.id = h.usage WHERE h.usage"
    )
    return owners, owners.union(select_in_batches(db, query, usage_ids))


def _clamp_counts(usage: Usage) -> list[int]:
    """Return the counts, limited to SQLite's largest integer."""
    return [min(number, _MAX_SQLITE_INTEGER) for number in astuple(usage)]
