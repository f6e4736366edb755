"""How much is held in memory at once, and how hard a damaged line is looked at."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Bounds that make memory and time independent of what an agent wrote."""

    chunk: int = 2 * MIB
    """Bytes read at once."""
    line: int = 32 * MIB
    """A longer line is not parsed: position, length, hash and head are kept."""
    head: int = 4096
    """Bytes kept of a rejected entry, for a person to look at."""
    anchor: int = 256
    """Bytes before the cursor that must still be there at the next look."""
    rescan: int = 64 * 1024
    """A half line up to this long is read again at every look."""
    spill: int = 16 * MIB
    """Bytes taken of a tool result kept in a file of its own."""
