"""Usage rows of one transaction: one per API message, with its largest counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import astuple

from leslied.model.record import Usage
from leslied.model.times import to_us

if TYPE_CHECKING:
    import sqlite3

    from leslied.model.record import Record

_COUNTS = ", ".join(Usage.__struct_fields__)
_LARGEST = ", ".join(f"{n} = max({n}, excluded.{n})" for n in _COUNTS.split(", "))
_MAX_SQLITE_INTEGER = 2**63 - 1
_MessageKey = tuple[str, str, str]
"""Agent, message id and request id; the request id can be empty."""


class UsageRows:
    """Gather usage by message, then write it."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._usages: dict[_MessageKey, Usage] = {}
        self._first_values: dict[_MessageKey, tuple[Any, ...]] = {}
        """Session, model, time and `is_sum` of the first record, by message."""
        self._containing_sessions: set[tuple[int, _MessageKey]] = set()
        """(session, message) for every session that contains the message."""
        self._without_request_id: set[tuple[str, str]] = set()
        """(agent, message id) of messages with a record that has no request id."""

    def add(self, record: Record, entry_id: bytes, session: int) -> None:
        """Merge a record's usage into its message: the largest counts are used.

        Also gather that the session contains the message.
        """
        message = record.message_id or f"entry:{entry_id.hex()}"
        request = str(record.metadata.get("request_id") or "")
        key = (record.session.agent, message, request)
        if not request:
            self._without_request_id.add(key[:2])
        created = to_us(record.created_at) if record.created_at else None
        is_sum = bool(record.metadata.get("is_sum"))
        self._first_values.setdefault(key, (session, record.model, created, is_sum))
        self._usages[key] = self._usages.get(key, Usage()).max(record.usage or Usage())
        self._containing_sessions.add((session, key))

    def write(self) -> None:
        """Write each message once, with the largest counts of its records."""
        full_keys = self._find_full_keys()
        columns = "agent, message_id, request_id, session, model, created_us, is_sum"
        self._db.executemany(
            f"INSERT INTO usage ({columns}, {_COUNTS}) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
            f"ON CONFLICT DO UPDATE SET {_LARGEST}",
            [
                (
                    *full_keys.get(key, key),
                    *self._first_values[key],
                    *_clamp_counts(usage),
                )
                for key, usage in self._usages.items()
            ],
        )
        containing_sessions = sorted(
            {
                (*full_keys.get(key, key), session)
                for session, key in self._containing_sessions
            }
        )
        # For a message of several sessions, add the first session and the others.
        where = "WHERE agent = ? AND message_id = ? AND request_id = ? AND session <> ?"
        self._db.executemany(
            f"INSERT OR IGNORE INTO usage_share SELECT id, session FROM usage {where}",
            containing_sessions,
        )
        self._db.executemany(
            f"INSERT OR IGNORE INTO usage_share SELECT id, ? FROM usage {where}",
            [(row[-1], *row) for row in containing_sessions],
        )

    def _find_full_keys(self) -> dict[_MessageKey, _MessageKey]:
        """Map keys without a request id to the key of the same message with one.

        Copies of a message may lack the request id. Also add request ids to stored
        messages that have none.
        """
        full_keys: dict[_MessageKey, _MessageKey] = {}
        gathered_keys = {key[:2]: key for key in self._usages if key[2]}
        for agent, message in self._without_request_id:
            row = self._db.execute(
                "SELECT request_id FROM usage WHERE agent = ? AND message_id = ? "
                "ORDER BY request_id = ''",
                (agent, message),
            ).fetchone()
            if (agent, message) in gathered_keys:
                full_keys[agent, message, ""] = gathered_keys[agent, message]
            elif row:
                full_keys[agent, message, ""] = (agent, message, row[0])
        self._db.executemany(
            "UPDATE OR IGNORE usage SET request_id = ? "
            "WHERE agent = ? AND message_id = ? AND request_id = ''",
            [
                (request, agent, message)
                for agent, message, request in gathered_keys.values()
            ],
        )
        return full_keys


def _clamp_counts(usage: Usage) -> list[int]:
    """Return the counts, limited to SQLite's largest integer."""
    return [min(number, _MAX_SQLITE_INTEGER) for number in astuple(usage)]
