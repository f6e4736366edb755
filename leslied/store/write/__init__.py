"""Everything that changes the store. The writer imports what it needs on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.lazy_imports import make_getattr

if TYPE_CHECKING:
    from leslied.store.write.forget import Forgetter
    from leslied.store.write.process_state import (
        SET_WAITING,
        find_live_changes,
        find_waiting_changes,
    )
    from leslied.store.write.redecode import Redecode
    from leslied.store.write.sanitize import sanitize_chunk
    from leslied.store.write.transaction import Transaction

__all__ = [
    "SET_WAITING",
    "Forgetter",
    "Redecode",
    "Transaction",
    "find_live_changes",
    "find_waiting_changes",
    "sanitize_chunk",
]

__getattr__ = make_getattr(
    __name__,
    {
        "Forgetter": "forget",
        "Redecode": "redecode",
        "SET_WAITING": "process_state",
        "Transaction": "transaction",
        "find_live_changes": "process_state",
        "find_waiting_changes": "process_state",
        "sanitize_chunk": "sanitize",
    },
)
