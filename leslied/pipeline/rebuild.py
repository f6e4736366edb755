"""A new store beside the old one: decoded again from the archive and the logs."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leslied import archive, tail
from leslied.archive import ArchiveError, ArchiveVersionError, FrameKind
from leslied.errors import StoreUnusable, UserError
from leslied.pipeline.archive_replay import ArchiveReplay, restore_source
from leslied.pipeline.batch import IngestReport
from leslied.pipeline.ingest import Ingest
from leslied.pipeline.progress import ignore_progress
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
    from leslied.pipeline.progress import ProgressCallback

_SIDE_SUFFIXES = ("-wal", "-shm")


@dataclass(slots=True)
class RebuildReport:
    """What a rebuild found, compared with the store before."""

    archived_sources: int = 0
    """Sources that came out of the archive."""
    metadata_source: str = ""
    """Where the given names came from: `store`, `manifest`, or nowhere."""
    same_sessions: int = 0
    changed_sessions: list[str] = field(default_factory=list)
    new_sessions: int = 0
    lost_sessions: list[str] = field(default_factory=list)
    lost_entries: int = 0
    ingest: IngestReport = field(default_factory=IngestReport)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuild:
    """Makes the store anew; the old one stays beside it."""

    path: Path
    archive_dir: Path
    """Where the archive stands."""
    agents: Sequence[tuple[AgentAdapter, tuple[Root, ...]]]
    clock: Clock
    excludes: Mapping[str, Callable[[str], bool] | None] = field(default_factory=dict)
    """What is excluded of each agent, as for `Ingest.is_excluded`."""
    key_id: str = ""
    limits: tail.ReadLimits = field(default_factory=tail.ReadLimits)
    on_progress: ProgressCallback = ignore_progress
    """Told the bytes of the archive, then those of logs that are not in it."""

    @property
    def _new_path(self) -> Path:
        return self.path.with_name(self.path.name + ".new")

    def run(self, *, accept_loss: bool = False) -> RebuildReport:
        """The store is new and holds all that archive, logs and old names tell.

        Entries that only the old store has are no longer there only if the caller
        `accepts_loss`; else nothing is changed.
        """
        report = RebuildReport()
        with ExitStack() as stack:
            old = self._open_old(report)
            if old:
                stack.enter_context(old)
            try:
                self._build(old, report)
                _check_loss(report, accept_loss=accept_loss)
            except BaseException:
                _remove_store(self._new_path)
                raise
        self._replace_store()
        return report

    def _open_old(self, report: RebuildReport) -> RebuildReader | None:
        """The old store, in the newest form; None where it cannot be read."""
        if not self.path.exists():
            return None
        try:
            Store(self.path, self.clock).close()
            return RebuildReader(self.path)
        except StoreUnusable as error:
            if "newer leslied" in error.message:
                raise
            report.warnings.append(error.message)
            return None

    def _build(self, old: RebuildReader | None, report: RebuildReport) -> None:
        _remove_store(self._new_path)
        manifest = archive.Manifest() if old else self._load_manifest(report)
        with Store(self._new_path, self.clock) as store:
            with store.metadata() as giving:
                pruned = old.list_tombstones() if old else manifest.pruned
                giving.tombstones.restore(pruned)
            with store.bulk_load():
                self._replay_archive(store, report)
                self._ingest_logs(store, report)
            created_us, given = self._find_metadata(old, manifest, report)
            self._restore_metadata(store, created_us, given)
            if old:
                with store.metadata() as giving:
                    giving.restore_observed_times(old.iter_observed_times())
                with RebuildReader(self._new_path) as new:
                    _compare_stores(old, new, report)

    def _replay_archive(self, store: Store, report: RebuildReport) -> None:
        """Everything archived is in the store, in the order it was first read."""
        adapters = {adapter.name: (adapter, roots) for adapter, roots in self.agents}
        looks: dict[str, ArchiveReplay] = {}
        found = self._list_archived_sources(report)
        done, total = 0, sum(path.stat().st_size for path, _ in found)
        for path, source in found:
            self.on_progress(done, total)
            done += path.stat().st_size
            if source.agent not in adapters:
                report.warnings.append(f"{path}: no agent is named {source.agent!r}")
                continue
            if source.agent not in looks:
                adapter, roots = adapters[source.agent]
                ingest = Ingest(
                    adapter=adapter, store=store, roots=roots, limits=self.limits
                )
                looks[source.agent] = ArchiveReplay(
                    ingest, self.archive_dir / ".replay"
                )
            with archive.ArchiveReader(path) as reader:
                kept = looks[source.agent].replay(source, reader)
                report.warnings += looks[source.agent].errors
                looks[source.agent].errors = []
                if kept:
                    self._record_archived(store, path, source, kept, reader.size)
            report.archived_sources += 1
        for look in looks.values():
            report.ingest += look.report

    def _list_archived_sources(
        self, report: RebuildReport
    ) -> list[tuple[Path, SourceRef]]:
        found: list[tuple[int, Path, SourceRef]] = []
        for path in archive.list_files(self.archive_dir):
            try:
                with archive.ArchiveReader(path) as reader:
                    frames = [f for f in reader.frames if f.kind != FrameKind.SPILL]
                    report.warnings += [
                        f"{path}: what stands at byte {at} is no frame"
                        for at in reader.damaged_offsets
                    ]
            except ArchiveVersionError:
                raise
            except ArchiveError as error:
                report.warnings.append(error.message)
                continue
            if frames:
                order = int(frames[0].metadata.get("order", 0))
                found.append((order, path, restore_source(frames[-1])))
        return [
            (path, source) for _, path, source in sorted(found, key=lambda f: f[:2])
        ]

    def _record_archived(
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
                    file=path.relative_to(self.archive_dir).as_posix(),
                    size=size,
                )
            )

    def _ingest_logs(self, store: Store, report: RebuildReport) -> None:
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
            report.ingest += ingest.scan()

    def _load_manifest(
        self, report: RebuildReport
    ) -> archive.Manifest[SessionMetadata]:
        """What stands beside the archive; nothing where that cannot be read."""
        try:
            return archive.load_manifest(self.archive_dir, SessionMetadata)
        except ArchiveError as error:
            report.warnings.append(str(error))
            return archive.Manifest()

    def _find_metadata(
        self,
        old: RebuildReader | None,
        manifest: archive.Manifest[SessionMetadata],
        report: RebuildReport,
    ) -> tuple[int, list[SessionMetadata]]:
        """The names from the old store, else from the manifest."""
        if old:
            report.metadata_source = "store"
            return old.load_metadata()
        if manifest.sessions:
            report.metadata_source = "manifest"
        if manifest.key_id not in ("", self.key_id):
            report.warnings.append(
                "The redaction key is another than before: marks of secrets change."
            )
        return manifest.created_us, manifest.sessions

    def _restore_metadata(
        self, store: Store, created_us: int, metadata: list[SessionMetadata]
    ) -> None:
        with store.metadata() as giving:
            giving.restore(metadata, created_us)
        with StoreReader(self._new_path) as reader:
            chats = reader.find_units_by_prefix("")
        units = {(row, chat_id): unit for row, unit, chat_id in chats}
        with store.metadata() as giving:
            for each in metadata:
                giving.restore_transcript_names(each, units)

    def _replace_store(self) -> None:
        """The new store has the name; the old one is kept beside it."""
        before = self.path.with_name(self.path.name + ".before-rebuild")
        lock = lock_store(self.path)
        try:
            if self.path.exists():
                _remove_store(before)
                os.link(self.path, before)
            for side in _SIDE_SUFFIXES:
                # The old store's log must never be taken for the new one's.
                stray = self.path.with_name(self.path.name + side)
                if stray.exists() and stray.stat().st_size:
                    stray.rename(before.with_name(before.name + side))
                stray.unlink(missing_ok=True)
            self._new_path.replace(self.path)
        finally:
            os.close(lock)


def _compare_stores(
    old: RebuildReader, new: RebuildReader, report: RebuildReport
) -> None:
    """Which sessions say the same, and what only the old store has."""
    before, after = old.hash_sessions(), new.hash_sessions()
    report.new_sessions = len(after.keys() - before.keys())
    for key, (number, digest) in before.items():
        found, other = after.get(key, (0, b""))
        if digest == other:
            report.same_sessions += 1
            continue
        lost = old.load_entry_ids(number) - (
            new.load_entry_ids(found) if found else set()
        )
        report.lost_entries += len(lost)
        if found:
            report.changed_sessions.append(key[1])
        else:
            report.lost_sessions.append(key[1])


def _check_loss(report: RebuildReport, *, accept_loss: bool) -> None:
    """Nothing is lost, or the caller said that it may be."""
    if not report.lost_entries or accept_loss:
        return
    sessions = len(report.lost_sessions) + len(report.changed_sessions)
    raise UserError(
        f"{report.lost_entries} entries of {sessions} sessions stand in the store and "
        "neither in the archive nor in the logs; nothing was changed.",
        "To give them up (the old store is kept): leslied rebuild --accept-loss",
    )


def _remove_store(path: Path) -> None:
    for side in ("", *_SIDE_SUFFIXES):
        path.with_name(path.name + side).unlink(missing_ok=True)
