"""The memory: one SQLite file that holds every record and how far each source was read.

The door: `Store` writes, `Reader` looks, an `Inquiry` is asked in SQL. What only
writing and asking need is loaded by whoever does: looking starts sooner.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from leslied.store.catalog import Family
from leslied.store.connection import read_lock
from leslied.store.measure import Measures, Span
from leslied.store.news import News
from leslied.store.reader import Reader
from leslied.store.search import MOST_RANKED, Match, Search, compile_words

if TYPE_CHECKING:
    from leslied.store.entries import Wanted
    from leslied.store.inquiry import TIMEOUT, Answer, Inquiry
    from leslied.store.outbox import Outbox
    from leslied.store.published import DueSession, Published
    from leslied.store.related import DueThread, Move, Related
    from leslied.store.transaction import prepare
    from leslied.store.views import VIEWS
    from leslied.store.writer import Committed, Store

__all__ = [
    "MOST_RANKED",
    "TIMEOUT",
    "VIEWS",
    "Answer",
    "Committed",
    "DueSession",
    "DueThread",
    "Family",
    "Inquiry",
    "Match",
    "Measures",
    "Move",
    "News",
    "Outbox",
    "Published",
    "Reader",
    "Related",
    "Search",
    "Span",
    "Store",
    "Wanted",
    "compile_words",
    "prepare",
    "read_lock",
]

_LATE = {
    "Answer": "inquiry",
    "Committed": "writer",
    "DueSession": "published",
    "DueThread": "related",
    "Inquiry": "inquiry",
    "Move": "related",
    "Outbox": "outbox",
    "Published": "published",
    "Related": "related",
    "Store": "writer",
    "TIMEOUT": "inquiry",
    "VIEWS": "views",
    "Wanted": "entries",
    "prepare": "transaction",
}


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
