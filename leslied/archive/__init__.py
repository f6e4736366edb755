"""Keeping the bytes agents wrote: one file per source, frame after frame.

The door: a `Writer` appends frames, a `Reader` gives their bytes back, checked, and
the manifest holds what no log can tell. This room gets bytes; it opens no log.
"""

from __future__ import annotations

from leslied.archive.format import (
    ArchiveError,
    ArchiveFrame,
    ArchiveVersionError,
    FrameKind,
)
from leslied.archive.manifest import (
    Manifest,
    fsync_folder,
    has_manifest,
    load_manifest,
    save_manifest,
)
from leslied.archive.reader import ArchiveReader, list_files
from leslied.archive.writer import ArchiveWriter, FrameSpec, make_file_name

__all__ = [
    "ArchiveError",
    "ArchiveFrame",
    "ArchiveReader",
    "ArchiveVersionError",
    "ArchiveWriter",
    "FrameKind",
    "FrameSpec",
    "Manifest",
    "fsync_folder",
    "has_manifest",
    "list_files",
    "load_manifest",
    "make_file_name",
    "save_manifest",
]
