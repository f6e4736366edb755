"""Limits of memory and work when reading sources."""

from __future__ import annotations

from msgspec import Struct

MIB = 1024 * 1024


class ReadLimits(Struct, frozen=True):
    """Bounds that make memory and time independent of what an agent wrote."""

    chunk: int = 2 * MIB
    """Bytes read at once."""
    entries: int = 5_000
    """Most lines in a chunk: a line of two bytes takes hundreds of bytes of memory."""
    line: int = 32 * MIB
    """Longest line that is parsed; of a longer one, only length, hash and head are
    stored."""
    skip: int = 256 * MIB
    """Longest line that is skipped; a log with a longer one is not read any further."""
    head: int = 4096
    """Bytes stored of a rejected entry, for inspection."""
    rejections: int = 100
    """Most rejections of a chunk; the last one covers all further rejected entries."""
    anchor: int = 256
    """Bytes before the cursor that must be unchanged at the next read."""
    rescan: int = 64 * 1024
    """Longest incomplete line that is scanned again at every read."""
    unpacked: int = 64 * MIB
    """Bytes that any compressed source may decompress to."""
    unpacked_ratio: int = 200
    """Bytes that a larger compressed log may decompress to, for each of its bytes."""
    spill: int = 16 * MIB
    """Bytes read of a tool result that is stored in a separate file."""
