"""The memory: one SQLite file that holds every record and how far each source was read.

The door: `Store` writes, `Reader` looks.
"""

from __future__ import annotations

from leslied.store.catalog import Family
from leslied.store.connection import read_lock
from leslied.store.measure import Measures, Span
from leslied.store.news import News
from leslied.store.outbox import Outbox
from leslied.store.published import DueSession, Published
from leslied.store.reader import Reader
from leslied.store.related import DueThread, Move, Related
from leslied.store.search import MOST_RANKED, Match, Search, compile_words
from leslied.store.transaction import prepare
from leslied.store.writer import Committed, Store

__all__ = [
    "MOST_RANKED",
    "Committed",
    "DueSession",
    "DueThread",
    "Family",
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
    "compile_words",
    "prepare",
    "read_lock",
]
