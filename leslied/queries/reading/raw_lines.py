"""The line of an entry as its agent wrote it: from the log, else the archive."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leslied.archive.format import ArchiveError
from leslied.archive.reader import ArchiveReader
from leslied.errors import SourceError
from leslied.tail.files import open_regular, read_at

if TYPE_CHECKING:
    from leslied.model.record import PlacedRecord
    from leslied.queries.context import QueryContext

MAX_LINE_BYTES = 64 * 1024 * 1024
"""Longer lines are not read: the page would not show them, either."""


def load_raw_line(context: QueryContext, placed: PlacedRecord) -> Any:
    """Return the parsed line of an entry, not redacted; None if there is none.

    The log and the archive may be gone, the line may be too long, and some sources do
    not consist of JSON lines.
    """
    if not 0 < placed.length <= MAX_LINE_BYTES:
        return None
    position = context.reader.reading.find_raw_position(placed)
    line = _read_log(context, placed) if position.is_in_log else None
    if line is None and position.archive_file:
        line = _read_archive(context.paths.archive_dir / position.archive_file, placed)
    return line


def _read_log(context: QueryContext, placed: PlacedRecord) -> Any:
    agent, path = placed.record.session.agent, Path(placed.path)
    for adapter, roots in context.list_agent_roots():
        for root in roots if adapter.name == agent else ():
            with suppress(SourceError), open_regular(path, root.path) as fd:
                return _parse(read_at(fd, placed.length, placed.offset), placed)
    return None


def _read_archive(path: Path, placed: PlacedRecord) -> Any:
    with suppress(ArchiveError), ArchiveReader(path) as archive:
        frames = archive.list_frames_by_generation().get(placed.generation, ())
        for frame in frames:
            if frame.offset <= placed.offset < frame.source_end:
                start = placed.offset - frame.offset
                body = b"".join(archive.read_frame(frame))
                return _parse(body[start : start + placed.length], placed)
    return None


def _parse(data: bytes, placed: PlacedRecord) -> Any:
    """Return the parsed line; None if it is not JSON, or the line of another entry."""
    # The file may have been replaced since the entry was read from it. The entry's line
    # contains its native id, without the `#` and number that adapters append to tell
    # equal ids apart.
    if placed.record.native_id.partition("#")[0].encode() not in data:
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
