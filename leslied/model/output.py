"""What was written out, and what has to be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """The file of one unit or subagent; its name never changes."""

    session: int
    """The store's number of the stream."""
    unit: int
    chat_id: str
    folder: bytes
    """The folder that holds `.leslie`."""
    file: str
    """The path below that folder."""
    utc_offset: int
    started_us: int
    newest: int
    """The newest placement that went into it."""
    digest: bytes
