"""A new store beside the old one: decoded again from the archive and the logs."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leslied import archive, tail
from leslied.archive import ArchiveError, ArchiveVersionError, FrameKind
from leslied.errors import StoreUnusable, UserError
from leslied.pipeline.batch import Ingested
from leslied.pipeline.ingest import Ingest
from leslied.pipeline.progress import tell_nobody
from leslied.pipeline.replay import Replay, restore_source
from leslied.store import Store, StoreReader
from leslied.store.archive_ledger import ArchiveCursor
from leslied.store.connection import lock_store
from leslied.store.session_metadata import RebuildReader, SessionMetadata

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from leslied.agents import AgentAdapter
    from leslied.clock import Clock
    from leslied.model.source import Cursor, Root, SourceRef
    from leslied.pipeline.progress import Progress

_SIDES = ("-wal", "-shm")


@dataclass(slots=True)
class Rebuilt:
    """What a rebuild found, compared with the store before."""

    archived: int = 0
    """Sources that came out of the archive."""
    names_from: str = ""
    """Where the given names came from: `store`, `manifest`, or nowhere."""
    same: int = 0
    changed: list[str] = field(default_factory=list)
    new: int = 0
    lost_sessions: list[str] = field(default_factory=list)
    lost_entries: int = 0
    done: Ingested = field(default_factory=Ingested)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuild:
    """Makes the store anew; the old one stays beside it."""

    path: Path
    folder: Path
    """Where the archive stands."""
    agents: Sequence[tuple[AgentAdapter, tuple[Root, ...]]]
    clock: Clock
    excludes: Mapping[str, Callable[[str], bool] | None] = field(default_factory=dict)
    """What is excluded of each agent, as for `Ingest.is_excluded`."""
    key_id: str = ""
    limits: tail.ReadLimits = field(default_factory=tail.ReadLimits)
    on_progress: Progress = tell_nobody
    """Told the bytes of the archive, then those of logs that are not in it."""

    @property
    def _new(self) -> Path:
        return self.path.with_name(self.path.name + ".new")

    def run(self, *, accepts_loss: bool = False) -> Rebuilt:
        """The store is new and holds all that archive, logs and old names tell.

        Entries that only the old store has are no longer there only if the caller
        `accepts_loss`; else nothing is changed.
        """
        told = Rebuilt()
        with ExitStack() as stack:
            old = self._open_old(told)
            if old:
                stack.enter_context(old)
            try:
                self._make(old, told)
                _weigh(told, accepts_loss=accepts_loss)
            except BaseException:
                _remove(self._new)
                raise
        self._swap()
        return told

    def _open_old(self, told: Rebuilt) -> RebuildReader | None:
        """The old store, in the newest form; None where it cannot be read."""
        if not self.path.exists():
            return None
        try:
            Store(self.path, self.clock).close()
            return RebuildReader(self.path)
        except StoreUnusable as error:
            if "newer leslied" in error.message:
                raise
            told.warnings.append(error.message)
            return None

    def _make(self, old: RebuildReader | None, told: Rebuilt) -> None:
        _remove(self._new)
        manifest = archive.Manifest() if old else self._load_manifest(told)
        with Store(self._new, self.clock) as store:
            with store.metadata() as giving:
                pruned = old.list_tombstones() if old else manifest.pruned
                giving.tombstones.restore(pruned)
            with store.bulk_load():
                self._replay(store, told)
                self._read_live(store, told)
            created_us, given = self._find_given(old, manifest, told)
            self._give(store, created_us, given)
            if old:
                with store.metadata() as giving:
                    giving.restore_observed_times(old.iter_observed_times())
                with RebuildReader(self._new) as new:
                    _compare(old, new, told)

    def _replay(self, store: Store, told: Rebuilt) -> None:
        """Everything archived is in the store, in the order it was first read."""
        adapters = {adapter.name: (adapter, roots) for adapter, roots in self.agents}
        looks: dict[str, Replay] = {}
        found = self._find_archived(told)
        done, total = 0, sum(path.stat().st_size for path, _ in found)
        for path, source in found:
            self.on_progress(done, total)
            done += path.stat().st_size
            if source.agent not in adapters:
                told.warnings.append(f"{path}: no agent is named {source.agent!r}")
                continue
            if source.agent not in looks:
                adapter, roots = adapters[source.agent]
                ingest = Ingest(
                    adapter=adapter, store=store, roots=roots, limits=self.limits
                )
                looks[source.agent] = Replay(ingest, self.folder / ".replay")
            with archive.ArchiveReader(path) as reader:
                kept = looks[source.agent].replay(source, reader)
                told.warnings += looks[source.agent].troubles
                looks[source.agent].troubles = []
                if kept:
                    self._note(store, path, source, kept, reader.size)
            told.archived += 1
        for look in looks.values():
            told.done += look.done

    def _find_archived(self, told: Rebuilt) -> list[tuple[Path, SourceRef]]:
        found: list[tuple[int, Path, SourceRef]] = []
        for path in archive.list_files(self.folder):
            try:
                with archive.ArchiveReader(path) as reader:
                    frames = [f for f in reader.frames if f.kind != FrameKind.SPILL]
                    told.warnings += [
                        f"{path}: what stands at byte {at} is no frame"
                        for at in reader.damaged_offsets
                    ]
            except ArchiveVersionError:
                raise
            except ArchiveError as error:
                told.warnings.append(error.message)
                continue
            if frames:
                order = int(frames[0].metadata.get("order", 0))
                found.append((order, path, restore_source(frames[-1])))
        return [
            (path, source) for _, path, source in sorted(found, key=lambda f: f[:2])
        ]

    def _note(
        self, store: Store, path: Path, source: SourceRef, cursor: Cursor, size: int
    ) -> None:
        """What came out of the archive need not go there again."""
        with store.archive() as archived:
            archived.save(
                ArchiveCursor(
                    source=archived.find_source_id(
                        source.agent, os.fsencode(source.path)
                    ),
                    generation=cursor.generation,
                    offset=cursor.offset,
                    finished=cursor.finished,
                    number=cursor.generation,
                    newest=archived.get_newest_placement(),
                    file=path.relative_to(self.folder).as_posix(),
                    size=size,
                )
            )

    def _read_live(self, store: Store, told: Rebuilt) -> None:
        """Logs that are still there go on from where the archive ends."""
        for adapter, roots in self.agents:
            ingest = Ingest(
                adapter=adapter,
                store=store,
                roots=roots,
                limits=self.limits,
                is_excluded=self.excludes.get(adapter.name),
                on_progress=self.on_progress,
            )
            told.done += ingest.scan()

    def _load_manifest(self, told: Rebuilt) -> archive.Manifest[SessionMetadata]:
        """What stands beside the archive; nothing where that cannot be read."""
        try:
            return archive.load_manifest(self.folder, SessionMetadata)
        except ArchiveError as error:
            told.warnings.append(str(error))
            return archive.Manifest()

    def _find_given(
        self,
        old: RebuildReader | None,
        manifest: archive.Manifest[SessionMetadata],
        told: Rebuilt,
    ) -> tuple[int, list[SessionMetadata]]:
        """The names from the old store, else from the manifest."""
        if old:
            told.names_from = "store"
            return old.load_metadata()
        if manifest.sessions:
            told.names_from = "manifest"
        if manifest.key_id not in ("", self.key_id):
            told.warnings.append(
                "The redaction key is another than before: marks of secrets change."
            )
        return manifest.created_us, manifest.sessions

    def _give(
        self, store: Store, created_us: int, given: list[SessionMetadata]
    ) -> None:
        with store.metadata() as giving:
            giving.restore(given, created_us)
        with StoreReader(self._new) as reader:
            chats = reader.find_units_by_prefix("")
        units = {(row, chat_id): unit for row, unit, chat_id in chats}
        with store.metadata() as giving:
            for each in given:
                giving.restore_transcript_names(each, units)

    def _swap(self) -> None:
        """The new store has the name; the old one is kept beside it."""
        before = self.path.with_name(self.path.name + ".before-rebuild")
        lock = lock_store(self.path)
        try:
            if self.path.exists():
                _remove(before)
                os.link(self.path, before)
            for side in _SIDES:
                # The old store's log must never be taken for the new one's.
                stray = self.path.with_name(self.path.name + side)
                if stray.exists() and stray.stat().st_size:
                    stray.rename(before.with_name(before.name + side))
                stray.unlink(missing_ok=True)
            self._new.replace(self.path)
        finally:
            os.close(lock)


def _compare(old: RebuildReader, new: RebuildReader, told: Rebuilt) -> None:
    """Which sessions say the same, and what only the old store has."""
    before, after = old.hash_sessions(), new.hash_sessions()
    told.new = len(after.keys() - before.keys())
    for key, (number, digest) in before.items():
        found, other = after.get(key, (0, b""))
        if digest == other:
            told.same += 1
            continue
        lost = old.load_entry_ids(number) - (
            new.load_entry_ids(found) if found else set()
        )
        told.lost_entries += len(lost)
        if found:
            told.changed.append(key[1])
        else:
            told.lost_sessions.append(key[1])


def _weigh(told: Rebuilt, *, accepts_loss: bool) -> None:
    """Nothing is lost, or the caller said that it may be."""
    if not told.lost_entries or accepts_loss:
        return
    sessions = len(told.lost_sessions) + len(told.changed)
    raise UserError(
        f"{told.lost_entries} entries of {sessions} sessions stand in the store and "
        "neither in the archive nor in the logs; nothing was changed.",
        "To give them up (the old store is kept): leslied rebuild --accept-loss",
    )


def _remove(path: Path) -> None:
    for side in ("", *_SIDES):
        path.with_name(path.name + side).unlink(missing_ok=True)
