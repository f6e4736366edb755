"""Keeping the bytes agents wrote: one file per source, frame after frame.

The door: a `Writer` appends frames, a `Reader` gives their bytes back, checked, and
the manifest holds what no log can tell. This room gets bytes; it opens no log.
"""

from __future__ import annotations

from leslied.archive.format import ArchiveError, ArchiveNewer, Frame, Kind
from leslied.archive.manifest import (
    Manifest,
    has_manifest,
    load_manifest,
    save_manifest,
    sync_folder,
)
from leslied.archive.reader import Reader, find_files
from leslied.archive.writer import Label, Writer, name_file

__all__ = [
    "ArchiveError",
    "ArchiveNewer",
    "Frame",
    "Kind",
    "Label",
    "Manifest",
    "Reader",
    "Writer",
    "find_files",
    "has_manifest",
    "load_manifest",
    "name_file",
    "save_manifest",
    "sync_folder",
]
