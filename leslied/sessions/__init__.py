"""Sessions: units, subagents, status, cost, comparison and retention. Pure.

`assemble` groups records into units, `compute_status` returns a session's status, and
`find_reported_cost` the cost that its log reports.
"""

from __future__ import annotations

from leslied.sessions.assemble import RecordStream, assemble
from leslied.sessions.cost import find_reported_cost
from leslied.sessions.status import compute_status, compute_stop_cutoff_us

__all__ = [
    "RecordStream",
    "assemble",
    "compute_status",
    "compute_stop_cutoff_us",
    "find_reported_cost",
]
