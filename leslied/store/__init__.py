"""The memory: one SQLite file that holds every record and how far each source was read.

The door: `Store` writes, `Reader` looks.
"""

from __future__ import annotations

from leslied.store.connection import read_lock
from leslied.store.measure import Measures, Span
from leslied.store.news import News
from leslied.store.outbox import Outbox
from leslied.store.published import DueSession, Published
from leslied.store.reader import Reader
from leslied.store.related import DueThread, Move, Related
from leslied.store.search import Hit
from leslied.store.transaction import prepare
from leslied.store.writer import Committed, Store

__all__ = [
    "Committed",
    "DueSession",
    "DueThread",
    "Hit",
    "Measures",
    "Move",
    "News",
    "Outbox",
    "Published",
    "Reader",
    "Related",
    "Span",
    "Store",
    "prepare",
    "read_lock",
]
