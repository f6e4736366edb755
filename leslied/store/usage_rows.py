"""Tokens, once per API message: the largest of all its lines and copies counts."""

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
    """The token side of one transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._usages: dict[_Key, Usage] = {}
        self._firsts: dict[_Key, tuple[Any, ...]] = {}
        self._shown: set[tuple[int, _Key]] = set()
        self._without_request_id: set[tuple[str, str]] = set()

    def add(self, record: Record, entry_id: bytes, session: int) -> None:
        """The message's tokens count, and this session shows the message."""
        message = record.message_id or f"entry:{entry_id.hex()}"
        request = str(record.metadata.get("request_id") or "")
        key = (record.session.agent, message, request)
        if not request:
            self._without_request_id.add(key[:2])
        created = to_us(record.created_at) if record.created_at else None
        is_sum = bool(record.metadata.get("is_sum"))
        self._firsts.setdefault(key, (session, record.model, created, is_sum))
        self._usages[key] = self._usages.get(key, Usage()).max(record.usage or Usage())
        self._shown.add((session, key))

    def write(self) -> None:
        """Every message counts once, with its largest numbers."""
        renamed = self._resolve_request_ids()
        names = "agent, message_id, request_id, session, model, created_us, is_sum"
        self._db.executemany(
            f"INSERT INTO usage ({names}, {_COUNTS}) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
            f"ON CONFLICT DO UPDATE SET {_LARGEST}",
            [
                (*renamed.get(key, key), *self._firsts[key], *_clamp_counts(usage))
                for key, usage in self._usages.items()
            ],
        )
        shown = sorted({(*renamed.get(key, key), s) for s, key in self._shown})
        where = "WHERE agent = ? AND message_id = ? AND request_id = ? AND session <> ?"
        self._db.executemany(
            f"INSERT OR IGNORE INTO usage_share SELECT id, session FROM usage {where}",
            shown,
        )
        self._db.executemany(
            f"INSERT OR IGNORE INTO usage_share SELECT id, ? FROM usage {where}",
            [(row[-1], *row) for row in shown],
        )

    def _resolve_request_ids(self) -> dict[_Key, _Key]:
        """Copies may lack the request's id: they are the same message all the same."""
        renamed: dict[_Key, _Key] = {}
        named = {key[:2]: key for key in self._usages if key[2]}
        for agent, message in self._without_request_id:
            known = self._db.execute(
                "SELECT request_id FROM usage WHERE agent = ? AND message_id = ? "
                "ORDER BY request_id = ''",
                (agent, message),
            ).fetchone()
            to = named.get((agent, message)) or (known and (agent, message, known[0]))
            if to:
                renamed[agent, message, ""] = to
        self._db.executemany(
            "UPDATE OR IGNORE usage SET request_id = ? "
            "WHERE agent = ? AND message_id = ? AND request_id = ''",
            [(request, agent, message) for agent, message, request in named.values()],
        )
        return renamed


def _clamp_counts(usage: Usage) -> list[int]:
    """The numbers, none larger than SQLite can count."""
    return [min(number, _MAX_SQLITE_INTEGER) for number in astuple(usage)]
