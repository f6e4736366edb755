"""Copy several sources into their archive files; a second process helps with many.

Nothing here uses the store, so that a forked process can do it.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from leslied.archive import ArchiveWriter
from leslied.errors import LesliedError, describe_error
from leslied.forked import can_fork, map_in_two_processes
from leslied.pipeline.stages.archive_frames import SourceCopier, add_spills

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from leslied import tail
    from leslied.model.source import SourceRef
    from leslied.pipeline.ingest.decode import Mask
    from leslied.store.ledgers.archive import DueSource

_MIN_FORKED_BYTES = 8 * 1024 * 1024
"""Bytes below which starting a process costs more than it saves."""


class SourceCopy(Struct, frozen=True):
    """What is to be copied from one source."""

    due: DueSource
    ref: SourceRef
    folder: Path
    """The folder of the archive."""
    file: str
    """The archive file, relative to the folder."""
    newest: int
    """The newest placement of the store, up to which spills are copied."""
    spills: list[tuple[str, str]]
    """Metadata and text of results that the agent stored in separate files."""

    @property
    def name(self) -> str:
        """The path of the source, for messages."""
        return os.fsdecode(self.due.path)

    @property
    def new_bytes(self) -> int:
        """About how many bytes of the source are not archived yet."""
        archived = self.due.archive_cursor.offset if self.due.archive_cursor else 0
        return max(self.due.cursor.offset - archived, 0)

    def append_to(
        self, writer: ArchiveWriter, limits: tail.ReadLimits, mask: Mask | None
    ) -> CopyOutcome:
        """Append the bytes that were read but not archived, and flush them."""
        old_size = writer.size
        copier = SourceCopier(self.due, self.ref, writer, limits, mask)
        generation = copier.run()
        add_spills(writer, generation, self.spills)
        writer.sync()
        return CopyOutcome(
            generation=generation,
            old_size=old_size,
            size=writer.size,
            mtime_ns=writer.mtime_ns,
            bytes_read=copier.bytes_read,
        )


class CopyOutcome(Struct, kw_only=True):
    """Result of one copy. A forked process returns errors instead of raising them."""

    generation: int = 0
    """The generation of the source's bytes in the archive file."""
    old_size: int = 0
    size: int = 0
    """Size of the archive file."""
    mtime_ns: int = 0
    bytes_read: int = 0
    error: LesliedError | None = None
    """Also an unexpected error, with its type and place as its message."""


def run_copies(
    copies: Sequence[SourceCopy], limits: tail.ReadLimits, mask: Mask | None
) -> Iterator[tuple[SourceCopy, CopyOutcome]]:
    """Copy all sources, in any order; yield each with its outcome."""
    # Each process copies one half of the list; make both halves about equally large.
    by_size = sorted(copies, key=lambda copy: copy.new_bytes)
    ordered = [*by_size[::2], *by_size[1::2]]
    try_copy = partial(_try_copy, limits=limits, mask=mask)
    if sum(c.new_bytes for c in copies) >= _MIN_FORKED_BYTES and can_fork():
        yield from zip(ordered, map_in_two_processes(try_copy, ordered), strict=True)
    else:
        yield from ((copy, try_copy(copy)) for copy in ordered)


def _try_copy(
    copy: SourceCopy, limits: tail.ReadLimits, mask: Mask | None
) -> CopyOutcome:
    try:
        with ArchiveWriter(copy.folder / copy.file) as writer:
            return copy.append_to(writer, limits, mask)
    except LesliedError as error:
        return CopyOutcome(error=error)
    except Exception as error:  # noqa: BLE001 - any bug ends this source only
        return CopyOutcome(error=LesliedError(describe_error(error)))
