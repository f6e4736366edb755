"""Transactions of the store's writer: commit at once, or together at the end of a run.

A stage first writes files, and then saves in its ledger what it has written. Such a
change of a ledger can be lost without harm: the stage does its work again and writes
the same bytes. So these changes are committed together as a group, which saves most of
the commits.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from msgspec import Struct

from leslied.errors import StoreUnusable, describe_cause

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class CommitReport(Struct):
    """Numbers of records and placements that a commit added."""

    records: int = 0
    placements: int = 0

    def __iadd__(self, other: CommitReport) -> Self:
        """Add the numbers of another report."""
        self.records += other.records
        self.placements += other.placements
        return self


class Commits:
    """The transactions of one connection; nothing else may begin or end one."""

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db, self._path = db, path
        self.count = 0
        """Number of committed transactions that changed the store."""
        self._is_grouping = False
        self._changes_at_begin = 0

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit what the context writes; on any error, roll back and raise.

        Changes that wait in a group are committed first. SQLite's errors are raised as
        StoreUnusable.
        """
        self.flush()
        with self._rolling_back():
            self._begin()
            yield
            self._commit()

    @contextmanager
    def postponable(self) -> Iterator[None]:
        """Like `transaction`, but in a `group`, leave the commit to the group.

        On an error, only what this context wrote is rolled back.
        """
        if not self._is_grouping:
            with self.transaction():
                yield
            return
        with self._translating_errors():
            if not self._db.in_transaction:
                self._begin()
            self._db.execute("SAVEPOINT step")
            try:
                yield
            except BaseException:
                # SQLite itself rolls back everything if the disk is full.
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK TO step")
                    self._db.execute("RELEASE step")
                raise
            self._db.execute("RELEASE step")

    @contextmanager
    def group(self) -> Iterator[None]:
        """Commit all `postponable` contexts in this one together, when it ends.

        `flush` commits them earlier. Until then, other connections do not see what they
        wrote.
        """
        self._is_grouping = True
        try:
            yield
        finally:
            self._is_grouping = False
            self.flush()

    def flush(self) -> None:
        """Commit the waiting group now; call this before writing files that need it."""
        if self._db.in_transaction:
            with self._rolling_back():
                self._commit()

    def _begin(self) -> None:
        # There is only one writer, so the transaction can wait for its first write
        # before it takes SQLite's lock; one that only reads costs nothing.
        self._db.execute("BEGIN")
        self._changes_at_begin = self._db.total_changes

    def _commit(self) -> None:
        self._db.execute("COMMIT")
        self.count += self._db.total_changes != self._changes_at_begin

    @contextmanager
    def _rolling_back(self) -> Iterator[None]:
        with self._translating_errors():
            try:
                yield
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def _translating_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            cause = describe_cause(error)
            raise StoreUnusable(
                f"The store at {self._path} cannot be written: {cause}.",
                "Nothing was lost. Free some space or check the disk, "
                "then run: leslied sync",
            ) from error
