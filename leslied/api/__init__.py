"""Scripts' door to what leslied keeps: typed, read-only, lazy.

    from leslied.api import open_store

    with open_store() as store:
        for session in store.sessions(since="2026-01-31"):
            print(session.title, session.cost_usd)

Names listed in `__all__` stay as they are; more may be added. Everything raised on
purpose is a `LesliedError`, with a sentence and, in `hint`, what to do about it.
"""

from __future__ import annotations

from leslied.api.entries import Entries
from leslied.api.store import StoreView as Store
from leslied.api.store import open_store
from leslied.api.types import Entry, Rows
from leslied.api.types import SessionView as Session
from leslied.api.types import UnitView as Unit
from leslied.errors import LesliedError, StoreUnusable, UserError
from leslied.model.record import Usage

__all__ = [
    "Entries",
    "Entry",
    "LesliedError",
    "Rows",
    "Session",
    "Store",
    "StoreUnusable",
    "Unit",
    "Usage",
    "UserError",
    "open_store",
]
