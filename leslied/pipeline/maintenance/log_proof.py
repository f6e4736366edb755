"""Check that the store accounts for every complete line or row of each log.

Logs are decoded again from their beginning, as if nothing had been read. Nothing is
written, so the daemon may run meanwhile.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from leslied import tail
from leslied.errors import SourceError, describe_error
from leslied.model.log_proof import (
    VERDICTS,
    AgentProof,
    EntryVerdict,
    MissingEntry,
    ProofReport,
    SourceProof,
)
from leslied.model.source import WAITING, Cursor, Shape
from leslied.model.unknown_kind import UnknownKind
from leslied.pipeline.ingest.source_reader import SourceReader
from leslied.pipeline.progress import ignore_progress
from leslied.sessions.unknown_kinds import as_version, find_kind, find_version
from leslied.tail.append import has_same_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from leslied.agents import AgentAdapter
    from leslied.model.decoded_chunk import DecodedChunk
    from leslied.model.log_proof import Verdict
    from leslied.model.record import Record, SessionKey
    from leslied.model.source import Chunk, Root, SourceRef
    from leslied.pipeline.ingest.decode import Mask
    from leslied.pipeline.progress import ProgressCallback
    from leslied.store import StoreReader
    from leslied.store.read.source_audit import StoredSource

    Predicate = Callable[[str], bool]

LATE_AFTER_NS = 120 * 10**9
"""Age of a change that a running daemon has surely read."""
_MAX_EXAMPLES = 20
"""Missing entries of one log that are named."""
_STABLE_SHAPES = (Shape.APPEND_LOG, Shape.COMPRESSED_LOG, Shape.DOCUMENT)
"""Shapes in which an entry is at the same offset in each read."""
_PRECEDENCE: tuple[Verdict, ...] = ("missing", "record", "deleted", "noise", "rejected")
"""Verdicts on parts of an entry; the first that a part has is that on the whole."""
_NOT_READ = "not read yet"
_CHANGED = "the log was changed after it was read"


class _EntryPosition(NamedTuple):
    """Position of an entry in its source."""

    offset: int
    length: int
    end: int
    """The offset after it. Rows are numbered, so that their length does not matter."""


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class LogProof:
    """Comparison of all logs with the store."""

    reader: StoreReader
    agents: Sequence[tuple[AgentAdapter, Sequence[Root]]]
    excludes: Mapping[str, Predicate | None]
    """Predicate of excluded folders, by agent."""
    now_ns: int
    is_daemon_running: bool
    mask: Mask | None = None
    limits: tail.ReadLimits = field(default_factory=tail.ReadLimits)
    on_progress: ProgressCallback = ignore_progress
    """Called with the bytes of the logs that are done, and of all."""
    _kinds: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Number of unknown entries by agent, version and kind."""
    _bytes_done: int = 0
    _bytes_total: int = 0

    def run(self) -> ProofReport:
        """Compare the logs of all agents; report errors in a log instead of raising."""
        discoveries = [
            (adapter, tail.discover(adapter.name, roots))
            for adapter, roots in self.agents
        ]
        self._bytes_total = sum(
            source.stamp.size
            for _, discovery in discoveries
            for source in discovery.sources
        )
        agents = [
            AgentProof(
                name=adapter.name,
                sources=[
                    *(self._prove(adapter, source) for source in discovery.sources),
                    *_list_unreadable(discovery),
                ],
                deleted_logs=self.reader.audits.count_gone(adapter.name),
            )
            for adapter, discovery in discoveries
        ]
        return ProofReport(
            agents=[agent for agent in agents if agent.sources or agent.deleted_logs],
            unknown_kinds=[
                UnknownKind(agent=agent, version=version, kind=kind, entries=count)
                for (agent, version, kind), count in sorted(self._kinds.items())
            ],
        )

    def _prove(self, adapter: AgentAdapter, source: SourceRef) -> SourceProof:
        proof = _SourceComparison(self, adapter, source).run()
        self._bytes_done += source.stamp.size
        self.on_progress(self._bytes_done, self._bytes_total)
        return proof

    def count_unknown(self, agent: str, version: str, kind: str) -> None:
        """Count an entry of an unknown kind."""
        self._kinds[agent, version, kind] += 1

    def is_late(self, source: SourceRef) -> bool:
        """Return whether the last change of a source should have been read by now."""
        is_old = source.stamp.mtime_ns < self.now_ns - LATE_AFTER_NS
        return is_old or not self.is_daemon_running


@dataclass(slots=True, eq=False, repr=False)
class _SourceComparison:
    """Comparison of one log with the store."""

    proof: LogProof
    adapter: AgentAdapter
    source: SourceRef
    _stored: StoredSource | None = None
    _has_same_bytes: bool | None = None
    """Whether the bytes that were read are unchanged; None if unknown."""
    _counts: Counter[Verdict] = field(default_factory=Counter)
    _examples: list[MissingEntry] = field(default_factory=list)
    _versions: dict[SessionKey, str] = field(default_factory=dict)
    """The version that each session stated last."""

    def run(self) -> SourceProof:
        """Decode the log and return what became of its entries."""
        audits = self.proof.reader.audits
        # Load the cursor first: entries that are committed later may be missing.
        self._stored = audits.find_source(self.adapter.name, self._path)
        problem = self._stored.trouble if self._stored else ""
        try:
            self._has_same_bytes = self._compare_bytes()
            self._compare_entries()
        except SourceError as error:
            problem = error.message
        except Exception as error:  # noqa: BLE001 - a bug ends this log only
            problem = describe_error(error)
        return SourceProof(
            path=str(self.source.path),
            bytes=self.source.stamp.size,
            entries=sum(self._counts.values()),
            counts={name: self._counts[name] for name in VERDICTS},
            is_same=self._has_same_bytes,
            problem=problem,
            is_late=self.proof.is_late(self.source) and not problem.startswith(WAITING),
            examples=tuple(self._examples),
        )

    @property
    def _path(self) -> bytes:
        return os.fsencode(self.source.path)

    @property
    def _cursor(self) -> Cursor:
        return self._stored.cursor if self._stored else Cursor()

    def _compare_bytes(self) -> bool | None:
        """Return whether the bytes that were read are unchanged; None if unknown."""
        is_log = self.source.shape is Shape.APPEND_LOG
        if not is_log or not self._cursor.offset:
            return None
        return has_same_bytes(self.source, self._cursor, self.proof.limits)

    def _compare_entries(self) -> None:
        audit = self.proof.reader.audits.start_audit(
            self.adapter.name,
            self._path,
            has_stable_positions=self.source.shape in _STABLE_SHAPES,
            is_masked=self.proof.mask is not None,
        )
        for entries, decoded in self._decode():
            self._count_unknown(decoded)
            verdicts = audit.check(decoded)
            for verdict in _merge(entries, verdicts):
                self._add(verdict)

    def _decode(self) -> Iterator[tuple[list[_EntryPosition], DecodedChunk]]:
        """Yield the positions of entries, and what they are decoded to."""
        reader = self._make_reader()
        start = Cursor(generation=self._cursor.generation)
        state = reader.load_state(self.source, start)
        # An incomplete last line was read only if it was accepted as final.
        is_final = self._cursor.finished_size >= 0
        limits = self.proof.limits
        for chunk in tail.read(self.source, start, limits, is_final=is_final):
            positions = list(self._iter_positions(chunk))
            decoded, state = reader.decode(self.source, chunk, state)
            yield positions, decoded

    def _iter_positions(self, chunk: Chunk) -> Iterator[_EntryPosition]:
        """Yield the positions of all entries and rejections of a chunk."""
        # In some shapes, the offset of an entry counts entries instead of bytes.
        is_ordinal = self.source.shape not in _STABLE_SHAPES
        ranges = [(entry.offset, entry.length) for entry in chunk.entries]
        ranges += [(each.offset, each.length) for each in chunk.rejected]
        for offset, length in ranges:
            end = offset + (1 if is_ordinal else max(length, 1))
            yield _EntryPosition(offset, length, end)

    def _make_reader(self) -> SourceReader:
        agent = self.adapter.name
        is_shared = self.source.shape is Shape.SQLITE
        return SourceReader(
            adapter=self.adapter,
            limits=self.proof.limits,
            is_final=False,
            weight=0,
            # In other logs, excluded entries are stored as noise at their offsets.
            is_excluded=self.proof.excludes.get(agent) if is_shared else None,
            mask=self.proof.mask,
            load_saved_state=self._load_saved_state,
        )

    def _load_saved_state(self, path: bytes) -> str:
        stored = self.proof.reader.audits.find_source(self.adapter.name, path)
        return stored.cursor.state if stored else ""

    def _count_unknown(self, chunk: DecodedChunk) -> None:
        for entry in chunk.entries:
            for record in entry.records:
                if version := as_version(record.metadata.get("version")):
                    self._versions[record.session] = version
                if record.type == "unknown":
                    self._count_record(record)

    def _count_record(self, record: Record) -> None:
        version = find_version(record.content) or self._versions.get(record.session, "")
        kind = find_kind(record.content, record.metadata)
        self.proof.count_unknown(self.adapter.name, version, kind)

    def _add(self, verdict: EntryVerdict) -> None:
        """Count a verdict; if the entry is not stored, find out why."""
        if verdict.verdict == "missing":
            verdict = self._explain(verdict)
        self._counts[verdict.verdict] += 1
        is_absent = verdict.verdict in ("missing", "unread")
        if is_absent and len(self._examples) < _MAX_EXAMPLES:
            self._examples.append(
                MissingEntry(
                    offset=verdict.offset, length=verdict.length, reason=verdict.reason
                )
            )

    def _explain(self, verdict: EntryVerdict) -> EntryVerdict:
        """Replace the verdict `missing` if it is known why the entry is not stored."""
        stored = self._stored
        if stored is None:
            return verdict._replace(verdict="unread", reason=_NOT_READ)
        if self._has_same_bytes is False:
            return verdict._replace(verdict="unread", reason=_CHANGED)
        if self._is_after_cursor(verdict.offset):
            return verdict._replace(verdict="unread", reason=_NOT_READ)
        if stored.decoder_version < self.adapter.decoder_version:
            return verdict._replace(verdict="outdated")
        return verdict

    def _is_after_cursor(self, offset: int) -> bool:
        """Return whether an entry was written after the last read."""
        cursor, stamp = self._cursor, self.source.stamp
        if self.source.shape is not Shape.APPEND_LOG:
            return stamp != cursor.stamp
        # An incomplete last line that was accepted as final is after the cursor.
        return offset >= cursor.offset and stamp.size > cursor.finished_size


def _merge(
    entries: Iterable[_EntryPosition], verdicts: Iterable[EntryVerdict]
) -> Iterator[EntryVerdict]:
    """Yield one verdict for each entry, from those on its parts.

    A line may have records and noise, or be torn into several pieces.
    """
    parts = sorted(verdicts, key=lambda part: part.offset)
    last: EntryVerdict | None = None
    index = 0
    for entry in sorted(entries):
        own: list[EntryVerdict] = []
        while index < len(parts) and parts[index].offset < entry.end:
            last = parts[index]
            own.append(last)
            index += 1
        # One rejection may stand for several entries.
        if not own and last and last.offset + last.length > entry.offset:
            own.append(last)
        yield _choose(entry, own)


def _choose(entry: _EntryPosition, parts: Iterable[EntryVerdict]) -> EntryVerdict:
    """Return the verdict on an entry, which is `empty` if it has no parts."""
    first = min(parts, key=lambda part: _PRECEDENCE.index(part.verdict), default=None)
    if first is None:
        return EntryVerdict(entry.offset, entry.length, "empty")
    return EntryVerdict(entry.offset, entry.length, first.verdict, first.reason)


def _list_unreadable(discovery: tail.Discovery) -> Iterator[SourceProof]:
    """Yield a failed proof for each file or folder that cannot be read."""
    for path, reason in discovery.unreadable.items():
        yield SourceProof(
            path=str(path),
            bytes=0,
            entries=0,
            counts={},
            is_same=None,
            problem=reason,
            # A problem is a failure only if the source should have been read by now.
            is_late=True,
        )
