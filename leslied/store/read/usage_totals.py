"""Total tokens of each stream. A shared message counts for its owner only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.model.record import Usage
from leslied.store.read.ownership import Ownership
from leslied.store.sql import list_columns

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection

_COUNTS = Usage.__struct_fields__
_SUMS = ", ".join(f"CAST(total({name}) AS INTEGER)" for name in _COUNTS)
_MAX_LISTED_STREAMS = 500
"""For more streams than this, the totals of all streams are computed."""


class UsageTotals:
    """Totals by stream; those of all streams are cached until the store changes."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._version = -1
        """Version of the store when the caches were filled; -1 before that."""
        self._all_totals: dict[int, Usage] | None = None
        self._ownership = Ownership(db)

    def get_by_stream(self, streams: Collection[int] | None = None) -> dict[int, Usage]:
        """Return the total tokens of these streams, or of all streams.

        The result may have other streams that share messages; their totals may be
        incomplete.
        """
        (version,) = self._db.execute("PRAGMA data_version").fetchone()
        if self._version != version:
            self._version, self._all_totals = version, None
            self._ownership = Ownership(self._db)
        if (
            self._all_totals is None
            and streams is not None
            and len(streams) <= _MAX_LISTED_STREAMS
        ):
            return self._compute(streams)
        if self._all_totals is None:
            self._all_totals = self._compute(None)
        return self._all_totals

    def _compute(self, streams: Collection[int] | None) -> dict[int, Usage]:
        """Return the total tokens of these streams, or of all streams if None.

        A message that several streams contain counts only for the one that owns it.
        """
        where = "1" if streams is None else f"session IN ({_format_ids(streams)})"
        shared = f"SELECT usage FROM usage_share WHERE {where}"
        totals = {
            session: Usage(*sums)
            for session, *sums in self._db.execute(
                f"SELECT session, {_SUMS} FROM usage WHERE {where} "
                "AND id NOT IN (SELECT usage FROM usage_share) GROUP BY session"
            )
        }
        rows = self._db.execute(
            f"SELECT id, {list_columns(_COUNTS)} FROM usage WHERE id IN ({shared})"
        ).fetchall()
        for usage_id, *counts in rows:
            owner = self._ownership.owners[usage_id]
            totals[owner] = totals.get(owner, Usage()) + Usage(*counts)
        return totals


def _format_ids(streams: Collection[int]) -> str:
    return ", ".join(f"{stream:d}" for stream in streams)
