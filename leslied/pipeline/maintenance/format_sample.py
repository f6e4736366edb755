"""Sample a log: one entry of each kind, of which only the structure is left."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leslied import tail
from leslied.errors import SourceError, describe_error
from leslied.model.format_sample import SampledSource
from leslied.model.source import Cursor, Shape, SourceRef
from leslied.pipeline.ingest.decode import Decoder
from leslied.redact.skeleton import (
    Skeleton,
    list_kinds,
    replace_damaged,
    replace_unless_kind,
)
from leslied.sessions.unknown_kinds import UNNAMED_KIND, as_version, find_kind
from leslied.tail.discover import match_source
from leslied.tail.files import make_stamp, open_regular, read_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from leslied.agents import AgentAdapter
    from leslied.model.record import Record
    from leslied.model.source import RawEntry, Root

_MAX_LINES = 100
"""Entries in the sample of one log."""
_MAX_LINE_CHARACTERS = 20_000
"""An entry whose structure alone is longer is left out."""
_MAX_NAMED_KEYS = 10
"""Keys by which an entry without a kind is named."""
_SQLITE_MAGIC = b"SQLite format 3\0"
_LIMITS = tail.ReadLimits()


def find_log(
    agents: Sequence[tuple[AgentAdapter, Sequence[Root]]], path: Path
) -> tuple[AgentAdapter | None, SourceRef, str]:
    """Return the agent, the source and the pattern of a file.

    A file that is not below the roots of any agent has no agent; its first bytes and
    its name say how it is read. Raise SourceError if it cannot be read.
    """
    for adapter, roots in agents:
        source = tail.find_source(adapter.name, roots, path)
        if source is None:
            continue
        root = next(root for root in roots if root.path == source.root)
        pattern = match_source(root, str(source.path.relative_to(source.root)))
        return adapter, source, pattern.glob if pattern else ""
    return None, _make_source(path), ""


def _make_source(path: Path) -> SourceRef:
    """Return a source for a file that no agent is known to write."""
    with open_regular(path, path.parent) as fd:
        is_database = read_at(fd, len(_SQLITE_MAGIC), 0) == _SQLITE_MAGIC
    shape = Shape.DOCUMENT if path.suffix == ".json" else Shape.APPEND_LOG
    if path.suffix == ".zst":
        shape = Shape.COMPRESSED_LOG
    return SourceRef(
        agent="",
        path=path,
        root=path.parent,
        shape=Shape.SQLITE if is_database else shape,
        stamp=make_stamp(path.stat()),
    )


@dataclass(slots=True, eq=False, repr=False)
class LogSampler:
    """Chooses the entries of one log that are sampled."""

    adapter: AgentAdapter | None
    source: SourceRef
    pattern: str
    skeleton: Skeleton
    """Shared by all logs of a sample, so that equal ids stay equal."""
    only_unknown: bool = False
    """Whether only entries of unknown kinds and rejected ones are sampled."""
    _lines: list[str] = field(default_factory=list)
    _kinds: set[str] = field(default_factory=set)
    _unknown_kinds: dict[str, None] = field(default_factory=dict)
    _rejection_reasons: dict[str, None] = field(default_factory=dict)
    _version: str = ""
    _entry_count: int = 0
    """Number of entries that were read."""

    def run(self) -> SampledSource:
        """Read the log and return the sample."""
        problem = ""
        schema = None
        try:
            if self.source.shape is Shape.SQLITE:
                from leslied.tail.sqlite_schema import read_schema  # noqa: PLC0415

                schema = read_schema(self.source.path, self.source.root, _LIMITS)
            self._sample_entries()
        except SourceError as error:
            problem = error.message
        except Exception as error:  # noqa: BLE001 - the rest of the sample is useful
            problem = describe_error(error)
        return SampledSource(
            agent=self.source.agent,
            version=self._version,
            shape=str(self.source.shape),
            pattern=self.pattern,
            read=self._entry_count,
            lines=tuple(self._lines),
            kinds=tuple(sorted(self._kinds)),
            unknown_kinds=tuple(self._unknown_kinds),
            rejected=tuple(self._rejection_reasons),
            schema=schema,
            problem=problem,
        )

    def _sample_entries(self) -> None:
        """Add every entry with a kind or a rejection that the sample lacks."""
        if self.source.shape is Shape.SQLITE and not self.source.feeds:
            return
        for entry, decoder in self._iter_entries():
            self._entry_count += 1
            is_new = self._add_decoded(decoder) if decoder else False
            if len(self._lines) < _MAX_LINES:
                self._add(entry, is_new=is_new)

    def _iter_entries(self) -> Iterator[tuple[RawEntry, Decoder | None]]:
        """Yield each entry with the decoder that decoded it, if there is an adapter."""
        state = {}
        if self.source.side_file:
            state["beside"] = tail.read_side_file(self.source)
        for chunk in tail.read(self.source, Cursor(), _LIMITS, is_final=True):
            for entry in chunk.entries:
                if self.adapter is None:
                    yield entry, None
                    continue
                decoder = Decoder(self.adapter, _LIMITS, state)
                decoder.add(entry)
                state = decoder.state
                yield entry, decoder

    def _add_decoded(self, decoder: Decoder) -> bool:
        """Remember unknown kinds and rejections; return whether one is new."""
        before = len(self._unknown_kinds) + len(self._rejection_reasons)
        for entry in decoder.entries:
            for record in entry.records:
                version = as_version(record.metadata.get("version"))
                self._version = version or self._version
                if record.type == "unknown":
                    self._unknown_kinds[_name_kind(record)] = None
        for rejection in decoder.rejected:
            # The text after the colon may quote the entry.
            self._rejection_reasons[rejection.reason.partition(":")[0]] = None
        return len(self._unknown_kinds) + len(self._rejection_reasons) > before

    def _add(self, entry: RawEntry, *, is_new: bool) -> None:
        """Add the structure of an entry if it has a kind that the sample lacks.

        With `is_new`, it has an unknown kind or a rejection that no entry before had.
        """
        line, kinds = self._extract_structure(entry.data)
        has_new_kind = not kinds <= self._kinds and not self.only_unknown
        if (is_new or has_new_kind) and len(line) <= _MAX_LINE_CHARACTERS:
            self._lines.append(line)
            self._kinds |= kinds

    def _extract_structure(self, data: bytes) -> tuple[str, set[str]]:
        """Return the structure of an entry as a line, and its kinds."""
        try:
            value = json.loads(data.decode(errors="replace"), strict=False)
        except (ValueError, RecursionError):
            return replace_damaged(data), {"damaged"}
        value = self.skeleton.replace(value)
        kinds = list_kinds(value) or {_describe_keys(value)}
        return json.dumps(value, ensure_ascii=False), kinds


def _describe_keys(value: object) -> str:
    """Return a stand-in for the kind of an entry that has none: its keys or type."""
    if not isinstance(value, dict):
        return type(value).__name__
    return f"{{{', '.join(sorted(value)[:_MAX_NAMED_KEYS])}}}"


def _name_kind(record: Record) -> str:
    """Return the kind of an unknown record, if it looks like a name."""
    kind = find_kind(record.content, record.metadata)
    return kind if kind == UNNAMED_KIND else replace_unless_kind(kind)
