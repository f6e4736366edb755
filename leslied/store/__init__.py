"""The store: one SQLite file with every record and the cursor of every source.

`Store` writes, `StoreReader` reads, and `SqlReader` runs SQL queries over views. A
stream is one row of the table `session`: a session or one of its subagents. In this
package, an integer called `session`, `source` or `placement` is a row id.

Modules that reading does not need are imported on first use, so that readers start
faster.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from leslied.store.change_feed import ChangeFeed
from leslied.store.connection import read_lock_info
from leslied.store.reader import StoreReader
from leslied.store.search import MAX_RANKED, Match, Search, compile_fts_query
from leslied.store.session_queries import SessionGroup
from leslied.store.usage_queries import UsageFilter, UsageQueries

if TYPE_CHECKING:
    from leslied.store.export_ledger import DueSession, ExportLedger
    from leslied.store.record_pages import RecordFilter
    from leslied.store.relations_ledger import DueThread, RelationsLedger, ThreadMove
    from leslied.store.sql_query import SQL_TIMEOUT_SECONDS, SqlReader, SqlResult
    from leslied.store.transaction import prepare_record
    from leslied.store.transcript_ledger import TranscriptLedger
    from leslied.store.views import VIEWS
    from leslied.store.writer import CommitReport, Store

__all__ = [
    "MAX_RANKED",
    "SQL_TIMEOUT_SECONDS",
    "VIEWS",
    "ChangeFeed",
    "CommitReport",
    "DueSession",
    "DueThread",
    "ExportLedger",
    "Match",
    "RecordFilter",
    "RelationsLedger",
    "Search",
    "SessionGroup",
    "SqlReader",
    "SqlResult",
    "Store",
    "StoreReader",
    "ThreadMove",
    "TranscriptLedger",
    "UsageFilter",
    "UsageQueries",
    "compile_fts_query",
    "prepare_record",
    "read_lock_info",
]

_LAZY_IMPORTS = {
    "CommitReport": "writer",
    "DueSession": "export_ledger",
    "DueThread": "relations_ledger",
    "ExportLedger": "export_ledger",
    "RecordFilter": "record_pages",
    "RelationsLedger": "relations_ledger",
    "SQL_TIMEOUT_SECONDS": "sql_query",
    "SqlReader": "sql_query",
    "SqlResult": "sql_query",
    "Store": "writer",
    "ThreadMove": "relations_ledger",
    "TranscriptLedger": "transcript_ledger",
    "VIEWS": "views",
    "prepare_record": "transaction",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY_IMPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY_IMPORTS[name]}"), name)
