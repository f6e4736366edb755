"""Usage rows of one transaction: one per API message, with its largest counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import astuple

from leslied.model.record import Usage
from leslied.store.columns import to_us

if TYPE_CHECKING:
    import sqlite3

    from leslied.model.record import Record

_COUNTS = ", ".join(Usage.__struct_fields__)
_LARGEST = ", ".join(f"{n} = max({n}, excluded.{n})" for n in _COUNTS.split(", "))
_MAX_SQLITE_INTEGER = 2**63 - 1
_Key = tuple[str, str, str]


class UsageRows:
    """Gather usage by message, then write it."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._usages: dict[_Key, Usage] = {}
        self._first_values: dict[_Key, tuple[Any, ...]] = {}
        self._occurrences: set[tuple[int, _Key]] = set()
        self._without_request_id: set[tuple[str, str]] = set()

    def add(self, record: Record, entry_id: bytes, session: int) -> None:
        """Merge a record's usage into its message, keeping the largest counts.

        Also remember that the session contains the message.
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
        self._occurrences.add((session, key))

    def write(self) -> None:
        """Write each message once, with the largest counts of its records."""
        resolved = self._resolve_request_ids()
        names = "agent, message_id, request_id, session, model, created_us, is_sum"
        self._db.executemany(
            f"INSERT INTO usage ({names}, {_COUNTS}) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
            f"ON CONFLICT DO UPDATE SET {_LARGEST}",
            [
                (
                    *resolved.get(key, key),
                    *self._first_values[key],
                    *_clamp_counts(usage),
                )
                for key, usage in self._usages.items()
            ],
        )
        occurrences = sorted(
            {(*resolved.get(key, key), s) for s, key in self._occurrences}
        )
        # For a message of several sessions, add the first session and the others.
        where = "WHERE agent = ? AND message_id = ? AND request_id = ? AND session <> ?"
        self._db.executemany(
            f"INSERT OR IGNORE INTO usage_share SELECT id, session FROM usage {where}",
            occurrences,
        )
        self._db.executemany(
            f"INSERT OR IGNORE INTO usage_share SELECT id, ? FROM usage {where}",
            [(row[-1], *row) for row in occurrences],
        )

    def _resolve_request_ids(self) -> dict[_Key, _Key]:
        """Map keys without a request id to the key of the same message with one.

        Copies of a message may lack the request id.
        """
        resolved: dict[_Key, _Key] = {}
        complete = {key[:2]: key for key in self._usages if key[2]}
        for agent, message in self._without_request_id:
            row = self._db.execute(
                "SELECT request_id FROM usage WHERE agent = ? AND message_id = ? "
                "ORDER BY request_id = ''",
                (agent, message),
            ).fetchone()
            key = complete.get((agent, message)) or (row and (agent, message, row[0]))
            if key:
                resolved[agent, message, ""] = key
        self._db.executemany(
            "UPDATE OR IGNORE usage SET request_id = ? "
            "WHERE agent = ? AND message_id = ? AND request_id = ''",
            [
                (request, agent, message)
                for agent, message, request in complete.values()
            ],
        )
        return resolved


def _clamp_counts(usage: Usage) -> list[int]:
    """Return the counts, limited to SQLite's largest integer."""
    return [min(number, _MAX_SQLITE_INTEGER) for number in astuple(usage)]
