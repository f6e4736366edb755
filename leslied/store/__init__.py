"""The memory: one SQLite file that holds every record and how far each source was read.

The door: `Store` writes, `Reader` looks, an `Inquiry` is asked in SQL.
"""

from __future__ import annotations

from leslied.store.connection import read_lock
from leslied.store.entries import ALL, Wanted
from leslied.store.inquiry import TIMEOUT, Answer, Inquiry
from leslied.store.measure import Measures, Span
from leslied.store.outbox import Outbox
from leslied.store.published import DueSession, Published
from leslied.store.reader import Reader
from leslied.store.related import DueThread, Move, Related
from leslied.store.search import Hit
from leslied.store.transaction import prepare
from leslied.store.views import VIEWS
from leslied.store.writer import Committed, Store

__all__ = [
    "ALL",
    "TIMEOUT",
    "VIEWS",
    "Answer",
    "Committed",
    "DueSession",
    "DueThread",
    "Hit",
    "Inquiry",
    "Measures",
    "Move",
    "Outbox",
    "Published",
    "Reader",
    "Related",
    "Span",
    "Store",
    "Wanted",
    "prepare",
    "read_lock",
]
