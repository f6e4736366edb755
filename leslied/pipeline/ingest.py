"""The first street: discover, read, decode, commit."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import msgspec
from msgspec import structs

from leslied import tail
from leslied.errors import DecodeError, SourceError
from leslied.model.reading import ReadEntry, Reading
from leslied.model.source import Cursor, Noise, RawEntry, Rejected, Shape
from leslied.store import Committed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from leslied.agents import AgentAdapter
    from leslied.model.record import Decoded, Record
    from leslied.model.source import Chunk, Root, SourceRef
    from leslied.store import Store

BATCH_WEIGHT = 12_000
"""Rows and kilobytes that go into one transaction, across sources."""


@dataclass(slots=True)
class Ingested:
    """The work an ingest did: tests count it, `sync` tells it."""

    sources: int = 0
    looked: int = 0
    entries: int = 0
    bytes_read: int = 0
    commits: int = 0
    noise: int = 0
    rejected: int = 0
    added: Committed = field(default_factory=Committed)
    troubles: dict[Path, str] = field(default_factory=dict)
    missing: list[Path] = field(default_factory=list)

    def __iadd__(self, other: Ingested) -> Self:
        """Both together."""
        for name in ("sources", "looked", "entries", "bytes_read", "commits"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.noise += other.noise
        self.rejected += other.rejected
        self.added += other.added
        self.troubles |= other.troubles
        self.missing += other.missing
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingest:
    """The first street of one agent: its sources, on their way into the store."""

    adapter: AgentAdapter
    store: Store
    roots: tuple[Root, ...]
    limits: tail.ReadLimits = field(default_factory=tail.ReadLimits)
    is_final: bool = False
    """Whether a last line without its end counts as ended."""
    is_excluded: Callable[[str], bool] = lambda _: False
    """Whether sessions in this folder keep cursor and count, and no content."""
    on_progress: Callable[[], None] = lambda: None
    """Called after every commit."""

    def scan(self) -> Ingested:
        """Everything new below the roots is in the store, each entry exactly once."""
        with self.store.fit_for_load():
            return self._scan(_Look(self))

    def look(self, paths: Iterable[Path]) -> Ingested:
        """Everything new in these files is in the store; what is no source is not."""
        look = _Look(self)
        known = (tail.identify(self.adapter.name, self.roots, path) for path in paths)
        self._look_at(look, filter(None, known))
        return look.done

    def _scan(self, look: _Look) -> Ingested:
        has_known = not self.store.is_empty()
        known = self.store.stamps(self.adapter.name, is_final=self.is_final)
        found = tail.discover(self.adapter.name, self.roots, known)
        look.done.sources = len(found.seen)
        look.done.troubles |= found.unreadable
        look.done.missing += found.missing
        lost = known.keys() - found.seen
        self._look_at(look, found.sources, has_known=has_known)
        self._note_gone(lost, found)
        return look.done

    def _look_at(
        self, look: _Look, sources: Iterable[SourceRef], *, has_known: bool = True
    ) -> None:
        """Each source goes on from its cursor, or from that of the file it was."""
        for source in sorted(sources, key=_side_files_last):
            look.at(source, self._find_cursor(source) if has_known else Cursor())
        look.batch.commit()

    def _find_cursor(self, source: SourceRef) -> Cursor:
        path = os.fsencode(source.path)
        cursor = self.store.cursor(self.adapter.name, path)
        if cursor is None:
            self._adopt(source, self.store.find_file(self.adapter.name, source.stamp))
            cursor = self.store.cursor(self.adapter.name, path)
        return cursor or Cursor()

    def _adopt(self, source: SourceRef, old: bytes) -> None:
        """A file that was read under another path goes on from there."""
        is_same_name = os.path.basename(old) == os.fsencode(source.path.name)  # noqa: PTH119
        if is_same_name and not os.path.lexists(old):
            self.store.move_source(self.adapter.name, old, os.fsencode(source.path))

    def _note_gone(self, paths: Iterable[bytes], found: tail.Discovery) -> None:
        """Sources that are certainly deleted: a folder we cannot see only hides."""
        hidden = tuple(os.fsencode(path) for path in found.unreadable)
        missing = tuple(os.fsencode(path) for path in found.missing)
        gone = [p for p in paths if not p.startswith(hidden + missing)]
        if gone:
            self.store.note_gone(self.adapter.name, gone)


class _Look:
    """One look at some sources: what it read waits in a batch, what it did is told."""

    def __init__(self, ingest: Ingest) -> None:
        self._ingest = ingest
        self._states: dict[bytes, str] = {}
        self.done = Ingested()
        self.batch = _Batch(ingest.store, self.done, ingest.on_progress)

    def at(self, source: SourceRef, cursor: Cursor) -> None:
        """What is new in one source is read; trouble with it stays with it."""
        is_final = self._ingest.is_final
        if tail.is_unchanged(source, cursor, is_final=is_final):
            return
        self.done.looked += 1
        state, generation = self._recall(source, cursor), cursor.generation
        try:
            for chunk in tail.read(
                source, cursor, self._ingest.limits, is_final=is_final
            ):
                if chunk.cursor.generation != generation:
                    generation = chunk.cursor.generation
                    state = {"cwd": state.get("cwd", "")}
                state = self._decode(source, chunk, state)
        except SourceError as error:
            self.batch.commit()
            self.done.troubles[source.path] = error.message
            self._ingest.store.note_trouble(source, error.message)

    def _decode(
        self, source: SourceRef, chunk: Chunk, state: dict[str, Any]
    ) -> dict[str, Any]:
        """The chunk's records wait for their commit. Says what to remember."""
        ingest = self._ingest
        decoder = _Decoder(ingest.adapter, ingest.limits, state)
        for entry in chunk.entries:
            decoder.add(entry)
        decoder.rejected += chunk.rejected
        if ingest.is_excluded("") or any(map(ingest.is_excluded, decoder.folders)):
            decoder.forget_content()
        self.done.entries += len(chunk.entries)
        self.done.bytes_read += chunk.bytes_read
        self.done.noise += len(decoder.noise)
        self.done.rejected += len(decoder.rejected)
        remembered = msgspec.json.encode(decoder.state).decode()
        self._states[os.fsencode(source.path)] = remembered
        self.batch.add(
            Reading(
                source=source,
                cursor=replace(chunk.cursor, state=remembered),
                decoder_version=ingest.adapter.decoder_version,
                entries=tuple(decoder.entries),
                noise=tuple(decoder.noise),
                rejected=tuple(decoder.rejected),
            )
        )
        return decoder.state

    def _recall(self, source: SourceRef, cursor: Cursor) -> dict[str, Any]:
        """What earlier entries left to remember; a side file asks the log beside it."""
        if source.shape is not Shape.DOCUMENT:
            return _load_state(cursor.state)
        name = source.path.name.partition(".")[0] + ".jsonl"
        log = os.fsencode(source.path.with_name(name))
        text = self._states.get(log)
        if text is None:
            beside = self._ingest.store.cursor(self._ingest.adapter.name, log)
            text = beside.state if beside else ""
        return {"cwd": _load_state(text).get("cwd", "")}


class _Decoder:
    """Entries of one chunk as records, noise or rejects: nothing is dropped."""

    def __init__(
        self, adapter: AgentAdapter, limits: tail.ReadLimits, state: dict[str, Any]
    ) -> None:
        self._adapter = adapter
        self._limits = limits
        self.state = state
        self.entries: list[ReadEntry] = []
        self.noise: list[Noise] = []
        self.rejected: list[Rejected] = []
        self.folders: set[str] = {state["cwd"]} if state.get("cwd") else set()

    def add(self, entry: RawEntry) -> None:
        """The entry is decoded; a damaged one is salvaged, piece by piece."""
        reason = self._try(entry)
        if reason is None:
            return
        if not entry.is_complete:
            self._reject(entry.offset, entry.data, f"incomplete last line: {reason}")
            return
        salvaged = tail.salvage(entry.data)
        lost = []
        for at, data in salvaged.pieces:
            piece = RawEntry(entry.source, entry.offset + at, data, is_fragment=True)
            if self._try(piece):
                lost.append((at, len(data)))
        if len(lost) == len(salvaged.pieces):
            self._reject(entry.offset, entry.data, reason)
            return
        for at, length in sorted([*lost, *salvaged.gaps]):
            torn = entry.data[at : at + length]
            self._reject(entry.offset + at, torn, f"torn: {reason}")

    def forget_content(self) -> None:
        """Only position and length stay: the person keeps this project out."""
        self.noise += [Noise(e.offset, e.length, "excluded") for e in self.entries]
        self.entries = []
        self.rejected = [structs.replace(r, head=b"") for r in self.rejected]
        self.state = {"cwd": self.state.get("cwd", "")}

    def _try(self, entry: RawEntry) -> str | None:
        """The entry's records are kept, or the reason they cannot be is told."""
        try:
            decoded = self._adapter.decode(entry, self.state)
        except DecodeError as error:
            return error.message
        except Exception as error:  # noqa: BLE001 - costs one entry, not the source
            return f"the adapter failed: {type(error).__name__}: {error}"
        self.state = decoded.state
        if decoded.cwd:
            self.folders.add(decoded.cwd)
        if decoded.noise:
            self.noise.append(Noise(entry.offset, entry.length, decoded.noise))
        if decoded.records:
            self._keep(entry, decoded)
        return None

    def _keep(self, entry: RawEntry, decoded: Decoded) -> None:
        records, digest = decoded.records, b""
        for record in records:
            if "spill" in record.metadata:
                records = tuple(self._with_spill(r, entry) for r in records)
            if not record.native_id:
                digest = hashlib.sha256(entry.data).digest()
        self.entries.append(
            ReadEntry(entry.offset, entry.length, records, digest, entry.is_complete)
        )

    def _with_spill(self, record: Record, entry: RawEntry) -> Record:
        if "spill" not in record.metadata:
            return record
        path = self._adapter.spill(record, entry.source)
        text = tail.read_spill(path, self._limits) if path else ""
        return structs.replace(record, spilled=text) if text else record

    def _reject(self, offset: int, data: bytes, reason: str) -> None:
        digest = hashlib.sha256(data).digest()[:16]
        head = data[: self._limits.head]
        self.rejected.append(Rejected(offset, len(data), reason, digest, head))


class _Batch:
    """Readings that will be committed together, across sources."""

    def __init__(
        self, store: Store, done: Ingested, on_progress: Callable[[], None]
    ) -> None:
        self._on_progress = on_progress
        self._store = store
        self._done = done
        self._readings: list[Reading] = []
        self._weight = 0

    def add(self, reading: Reading) -> None:
        """The reading waits for its commit, which comes when enough has gathered."""
        self._readings.append(reading)
        self._weight += reading.weight
        if self._weight >= BATCH_WEIGHT:
            self.commit()

    def commit(self) -> None:
        """Nothing waits any more."""
        if not self._readings:
            return
        self._done.added += self._store.commit(self._readings)
        self._done.commits += 1
        self._on_progress()
        self._readings, self._weight = [], 0


def _side_files_last(source: SourceRef) -> bool:
    return source.shape is Shape.DOCUMENT


def _load_state(text: str) -> dict[str, Any]:
    state = msgspec.json.decode(text) if text else {}
    return state if isinstance(state, dict) else {}
