"""Ledger of decoder versions: which sources an older decoder read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.store.sql import fetch_value
from leslied.store.streams import find_stream

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from leslied.model.output import Transcript


class RedecodeLedger:
    """Read and write the decoder versions of sources; the caller holds the transaction.

    `decoder_version` is the version that decoded a source, and `tried_version` the one
    that was last tried. They differ if the source could not be decoded again.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def list_due(self, agent: str, version: int, after: int, limit: int) -> list[int]:
        """List the row ids of sources that a decoder older than `version` read, sorted.

        Start after the row id `after`. Omit sources for which `version` was tried.
        """
        # A source with version 0 was never read.
        rows = self._db.execute(
            "SELECT id FROM source WHERE agent = ? AND tried_version BETWEEN 1 AND ? "
            "AND id > ? ORDER BY id LIMIT ?",
            (agent, version - 1, after, limit),
        )
        return [source for (source,) in rows]

    def is_gone(self, source: int) -> bool:
        """Return whether the last scan found that the source no longer exists."""
        query = "SELECT is_gone FROM source WHERE id = ?"
        return bool(fetch_value(self._db, query, (source,)))

    def mark_impossible(self, source: int, version: int) -> None:
        """Record that this version cannot decode the source again."""
        self._db.execute(
            "UPDATE source SET tried_version = ? WHERE id = ?", (version, source)
        )

    def mark_decoded(self, source: int, version: int) -> None:
        """Record that this version decoded the whole source."""
        self._db.execute(
            "UPDATE source SET tried_version = ?1, decoder_version = ?1 WHERE id = ?2",
            (version, source),
        )

    def delete_transcripts(self, transcripts: Iterable[Transcript]) -> None:
        """Delete the transcripts of units that no longer exist."""
        self._db.executemany(
            "DELETE FROM transcript WHERE session = ? AND unit = ?",
            [(find_stream(self._db, t.session), t.unit) for t in transcripts],
        )
