"""The read side of the store: read-only queries over sessions and records.

The reader imports queries that few commands need on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.lazy_imports import make_getattr

if TYPE_CHECKING:
    from leslied.store.read.change_feed import ChangeFeed
    from leslied.store.read.file_queries import FileQueries
    from leslied.store.read.project_queries import ProjectQueries
    from leslied.store.read.reading_queries import ReadingQueries
    from leslied.store.read.search import Search
    from leslied.store.read.session_index import SessionIndexQueries
    from leslied.store.read.size_queries import SizeQueries
    from leslied.store.read.source_audit import AuditQueries
    from leslied.store.read.title_search import TitleSearch
    from leslied.store.read.unknown_queries import UnknownQueries
    from leslied.store.read.usage_queries import UsageQueries

__all__ = [
    "AuditQueries",
    "ChangeFeed",
    "FileQueries",
    "ProjectQueries",
    "ReadingQueries",
    "Search",
    "SessionIndexQueries",
    "SizeQueries",
    "TitleSearch",
    "UnknownQueries",
    "UsageQueries",
]

__getattr__ = make_getattr(
    __name__,
    {
        "AuditQueries": "source_audit",
        "ChangeFeed": "change_feed",
        "FileQueries": "file_queries",
        "ProjectQueries": "project_queries",
        "ReadingQueries": "reading_queries",
        "Search": "search",
        "SessionIndexQueries": "session_index",
        "SizeQueries": "size_queries",
        "TitleSearch": "title_search",
        "UnknownQueries": "unknown_queries",
        "UsageQueries": "usage_queries",
    },
)
