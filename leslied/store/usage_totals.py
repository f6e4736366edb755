"""Tokens of each stream: a message that several show counts for its owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.model.record import Usage
from leslied.store.ownership import Ownership

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection

_COUNTS = ", ".join(Usage.__struct_fields__)
_SUMS = ", ".join(f"CAST(total({n}) AS INTEGER)" for n in _COUNTS.split(", "))
_MAX_LISTED_STREAMS = 500
"""So many streams are asked for by their numbers; of more, all are counted."""


class UsageTotals:
    """Sums that are counted again only when the store has changed."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._version = -1
        self._all: dict[int, Usage] | None = None
        self._ownership = Ownership(db)

    def get_by_stream(self, streams: Collection[int] | None = None) -> dict[int, Usage]:
        """Tokens by stream: of these, or of all."""
        (version,) = self._db.execute("PRAGMA data_version").fetchone()
        if self._version != version:
            self._version, self._all = version, None
            self._ownership = Ownership(self._db)
        if (
            self._all is None
            and streams is not None
            and len(streams) <= _MAX_LISTED_STREAMS
        ):
            return self._count(streams)
        if self._all is None:
            self._all = self._count(None)
        return self._all

    def _count(self, streams: Collection[int] | None) -> dict[int, Usage]:
        named = "1" if streams is None else f"session IN ({_list(streams)})"
        shared = f"SELECT usage FROM usage_share WHERE {named}"
        total = {
            row[0]: Usage(*row[1:])
            for row in self._db.execute(
                f"SELECT session, {_SUMS} FROM usage WHERE {named} "
                "AND id NOT IN (SELECT usage FROM usage_share) GROUP BY session"
            )
        }
        rows = self._db.execute(
            f"SELECT id, {_COUNTS} FROM usage WHERE id IN ({shared})"
        )
        for row in rows.fetchall():
            owner = self._ownership.owners[row[0]]
            total[owner] = total.get(owner, Usage()) + Usage(*row[1:])
        return total


def _list(streams: Collection[int]) -> str:
    return ", ".join(f"{number:d}" for number in streams)
