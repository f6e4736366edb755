"""Delete whole sessions from the store and the archive, if nothing protects them.

Which sessions to delete is decided in `leslied.sessions.retention`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from leslied import sinks, tail
from leslied.annotations import SessionName
from leslied.errors import AnnotationsUnusable, UserError
from leslied.failpoints import failpoint
from leslied.layout import INDEX_FILE, INDEX_PAGE
from leslied.queries.operations.disk import find_store_copies
from leslied.sessions.assemble import RecordStream, assemble
from leslied.sessions.retention import has_failed
from leslied.sessions.status import compute_status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from leslied.agents import AgentAdapter
    from leslied.annotations import Annotations
    from leslied.clock import Clock
    from leslied.literal_text import LiteralText
    from leslied.model.output import Transcript
    from leslied.model.session import ProcessRegistry, SessionSummary
    from leslied.model.source import Root
    from leslied.pipeline.maintenance.thread_files import ThreadFiles
    from leslied.pipeline.stages.archive import Archiver
    from leslied.queries.operations.prune_plan import PruneAnswer
    from leslied.sessions.retention import PruneCandidate
    from leslied.store import Store, StoreQueries

_MAX_BATCH_BYTES = 8_000_000
_MAX_BATCH_SESSIONS = 500
_SLACK_BYTES = 32_000_000
"""Free space that is required beyond the estimate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneGuard:
    """Checks whether a session must not be pruned. Read-only."""

    reader: StoreQueries
    roots: Mapping[str, tuple[Root, ...]]
    """Each agent's folders."""
    live_sessions: set[tuple[str, str]]
    """Agent and id of sessions with a live process."""
    clock: Clock
    include_failed: bool = False
    """Whether sessions whose last unit failed may be pruned."""

    def find_reason_to_keep(self, session: SessionSummary) -> str:
        """Return why a session must not be pruned, or ""."""
        # Without the daemon, the store does not know which sessions are live.
        is_live = session.is_live or session.key[:2] in self.live_sessions
        session = structs.replace(session, is_live=is_live)
        status = compute_status(session, self.clock.now())
        if status != "stopped":
            return status
        if self._has_unread_log(session):
            return "unread"
        if not self.include_failed and self._has_failed(session):
            return "failed"
        return ""

    def _has_unread_log(self, session: SessionSummary) -> bool:
        """Return whether a log of the session has changed since it was read."""
        for log in self.reader.sizes.list_sources(session.key[:2]):
            path = Path(os.fsdecode(log.path))
            ref = tail.find_source(log.agent, self.roots.get(log.agent, ()), path)
            if ref and not tail.is_unchanged(ref, log.cursor, is_final=False):
                return True
        return False

    def _has_failed(self, session: SessionSummary) -> bool:
        """Return whether the session's last unit failed."""
        records = self.reader.list_records(session.stream, session.units)
        units = assemble(RecordStream(session, records), [])
        return bool(units) and has_failed(units[-1])


def find_live_sessions(
    registries: Sequence[tuple[AgentAdapter, Sequence[ProcessRegistry]]],
) -> set[tuple[str, str]]:
    """Return agent and id of every session with a live process."""
    return {
        (adapter.name, session_id)
        for adapter, agent_registries in registries
        for session_id, is_live in tail.check_session_processes(
            agent_registries, adapter.parse_live_process
        ).items()
        if is_live
    }


@dataclass(slots=True)
class PruneReport:
    """Counts of one prune."""

    sessions: int = 0
    records: int = 0
    archive_files: int = 0
    transcripts: int = 0
    """Number of deleted transcript files."""
    changed_transcripts: list[str] = field(default_factory=list)
    """Transcripts that were not deleted because somebody edited them."""
    problems: list[str] = field(default_factory=list)
    """Why relations files or annotations still contain pruned sessions."""
    store_copies: int = 0
    """Number of deleted copies of the store, which contain the pruned sessions."""
    is_store_shrunk: bool = True
    """Whether the store was vacuumed, which is impossible while it is being read."""

    def to_dict(self) -> dict[str, int]:
        """Return the numbers of deleted things, as in JSON."""
        return {
            "records_removed": self.records,
            "archive_files_removed": self.archive_files,
            "transcripts_removed": self.transcripts,
            "copies_removed": self.store_copies,
        }

    def list_warnings(self) -> Iterator[str]:
        """Yield what could not be deleted, and why."""
        for path in self.changed_transcripts:
            yield f"{path} was edited after it was written, so it was kept."
        yield from self.problems
        if not self.is_store_shrunk:
            yield (
                "The store's file could not shrink, because another program is reading "
                "it. Run the same command again when that program has ended."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruner:
    """Deletes sessions in batches; `finish` then removes their content from disk."""

    store: Store
    archiver: Archiver
    annotations: Annotations
    thread_files: ThreadFiles | None = None
    """Deletes the sessions' transcripts and other outputs; None if they stay."""
    report: PruneReport = field(default_factory=PruneReport)

    def check_free_space(self, remaining_bytes: int) -> None:
        """Raise UserError if the disk has too little space to vacuum the store.

        `remaining_bytes` is the store's estimated size after the prune.
        """
        # Vacuuming writes a copy of the store, and then the whole store to its WAL.
        needed = 2 * remaining_bytes + _SLACK_BYTES
        free = shutil.disk_usage(self.store.path.parent).free
        if free < needed:
            raise UserError(
                f"Shrinking the store temporarily needs {needed / 1e6:.0f} MB of disk "
                f"space, but only {free / 1e6:.0f} MB are free. Nothing was deleted.",
                "Free some space, or prune more at once. See sizes with: leslied disk",
            )

    def remove(self, batch: Sequence[PruneCandidate]) -> None:
        """Delete these sessions from the store in one transaction."""
        keys = [candidate.session.key[:2] for candidate in batch]
        # Files come first: after a crash, the store still has the sessions, and the
        # next run deletes the rest.
        for candidate in batch:
            self._remove_files(candidate.session)
        self.remove_annotations(keys)
        with self.store.pruner() as pruner:
            self.report.records += pruner.remove(keys)
            failpoint("prune.before")
        failpoint("prune.after")
        self.report.sessions += len(keys)

    def remove_annotations(
        self, keys: Iterable[tuple[str, str]], text: LiteralText | None = None
    ) -> None:
        """Delete the annotations of these sessions, and those that hold the text."""
        try:
            self.annotations.delete([SessionName(*key) for key in keys])
            if text:
                self.annotations.forget_text(text)
        except AnnotationsUnusable as error:
            self.report.problems.append(f"{error.message} {error.hint}")

    def finish(self) -> None:
        """Delete archive files, save the manifest, delete store copies, and vacuum."""
        self.report.archive_files += self.archiver.delete_pruned_files()
        self.archiver.save_manifest(has_changes=True)
        for copy in find_store_copies(self.store.path):
            copy.unlink(missing_ok=True)
            self.report.store_copies += 1
        self.report.is_store_shrunk = self.store.vacuum()
        failpoint("prune.shrunk")
        if self.report.is_store_shrunk:
            with self.store.pruner() as pruner:
                pruner.mark_vacuumed()

    def _remove_files(self, session: SessionSummary) -> None:
        """Delete files that quote the session; the index is then written again."""
        if not session.folder:
            return
        base, thread_id = Path(session.folder), session.thread_id
        for name in (INDEX_FILE, INDEX_PAGE):
            sinks.remove_file(base, name)
        if self.thread_files:
            edited_files = self._remove_transcripts(session.key[:2])
            reason = self.thread_files.remove_relations(base, thread_id)
            self.thread_files.remove_outputs(base, thread_id, edited_files)
            if reason:
                self.report.problems.append(reason)

    def _remove_transcripts(self, key: tuple[str, str]) -> set[str]:
        """Delete a session's transcripts; return those that somebody edited."""
        with self.store.transcripts() as ledger:
            transcripts = ledger.list_files(*key)
        return {t.file for t in transcripts if not self._remove_transcript(t)}

    def _remove_transcript(self, transcript: Transcript) -> bool:
        """Delete a transcript; return False if somebody edited it, so that it stays."""
        base = Path(os.fsdecode(transcript.folder))
        data = sinks.read_file(base, transcript.file)
        if data is None:
            return True
        if hashlib.sha256(data).digest()[:16] != transcript.digest:
            self.report.changed_transcripts.append(str(base / transcript.file))
            return False
        sinks.remove_file(base, transcript.file)
        self.report.transcripts += 1
        return True


def make_batches(
    candidates: Sequence[PruneCandidate],
) -> Iterator[list[PruneCandidate]]:
    """Yield the candidates in groups that fit one transaction."""
    batch: list[PruneCandidate] = []
    size = 0
    for candidate in candidates:
        batch.append(candidate)
        size += candidate.size
        if size >= _MAX_BATCH_BYTES or len(batch) >= _MAX_BATCH_SESSIONS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def execute_plan(
    pruner: Pruner,
    answer: PruneAnswer,
    track: Callable[[list[list[PruneCandidate]]], Iterable[list[PruneCandidate]]],
) -> PruneAnswer:
    """Delete the planned sessions, batch by batch; return the answer with counts.

    `track` yields the batches and shows the progress.
    """
    plan, store = answer.plan, pruner.store
    with store.pruner() as store_pruner:
        # An earlier run may have ended before it could shrink the store.
        needs_vacuum = store_pruner.needs_vacuum()
    if plan.candidates or needs_vacuum:
        pruner.check_free_space(answer.sizes.compute_remaining_store(plan.candidates))
        for batch in track(list(make_batches(plan.candidates))):
            pruner.remove(batch)
        pruner.finish()
    copies = find_store_copies(store.path)
    return replace(
        answer,
        copies_bytes=sum(copy.stat().st_size for copy in copies),
        removed=pruner.report.to_dict(),
        warnings=tuple(pruner.report.list_warnings()),
    )
