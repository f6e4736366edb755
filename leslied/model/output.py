"""Describe files that leslied writes: transcripts and exported artifacts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from leslied.model.record import SessionKey


class Transcript(Struct, frozen=True, kw_only=True):
    """The transcript file of one unit or subagent; its name never changes."""

    session: SessionKey
    unit: int
    chat_id: str
    folder: bytes
    """The directory that contains `.leslie`."""
    file: str
    """Path relative to `folder`."""
    utc_offset: int
    """Minutes east of UTC, for the times in the transcript."""
    started_us: int
    newest: int
    """`read_order` of the newest record that the transcript includes."""
    digest: bytes
    """Hash of the file's content."""


class Artifact(Struct, frozen=True, kw_only=True):
    """One file of an export."""

    path: str
    """Path relative to the export's directory; each part is a plain name."""
    body: bytes
    is_derived: bool = False
    """True if the file repeats the content of the export's other files."""
    replaces: tuple[str, ...] = ()
    """Outdated files of earlier exports, to delete when this file is written."""
