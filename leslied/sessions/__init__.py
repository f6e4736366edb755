"""What a session is: units, subagents, status. Pure.

The door: `assemble` makes units of records, `tell_status` says how a session stands,
`find_cost` what it cost as far as its log told.
"""

from __future__ import annotations

from leslied.sessions.assemble import Stream, assemble
from leslied.sessions.cost import find_cost
from leslied.sessions.status import quiet_us, tell_status

__all__ = ["Stream", "assemble", "find_cost", "quiet_us", "tell_status"]
