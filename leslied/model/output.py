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


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """One file that an output consists of."""

    path: str
    """Below the folder the output goes to; its parts are plain names."""
    body: bytes
    is_derived: bool = False
    """Whether it only shows once more what the others hold."""
    replaces: tuple[str, ...] = ()
    """Files of earlier renderings that would contradict this one."""
