"""Count the work of leslied: statements, SQLite's steps, transactions, bytes, files.

Counts are the same in every run on every machine, unlike times.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from leslied.store import Store, StoreReader
from tests.support.path_recorder import PathRecorder

STEPS_PER_CALL = 10
"""SQLite counts the instructions of its virtual machine in multiples of this."""


@dataclass(slots=True)
class Work:
    """What was done in a `with` block of `count_work`."""

    statements: int = 0
    """SQL statements, on all connections."""
    steps: int = 0
    """Instructions of SQLite's virtual machine; rows that are scanned cost some."""
    transactions: int = 0
    """Transactions that changed the store."""
    files: int = 0
    """Files that were replaced or removed."""
    opens: int = 0
    """Files and folders that were opened, outside SQLite."""


@contextmanager
def count_work(store: Store, *readers: StoreReader) -> Iterator[Work]:
    """Count the work of a `with` block; the counts are complete at its end."""
    work = Work()
    transactions_before = store.write_transactions
    databases = (store._db, *(reader._db for reader in readers))

    def count_statement(sql: str) -> None:
        # SQLite reports the statements of its own extensions as comments.
        work.statements += not sql.startswith("--")

    def count_steps() -> int:
        work.steps += STEPS_PER_CALL
        return 0

    for database in databases:
        database.set_trace_callback(count_statement)
        database.set_progress_handler(count_steps, STEPS_PER_CALL)
    try:
        with PathRecorder() as recorder:
            yield work
    finally:
        for database in databases:
            database.set_trace_callback(None)
            database.set_progress_handler(None, 0)
    work.transactions = store.write_transactions - transactions_before
    work.files, work.opens = recorder.replaced, recorder.opens


@contextmanager
def count_calls() -> Iterator[Counter[str]]:
    """Count the calls of a `with` block, by the name of the function.

    `python` is the number of functions in Python, and of resumed generators.
    """
    calls: Counter[str] = Counter()

    def count(frame: FrameType, event: str, function: object) -> None:
        if event == "c_call":
            calls[function.__name__] += 1  # type: ignore[attr-defined]
        elif event == "call":
            calls[frame.f_code.co_name] += 1
            calls["python"] += 1

    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(None)
