"""Archive of the raw bytes that agents wrote: one file per source, in frames.

`ArchiveWriter` appends frames, `ArchiveReader` verifies and returns their bytes, and
the manifest holds metadata that cannot be derived from the logs. This package never
opens a log itself; callers pass the bytes. Its modules are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.lazy_imports import make_getattr

if TYPE_CHECKING:
    from leslied.archive.erase import (
        Line,
        erase_lines,
        find_lines,
        is_erased,
        split_lines,
    )
    from leslied.archive.format import (
        ArchiveError,
        ArchiveFrame,
        ArchiveVersionError,
        FrameKind,
        SourceChangedError,
    )
    from leslied.archive.manifest import (
        Manifest,
        has_manifest,
        load_manifest,
        save_manifest,
    )
    from leslied.archive.reader import ArchiveReader, list_files
    from leslied.archive.repair import ArchiveRepair
    from leslied.archive.writer import ArchiveWriter, FrameSpec, make_file_name

__all__ = [
    "ArchiveError",
    "ArchiveFrame",
    "ArchiveReader",
    "ArchiveRepair",
    "ArchiveVersionError",
    "ArchiveWriter",
    "FrameKind",
    "FrameSpec",
    "Line",
    "Manifest",
    "SourceChangedError",
    "erase_lines",
    "find_lines",
    "has_manifest",
    "is_erased",
    "list_files",
    "load_manifest",
    "make_file_name",
    "save_manifest",
    "split_lines",
]

__getattr__ = make_getattr(
    __name__,
    {
        "ArchiveError": "format",
        "ArchiveFrame": "format",
        "ArchiveReader": "reader",
        "ArchiveRepair": "repair",
        "ArchiveVersionError": "format",
        "ArchiveWriter": "writer",
        "FrameKind": "format",
        "FrameSpec": "writer",
        "Line": "erase",
        "Manifest": "manifest",
        "SourceChangedError": "format",
        "erase_lines": "erase",
        "find_lines": "erase",
        "has_manifest": "manifest",
        "is_erased": "erase",
        "list_files": "reader",
        "load_manifest": "manifest",
        "make_file_name": "writer",
        "save_manifest": "manifest",
        "split_lines": "erase",
    },
)
