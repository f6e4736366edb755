"""The store: one SQLite file with every record and the cursor of every source.

`Store` writes, `StoreReader` reads, and `SqlReader` runs SQL queries over views.
`StoreQueries` is the contract of a store that can be read. A stream is one row of the
table `session`: a session or one of its subagents. In this package, an integer called
`session`, `stream`, `source` or `placement` is a row id; outside of it, a `SessionKey`
names a stream.

Its modules are imported on first use, so that commands start faster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.lazy_imports import make_getattr

if TYPE_CHECKING:
    from leslied.store.connection import read_lock_info
    from leslied.store.ledgers.exports import DueSession, ExportLedger
    from leslied.store.ledgers.relations import (
        DueThread,
        OldFolder,
        RelationsLedger,
        ThreadMove,
    )
    from leslied.store.ledgers.transcripts import TranscriptLedger
    from leslied.store.read.change_feed import ChangeFeed
    from leslied.store.read.match_sql import compile_fts_query
    from leslied.store.read.queries import StoreQueries
    from leslied.store.read.reader import StoreReader
    from leslied.store.read.record_pages import RecordFilter
    from leslied.store.read.search import MAX_RANKED, Match, Search
    from leslied.store.read.session_queries import SessionGroup
    from leslied.store.read.sql_query import SQL_TIMEOUT_SECONDS, SqlReader, SqlResult
    from leslied.store.read.usage_queries import UsageFilter, UsageQueries
    from leslied.store.read.views import VIEWS
    from leslied.store.write.commits import CommitReport
    from leslied.store.write.long_texts import LongText, may_be_long, take_long_texts
    from leslied.store.write.record_versions import prepare_record
    from leslied.store.write.writer import Store

__all__ = [
    "MAX_RANKED",
    "SQL_TIMEOUT_SECONDS",
    "VIEWS",
    "ChangeFeed",
    "CommitReport",
    "DueSession",
    "DueThread",
    "ExportLedger",
    "LongText",
    "Match",
    "OldFolder",
    "RecordFilter",
    "RelationsLedger",
    "Search",
    "SessionGroup",
    "SqlReader",
    "SqlResult",
    "Store",
    "StoreQueries",
    "StoreReader",
    "ThreadMove",
    "TranscriptLedger",
    "UsageFilter",
    "UsageQueries",
    "compile_fts_query",
    "may_be_long",
    "prepare_record",
    "read_lock_info",
    "take_long_texts",
]

__getattr__ = make_getattr(
    __name__,
    {
        "ChangeFeed": "read.change_feed",
        "CommitReport": "write.commits",
        "DueSession": "ledgers.exports",
        "DueThread": "ledgers.relations",
        "ExportLedger": "ledgers.exports",
        "LongText": "write.long_texts",
        "MAX_RANKED": "read.search",
        "Match": "read.search",
        "OldFolder": "ledgers.relations",
        "StoreQueries": "read.queries",
        "RecordFilter": "read.record_pages",
        "RelationsLedger": "ledgers.relations",
        "SQL_TIMEOUT_SECONDS": "read.sql_query",
        "Search": "read.search",
        "SessionGroup": "read.session_queries",
        "SqlReader": "read.sql_query",
        "SqlResult": "read.sql_query",
        "Store": "write.writer",
        "StoreReader": "read.reader",
        "ThreadMove": "ledgers.relations",
        "TranscriptLedger": "ledgers.transcripts",
        "UsageFilter": "read.usage_queries",
        "UsageQueries": "read.usage_queries",
        "VIEWS": "read.views",
        "compile_fts_query": "read.match_sql",
        "may_be_long": "write.long_texts",
        "prepare_record": "write.record_versions",
        "read_lock_info": "connection",
        "take_long_texts": "write.long_texts",
    },
)
