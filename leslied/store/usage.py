"""Tokens, once per API message: the largest of all its lines and copies counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.store.rows import to_us

if TYPE_CHECKING:
    import sqlite3

    from leslied.model.record import Record

_COUNTS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
_LARGEST = ", ".join(f"{name} = max({name}, excluded.{name})" for name in _COUNTS)


class UsageRows:
    """The token side of one transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._counts: dict[tuple[str, str, str], tuple[Any, ...]] = {}
        self._shown: set[tuple[int, str, str, str]] = set()

    def add(self, record: Record, entry_id: bytes, session: int) -> None:
        """The message's tokens count, and this session shows the message."""
        message = record.message_id or f"entry:{entry_id.hex()}"
        request = str(record.metadata.get("request_id") or "")
        key = (record.session.agent, message, request)
        created = to_us(record.created_at) if record.created_at else None
        usage = record.usage
        if usage is None:
            return
        counts = (
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_tokens,
            usage.cache_write_tokens,
        )
        known = self._counts.get(key)
        if known:
            counts = tuple(map(max, counts, known[3:]))
            session_first, _, created = known[:3]
        else:
            session_first = session
        self._counts[key] = (session_first, record.model, created, *counts)
        self._shown.add((session, *key))

    def write(self) -> None:
        """Every message counts once, with its largest numbers."""
        names = "agent, message_id, request_id, session, model, created_us"
        self._db.executemany(
            f"INSERT INTO usage ({names}, {', '.join(_COUNTS)}) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
            f"ON CONFLICT DO UPDATE SET {_LARGEST}",
            [(*key, *counts) for key, counts in self._counts.items()],
        )
        shown = sorted(self._shown)
        for who in ("session", "?1"):
            self._db.executemany(
                f"INSERT OR IGNORE INTO usage_share SELECT id, {who} FROM usage "
                "WHERE agent = ?2 AND message_id = ?3 AND request_id = ?4 "
                "AND session <> ?1",
                shown,
            )
