"""Ledger of work that failed unexpectedly, stored until a retry succeeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.model.failure import Failure
from leslied.model.times import from_us, to_us

if TYPE_CHECKING:
    import sqlite3


class FailureLedger:
    """Read and write failures; the caller holds the transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def list(self) -> list[Failure]:
        """Return every failure, sorted by scope and name."""
        rows = self._db.execute(
            "SELECT scope, name, reason, attempts, retry_us FROM failure "
            "ORDER BY scope, name"
        )
        return [
            Failure(scope, name, reason, attempts, from_us(retry_us))
            for scope, name, reason, attempts, retry_us in rows
        ]

    def save(self, failure: Failure) -> None:
        """Insert the failure, or replace the earlier one of the same work."""
        self._db.execute(
            "INSERT OR REPLACE INTO failure (scope, name, reason, attempts, retry_us) "
            "VALUES (?, ?, ?, ?, ?)",
            (*failure[:4], to_us(failure.retry_at)),
        )

    def delete(self, scope: str, name: str) -> None:
        """Delete the failure of this work, if there is one."""
        self._db.execute(
            "DELETE FROM failure WHERE scope = ? AND name = ?", (scope, name)
        )
