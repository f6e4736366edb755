"""What a session is: units, subagents, status. Pure.

The door: `assemble` makes units of records, `tell_status` says how a session stands,
`find_cost` what it cost as far as its log told.
"""

from __future__ import annotations

from leslied.sessions.assemble import RecordStream, assemble
from leslied.sessions.cost import find_reported_cost
from leslied.sessions.status import compute_status, stopped_before_us

__all__ = [
    "RecordStream",
    "assemble",
    "compute_status",
    "find_reported_cost",
    "stopped_before_us",
]
