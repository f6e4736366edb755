"""Rebuild the store: decode everything again from the archive and the logs.

The new store is built beside the old one. It replaces the old one only if no entry is
lost, or if the user accepts the loss.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from leslied import archive, tail
from leslied.archive import ArchiveError
from leslied.errors import NewerStore, StoreUnusable, UserError
from leslied.pipeline.ingest.batch import IngestReport
from leslied.pipeline.ingest.stage import Ingest
from leslied.pipeline.maintenance.archive_repair import ArchiveFolderRepair
from leslied.pipeline.maintenance.archive_replay import (
    ArchiveReplay,
    list_archived_sources,
)
from leslied.pipeline.progress import ignore_progress
from leslied.store import Store, StoreReader
from leslied.store.connection import lock_store
from leslied.store.ledgers.archive import ArchiveCursor
from leslied.store.ledgers.metadata import RebuildReader, SessionMetadata

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from leslied.agents import AgentAdapter
    from leslied.clock import Clock
    from leslied.errors import SchemaMismatch, StoreLost
    from leslied.model.record import SessionKey
    from leslied.model.source import Cursor, Root, SourceRef
    from leslied.pipeline.ingest.decode import Mask
    from leslied.pipeline.progress import ProgressCallback
    from leslied.store.forgotten import Forgotten

    DigestGroups = dict[tuple[str, str], dict[SessionKey, bytes]]

_SQLITE_SUFFIXES = ("-wal", "-shm")
"""Suffixes of the files that SQLite creates beside a store."""


@dataclass(slots=True)
class RebuildReport:
    """Result of a rebuild, compared with the old store."""

    archived_sources: int = 0
    """Sources read from the archive."""
    metadata_source: str = ""
    """Where session metadata came from: `store`, `manifest` or "" for neither."""
    same_sessions: int = 0
    changed_sessions: list[str] = field(default_factory=list)
    """Ids of sessions whose entries differ from those in the old store."""
    new_sessions: int = 0
    lost_sessions: list[str] = field(default_factory=list)
    """Ids of sessions that only the old store has."""
    lost_entries: int = 0
    archive_damage: list[str] = field(default_factory=list)
    """Damage in the archive that cannot be repaired."""
    ingest: IngestReport = field(default_factory=IngestReport)
    warnings: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, without the warnings."""
        return {
            "sources_archived": self.archived_sources,
            "names_from": self.metadata_source,
            "entries_decoded": self.ingest.entries,
            "records": self.ingest.added.records,
            "sessions_same": self.same_sessions,
            "sessions_changed": self.changed_sessions,
            "sessions_new": self.new_sessions,
            "sessions_lost": self.lost_sessions,
            "entries_lost": self.lost_entries,
            "archive_damage": self.archive_damage,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuild:
    """Builds a new store and keeps the old one beside it."""

    path: Path
    archive_dir: Path
    agents: Sequence[tuple[AgentAdapter, tuple[Root, ...]]]
    clock: Clock
    excludes: Mapping[str, Callable[[str], bool] | None] = field(default_factory=dict)
    """The predicate of `Ingest.is_excluded` by agent."""
    key_id: str = ""
    """Id of the redaction key, to compare with that in the manifest."""
    mask: Mask | None = None
    """As in `Ingest`."""
    backup_suffix: str = ".before-rebuild"
    """Appended to the store's name for the old store; an older backup is replaced."""
    limits: tail.ReadLimits = field(default_factory=tail.ReadLimits)
    on_progress: ProgressCallback = ignore_progress
    """Called with the bytes read from the archive, then with those read from logs."""

    @property
    def _new_path(self) -> Path:
        return self.path.with_name(self.path.name + ".new")

    def run(self, *, accept_loss: bool = False) -> RebuildReport:
        """Replace the store with one built from the archive, the logs and old metadata.

        Raise UserError and change nothing if entries exist only in the old store,
        unless `accept_loss` is true.
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

    def replace_unusable(
        self, mismatch: SchemaMismatch, warn: Callable[[str], None]
    ) -> None:
        """Replace a store that cannot be migrated; keep it as `store.db.form<VERSION>`.

        `warn` is called with a sentence before the work, and with warnings after it.
        """
        suffix = f".form{mismatch.version}"
        warn(
            f"{mismatch.message} leslied rebuilds it from the archive and the logs. The"
            " old store, with entries that are in neither, is kept as "
            f"{self.path.name}{suffix}."
        )
        for warning in replace(self, backup_suffix=suffix).run().warnings:
            if warning != mismatch.message:
                warn(warning)

    def replace_lost(self, error: StoreLost, warn: Callable[[str], None]) -> None:
        """Replace a store that is gone or empty; call `warn` before and after it."""
        warn(f"{error.message} leslied rebuilds it from the archive and the logs.")
        for warning in self.run().warnings:
            warn(warning)

    def _open_old(self, report: RebuildReport) -> RebuildReader | None:
        """Migrate and open the old store; warn and return None if it is unusable.

        Raise NewerStore if a newer leslied wrote it.
        """
        if not self.path.exists() or not self.path.stat().st_size:
            return None
        try:
            Store(self.path, self.clock).close()
            return RebuildReader(self.path)
        except NewerStore:
            raise
        except StoreUnusable as error:
            report.warnings.append(error.message)
            return None

    def _build(self, old: RebuildReader | None, report: RebuildReport) -> None:
        """Build the new store beside the old one, and compare the two."""
        _remove_store(self._new_path)
        manifest = archive.Manifest() if old else self._load_manifest(report)
        with Store(self._new_path, self.clock) as store:
            with store.metadata() as ledger:
                pruned = old.list_tombstones() if old else manifest.pruned
                ledger.tombstones.restore(pruned)
            self._repair_archive(store, old, report)
            with store.bulk_load():
                self._replay_archive(store, report)
                self._ingest_logs(store, report)
            created_us, metadata = self._load_metadata(old, manifest, report)
            self._restore_metadata(store, created_us, metadata)
            if old:
                with store.projects() as projects:
                    projects.save_folders(
                        activity.folder for activity in old.projects.list_folders()
                    )
                    projects.save_repositories(old.projects.list_repositories())
                with store.metadata() as ledger:
                    ledger.restore_observed_times(old.iter_observed_times())
                with RebuildReader(self._new_path) as new:
                    _compare_stores(old, new, report, store.forgotten)

    def _repair_archive(
        self, store: Store, old: RebuildReader | None, report: RebuildReport
    ) -> None:
        """Repair damaged archive files from the logs, as far as these exist."""
        repair = ArchiveFolderRepair(
            folder=self.archive_dir,
            roots={adapter.name: roots for adapter, roots in self.agents},
            forgotten=store.forgotten,
            list_spills=old.list_spills if old else lambda *_: [],
            mask=self.mask,
            limits=self.limits,
        )
        repair.run()
        report.warnings += repair.messages
        report.archive_damage += repair.damage_without_log

    def _replay_archive(self, store: Store, report: RebuildReport) -> None:
        """Commit everything in the archive, in the order it was first read."""
        adapters = {adapter.name: (adapter, roots) for adapter, roots in self.agents}
        replays: dict[str, ArchiveReplay] = {}
        archived = list_archived_sources(self.archive_dir)
        bytes_done = 0
        bytes_total = sum(path.stat().st_size for path, _ in archived)
        for path, source in archived:
            self.on_progress(bytes_done, bytes_total)
            bytes_done += path.stat().st_size
            if source.agent not in adapters:
                report.warnings.append(f"{path}: no agent is named {source.agent!r}")
                continue
            if source.agent not in replays:
                adapter, roots = adapters[source.agent]
                ingest = Ingest(
                    adapter=adapter,
                    store=store,
                    roots=roots,
                    limits=self.limits,
                    mask=self.mask,
                )
                replays[source.agent] = ArchiveReplay(
                    ingest, self.archive_dir / ".replay"
                )
            replay = replays[source.agent]
            with archive.ArchiveReader(path) as reader:
                cursor = replay.replay(source, reader)
                report.warnings += replay.errors
                replay.errors = []
                if cursor:
                    self._record_archived(store, path, source, cursor, reader.size)
            report.archived_sources += 1
        for replay in replays.values():
            report.ingest += replay.report

    def _record_archived(
        self, store: Store, path: Path, source: SourceRef, cursor: Cursor, size: int
    ) -> None:
        """Record that a source is archived, so that it is not archived again."""
        with store.archive() as ledger:
            ledger.save(
                ArchiveCursor(
                    source=ledger.find_source_id(
                        source.agent, os.fsencode(source.path)
                    ),
                    generation=cursor.generation,
                    offset=cursor.offset,
                    finished=cursor.finished_size,
                    number=cursor.generation,
                    newest=ledger.get_newest_placement(),
                    file=path.relative_to(self.archive_dir).as_posix(),
                    size=size,
                )
            )

    def _ingest_logs(self, store: Store, report: RebuildReport) -> None:
        """Ingest those entries of existing logs that are not in the archive."""
        for adapter, roots in self.agents:
            ingest = Ingest(
                adapter=adapter,
                store=store,
                roots=roots,
                limits=self.limits,
                is_excluded=self.excludes.get(adapter.name),
                mask=self.mask,
                on_progress=self.on_progress,
            )
            report.ingest += ingest.scan()

    def _load_manifest(
        self, report: RebuildReport
    ) -> archive.Manifest[SessionMetadata]:
        """Return the archive's manifest; an empty one if it cannot be read."""
        try:
            return archive.load_manifest(self.archive_dir, SessionMetadata)
        except ArchiveError as error:
            report.warnings.append(str(error))
            return archive.Manifest()

    def _load_metadata(
        self,
        old: RebuildReader | None,
        manifest: archive.Manifest[SessionMetadata],
        report: RebuildReport,
    ) -> tuple[int, list[SessionMetadata]]:
        """Return the store's creation time and the metadata of its sessions.

        They come from the old store if it can be read, else from the manifest.
        """
        if old:
            report.metadata_source = "store"
            return old.load_metadata()
        if manifest.sessions:
            report.metadata_source = "manifest"
        if manifest.key_id not in ("", self.key_id):
            report.warnings.append(
                "The redaction key has changed, so the marks of secrets change, too."
            )
        return manifest.created_us, manifest.sessions

    def _restore_metadata(
        self, store: Store, created_us: int, metadata: list[SessionMetadata]
    ) -> None:
        """Save what logs do not contain: metadata, then the names of transcripts."""
        with store.metadata() as ledger:
            ledger.restore(metadata, created_us)
        with StoreReader(self._new_path) as reader:
            units = reader.find_units_by_prefix("")
        unit_numbers = {(key, chat_id): unit for key, unit, chat_id in units}
        with store.metadata() as ledger:
            for session in metadata:
                ledger.restore_transcript_names(session, unit_numbers)

    def _replace_store(self) -> None:
        """Move the new store to the store's path; keep the old one as a backup."""
        backup = self.path.with_name(self.path.name + self.backup_suffix)
        lock = lock_store(self.path, self.clock)
        try:
            if self.path.exists():
                _remove_store(backup)
                os.link(self.path, backup)
            for suffix in _SQLITE_SUFFIXES:
                # SQLite must not apply the old store's WAL to the new one.
                old_file = self.path.with_name(self.path.name + suffix)
                if old_file.exists() and old_file.stat().st_size:
                    old_file.rename(backup.with_name(backup.name + suffix))
                old_file.unlink(missing_ok=True)
            self._new_path.replace(self.path)
        finally:
            os.close(lock)


def _compare_stores(
    old: RebuildReader, new: RebuildReader, report: RebuildReport, forgotten: Forgotten
) -> None:
    """Count the same, changed, new and lost sessions and entries in the report.

    A session with a subagent that changed has changed, too. If entries of a session
    were forgotten, events that only describe it do not count as lost, because other
    lines may yield these events now.
    """
    before, after = _group_digests(old), _group_digests(new)
    report.new_sessions = len(after.keys() - before.keys())
    for session, old_digests in before.items():
        new_digests = after.get(session, {})
        if old_digests == new_digests:
            report.same_sessions += 1
            continue
        with_context = not forgotten.has_part_of(*session)
        report.lost_entries += sum(
            len(
                old.load_entry_ids(key, with_context=with_context)
                - new.load_entry_ids(key)
            )
            for key, digest in old_digests.items()
            if digest != new_digests.get(key)
        )
        _, session_id = session
        if new_digests:
            report.changed_sessions.append(session_id)
        else:
            report.lost_sessions.append(session_id)


def _group_digests(reader: RebuildReader) -> DigestGroups:
    """Return the digests of each session and its subagents, by agent and session id."""
    groups: DigestGroups = {}
    for key, digest in reader.hash_sessions().items():
        groups.setdefault((key.agent, key.session_id), {})[key] = digest
    return groups


def _check_loss(report: RebuildReport, *, accept_loss: bool) -> None:
    """Raise UserError if entries would be lost and the caller does not accept it."""
    if not report.lost_entries or accept_loss:
        return
    sessions = len(report.lost_sessions) + len(report.changed_sessions)
    raise UserError(
        f"{report.lost_entries} entries of {sessions} sessions exist only in the store,"
        " neither in the archive nor in the logs. Nothing was changed.",
        "To rebuild without them and keep the old store beside the new one, run: "
        "leslied rebuild --accept-loss",
    )


def _remove_store(path: Path) -> None:
    """Delete the store at a path, if there is one, with SQLite's files beside it."""
    for suffix in ("", *_SQLITE_SUFFIXES):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
