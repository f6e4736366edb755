"""Being rid of whole sessions: what may go, and taking it out of store and archive."""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from leslied import sinks, tail
from leslied.errors import UserError
from leslied.failpoints import failpoint
from leslied.sessions import RecordStream, assemble, compute_status
from leslied.sessions.retention import StorageSizes, has_failed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from leslied.agents import AgentAdapter
    from leslied.clock import Clock
    from leslied.model.output import Transcript
    from leslied.model.session import ProcessRegistry, SessionSummary
    from leslied.model.source import Root
    from leslied.pipeline.archiver import Archiver
    from leslied.sessions.retention import PruneCandidate
    from leslied.store import Store, StoreReader

_BATCH_BYTES = 8_000_000
_BATCH_SESSIONS = 500
_SLACK_BYTES = 32_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneGuard:
    """Why sessions stay, of which somebody might want to be rid; nothing is changed."""

    reader: StoreReader
    roots: Mapping[str, tuple[Root, ...]]
    """Each agent's folders."""
    live_sessions: set[tuple[str, str]]
    """Agent and id of sessions that a process works on."""
    clock: Clock
    include_failed: bool = False

    def find_reason_to_keep(self, session: SessionSummary) -> str:
        """Why a session may not go; empty where it may."""
        is_live = session.key[:2] in self.live_sessions
        status = compute_status(session, self.clock.now(), is_live=is_live)
        if status != "stopped":
            return status
        if self._has_unread_log(session):
            return "unread"
        if not self.include_failed and self._has_failed(session):
            return "failed"
        return ""

    def _has_unread_log(self, session: SessionSummary) -> bool:
        """Whether a log of the session has changed since it was read."""
        for log in self.reader.sizes.list_sources(session.key[:2]):
            path = Path(os.fsdecode(log.path))
            ref = tail.find_source(log.agent, self.roots.get(log.agent, ()), path)
            if ref and not tail.is_unchanged(ref, log.cursor, is_final=False):
                return True
        return False

    def _has_failed(self, session: SessionSummary) -> bool:
        records = self.reader.list_records(session.row, session.units)
        units = assemble(RecordStream(session, records), [])
        return bool(units) and has_failed(units[-1])


def measure_sizes(reader: StoreReader) -> StorageSizes:
    """How much room store and archive take, and each session in them."""
    weights = reader.sizes
    return StorageSizes(
        store=weights.get_used_bytes(),
        archive=weights.get_archive_bytes(),
        store_by_session=weights.get_store_bytes_by_session(),
        archive_by_session=weights.get_archive_bytes_by_session(),
    )


def find_live_sessions(
    registries: Sequence[tuple[AgentAdapter, Sequence[ProcessRegistry]]],
) -> set[tuple[str, str]]:
    """Agent and id of every session that a process works on now."""
    return {
        (adapter.name, session_id)
        for adapter, files in registries
        for session_id, is_there in tail.find_processes(
            files, adapter.parse_live_process
        ).items()
        if is_there
    }


@dataclass(slots=True)
class PruneReport:
    """The work a prune did."""

    sessions: int = 0
    records: int = 0
    archive_files: int = 0
    transcripts: int = 0
    changed_transcripts: list[str] = field(default_factory=list)
    """Transcripts that stay because somebody changed them."""
    store_copies: int = 0
    """Older copies of the store, which held all of it."""
    is_store_shrunk: bool = True
    """Whether no word is left in the file; not while somebody reads on in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruner:
    """Takes sessions away; `finish` makes sure that no word of them is left."""

    store: Store
    archiver: Archiver
    include_transcripts: bool = False
    """Whether the files that were written of them go too."""
    report: PruneReport = field(default_factory=PruneReport)

    def check_free_space(self, remaining_bytes: int) -> None:
        """There is room to write anew a store of which about so much is left."""
        needed = 2 * remaining_bytes + _SLACK_BYTES
        free = shutil.disk_usage(self.store.path.parent).free
        if free < needed:
            raise UserError(
                f"Making the store smaller takes {needed / 1e6:.0f} MB of free space "
                f"for a while, and there are {free / 1e6:.0f} MB; nothing was removed.",
                "Free some space, or remove more at once: leslied disk",
            )

    def remove(self, batch: Sequence[PruneCandidate]) -> None:
        """These sessions are gone, all of them or, after a crash, none."""
        names = [going.session.key[:2] for going in batch]
        if self.include_transcripts:
            self._remove_transcripts(names)
        with self.store.pruner() as pruning:
            self.report.records += pruning.remove(names)
            failpoint("prune.before")
        failpoint("prune.after")
        self.report.sessions += len(names)

    def finish(self) -> None:
        """What is gone is also gone from the archive, the manifest and the disk."""
        self.report.archive_files += self.archiver.delete_pruned_files()
        self.archiver.save_manifest(has_changes=True)
        for copy in find_store_copies(self.store.path):
            copy.unlink(missing_ok=True)
            self.report.store_copies += 1
        self.report.is_store_shrunk = self.store.vacuum()
        failpoint("prune.shrunk")
        if self.report.is_store_shrunk:
            with self.store.pruner() as pruning:
                pruning.mark_vacuumed()

    def _remove_transcripts(self, names: list[tuple[str, str]]) -> None:
        for name in names:
            with self.store.transcripts() as outbox:
                files = outbox.list_files(*name)
            for file in files:
                self._remove_file(file)

    def _remove_file(self, file: Transcript) -> None:
        """A file that is as we wrote it goes; any other is its owner's."""
        base = Path(os.fsdecode(file.folder))
        data = sinks.read_file(base, file.file)
        if data is None:
            return
        if hashlib.sha256(data).digest()[:16] != file.digest:
            self.report.changed_transcripts.append(str(base / file.file))
            return
        sinks.remove_file(base, file.file)
        self.report.transcripts += 1


def make_batches(
    candidates: Sequence[PruneCandidate],
) -> Iterator[list[PruneCandidate]]:
    """As many sessions as one transaction takes."""
    batch: list[PruneCandidate] = []
    size = 0
    for each in candidates:
        batch.append(each)
        size += each.size
        if size >= _BATCH_BYTES or len(batch) >= _BATCH_SESSIONS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def find_store_copies(store: Path) -> list[Path]:
    """Copies of the store that were saved beside it, with all that it held then."""
    names = ("before-rebuild*", "form*")
    return sorted(
        f for name in names for f in store.parent.glob(f"{store.name}.{name}")
    )
