"""Search for a text in the raw lines of logs and archive files."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from leslied import archive, tail
from leslied.archive import ArchiveError, FrameKind
from leslied.errors import SourceError
from leslied.model.source import Shape
from leslied.store.forgotten import digest_line
from leslied.tail.document import read_document
from leslied.tail.files import iter_range, open_regular

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from leslied.archive import Line
    from leslied.literal_text import LiteralText
    from leslied.model.source import Root
    from leslied.store.read.forget_queries import ReadSource

_CHUNK_BYTES = 1 << 20


@dataclass(slots=True)
class RawMatches:
    """Where logs and archive files hold a text."""

    lines: dict[tuple[str, bytes, int], list[tuple[int, int]]] = field(
        default_factory=dict
    )
    """Offsets and ends of lines by agent, path and generation, as in the store."""
    logs: list[str] = field(default_factory=list)
    """Paths of the agents' logs that have the text, or other entries to forget."""
    sources: set[tuple[str, bytes]] = field(default_factory=set)
    """Agents and paths of all sources of which a log or archive file has the text."""
    line_digests: set[bytes] = field(default_factory=set)
    archive_files: list[Path] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    """Files that could not be searched, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RawSearch:
    """Searches logs and archive files. Nothing is changed."""

    text: LiteralText
    roots: Mapping[str, tuple[Root, ...]]
    """Each agent's folders."""
    archive_dir: Path

    def run(self, sources: Iterable[ReadSource]) -> RawMatches:
        """Search the logs of these sources, and the whole archive."""
        matches = RawMatches()
        by_archive_file: dict[str, ReadSource] = {}
        for source in sources:
            by_archive_file[source.file] = source
            try:
                self._search_log(source, matches)
            except SourceError as error:
                name = os.fsdecode(source.path)
                matches.errors.append(f"{name}: {error.message}")
        for path in archive.list_files(self.archive_dir):
            name = path.relative_to(self.archive_dir).as_posix()
            try:
                self._search_archive(path, by_archive_file.get(name), matches)
            except ArchiveError as error:
                matches.errors.append(error.message)
        return matches

    def _search_log(self, source: ReadSource, matches: RawMatches) -> None:
        """Add the lines with the text from the part of a log that was read."""
        path = Path(os.fsdecode(source.path))
        ref = tail.find_source(source.agent, self.roots.get(source.agent, ()), path)
        if ref is None or ref.shape not in (Shape.APPEND_LOG, Shape.DOCUMENT):
            return
        with open_regular(path) as fd:
            if ref.shape is Shape.DOCUMENT:
                chunks: Iterable[bytes] = [read_document(fd, tail.ReadLimits())]
            else:
                chunks = iter_range(fd, 0, source.offset, _CHUNK_BYTES)
            lines = archive.split_lines(chunks)
            ranges = [
                self._add_line(line, matches)
                for line in lines
                if self.text.is_in(line.data)
            ]
        if not ranges:
            return
        matches.logs.append(str(path))
        matches.sources.add((source.agent, source.path))
        # A document is one entry, of which only some records may hold the text.
        if ref.shape is Shape.APPEND_LOG:
            key = (source.agent, source.path, source.generation)
            matches.lines[key] = ranges

    @staticmethod
    def _add_line(line: Line, matches: RawMatches) -> tuple[int, int]:
        """Add the digest of a line; return where the line starts and ends."""
        matches.line_digests.add(digest_line(line.data))
        return (line.offset, line.end)

    def _search_archive(
        self, path: Path, source: ReadSource | None, matches: RawMatches
    ) -> None:
        """Add the lines of an archive file that have the text; `source` may be None."""
        ranges: set[tuple[int, int]] = set()
        has_match = False
        for frame, line in archive.find_lines(path, self.text.is_in):
            has_match = True
            is_in_log = frame.kind in (FrameKind.LOG, FrameKind.TAIL) and line.data
            # The store knows the lines of only the generation that was archived last.
            if is_in_log and source and frame.generation == source.archive_number:
                ranges.add(self._add_line(line, matches))
        if has_match:
            matches.archive_files.append(path)
        if has_match and source:
            matches.sources.add((source.agent, source.path))
        if ranges and source:
            key = (source.agent, source.path, source.archive_generation)
            matches.lines[key] = sorted(ranges.union(matches.lines.get(key, ())))
