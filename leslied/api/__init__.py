"""The Python API for scripts: typed, read-only and lazy access to the store.

    from leslied.api import open_store

    with open_store() as store:
        for session in store.sessions(since="2026-01-31"):
            print(session.title, session.cost_usd)

The names in `__all__` are stable; more may be added. Every expected error is a
`LesliedError` with a `message` and a `hint` on what to do about it.
"""

from __future__ import annotations

from leslied.api.entries import Entries
from leslied.api.session import SessionView as Session
from leslied.api.store import StoreView as Store
from leslied.api.store import open_store
from leslied.api.types import Entry, Rows
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
