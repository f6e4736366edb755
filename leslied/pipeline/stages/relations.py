"""The relations stage: list each thread that has files in the relations file.

Work is proportional to the change: after one of a thread's files was written, the
thread is checked in each run until its session has stopped. A relations file that is up
to date is not written.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from leslied import sinks
from leslied.errors import SinkError
from leslied.graphemes import ellipsize
from leslied.layout import (
    LESLIE_FOLDER,
    meta_gitignore_file,
    split_thread_path,
    thread_folder,
)
from leslied.model.times import EPOCH
from leslied.pipeline.failures import Failures
from leslied.pipeline.stage import FULL_BUDGET, LogEvent, Report, Stage, Timing
from leslied.redact.session import redact_summary
from leslied.sessions.status import compute_status
from leslied.threads.operations import rename_thread, upsert_threads
from leslied.threads.relations import find_claimed_sessions, read_relations
from leslied.threads.relations_file import (
    RETRY_DELAYS_SECONDS,
    LockBusyError,
    RelationsFile,
    format_utc,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from leslied.clock import Clock
    from leslied.model.record import SessionKey
    from leslied.model.session import SessionSummary
    from leslied.pipeline.stage import Budget, StageContext
    from leslied.store import DueThread, RelationsLedger, Store, StoreReader, ThreadMove
    from leslied.threads.operations import RelationsData

DAEMON_RETRY_DELAYS_SECONDS = (0.1,)
"""Seconds between tries to get Leslie's lock. Fewer than for a command, because the
daemon tries again at its next iteration."""
_MAX_TITLE_LENGTH = 120
_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
"""Errors of the disk, which may end although nothing in the project changes."""


class RelationsReport(Report, kw_only=True):
    """Counts and errors of one run."""

    files_written: int = 0
    moved_threads: dict[str, str] = msgspec.field(default_factory=dict)
    """Old and new id of threads that Leslie claimed under an id of its own."""

    event = "relations.write"

    @property
    def counts(self) -> Mapping[str, int]:
        """Return the numbers to log."""
        return {"files": self.files_written}

    @property
    def restart_from(self) -> str:
        """Return the stage that writes the files of threads that moved."""
        return "transcripts" if self.moved_threads else ""

    def list_events(self) -> Iterator[LogEvent]:
        """Yield the events of the report, and one for each thread that moved."""
        yield from Report.list_events(self)
        for old, new in self.moved_threads.items():
            yield LogEvent("thread.move", {"old": old, "new": new}, is_warning=False)


class _ThreadUpdate(NamedTuple):
    """The entry that a relations file should contain for a thread."""

    due: DueThread
    thread: dict[str, Any]
    digest: bytes
    is_stopped: bool


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class RelationsSync(Stage):
    """The relations stage."""

    store: Store
    reader: StoreReader
    redact: Callable[[str], str]
    clock: Clock
    failures: Failures = field(default_factory=Failures)
    retry_delays: tuple[float, ...] = RETRY_DELAYS_SECONDS
    """Seconds between tries to get Leslie's lock."""
    name = "relations"
    timing = Timing.ON_CHANGE
    can_wait = True

    @classmethod
    def make(cls, context: StageContext) -> RelationsSync:
        """Make the stage."""
        return cls(
            store=context.store,
            reader=context.reader,
            redact=context.redact,
            clock=context.clock,
            failures=context.failures,
            retry_delays=DAEMON_RETRY_DELAYS_SECONDS
            if context.is_daemon
            else RETRY_DELAYS_SECONDS,
        )

    def run(self, budget: Budget = FULL_BUDGET) -> RelationsReport:  # noqa: ARG002
        """Apply claims of Leslie, then write due threads to their relations files."""
        report = RelationsReport()
        self.apply_claims(report)
        updates_by_folder: dict[str, list[_ThreadUpdate]] = {}
        with self.store.relations() as ledger:
            due = ledger.list_due()
        for thread in due:
            main = self.reader.find_session(thread.key)
            if main is not None and main.folder:
                work = partial(self._queue_update, main, thread, updates_by_folder)
                name = main.key.session_id
                self.failures.attempt("relations", name, work, report.errors)
        for folder, updates in updates_by_folder.items():
            work = partial(self._update_project, Path(folder), updates, report)
            self.failures.attempt("relations", folder, work, report.errors)
        return report

    def _queue_update(
        self,
        main: SessionSummary,
        due: DueThread,
        updates_by_folder: dict[str, list[_ThreadUpdate]],
    ) -> None:
        """Queue a changed thread; mark an unchanged, stopped one as finished."""
        update = self._build_update(main, due)
        if update.digest != due.digest:
            updates_by_folder.setdefault(main.folder, []).append(update)
        elif update.is_stopped:
            with self.store.relations() as ledger:
                ledger.mark_written(due.key, update.digest, is_stopped=True)

    def _build_update(self, main: SessionSummary, due: DueThread) -> _ThreadUpdate:
        """Return the thread's entry as it should be now, without its parent."""
        is_stopped = compute_status(main, self.clock.now()) == "stopped"
        shown = redact_summary(main, self.redact)
        thread = {
            "id": main.thread_id,
            "session_id": shown.key.session_id,
            "title": _to_line(shown.title) or main.thread_id,
            "status": "completed" if is_stopped else "active",
            "created_at": format_utc(main.started_at or main.ended_at or EPOCH),
            "metadata": {
                "agent": main.key.agent,
                "subagents": self._list_subagents(main),
                **self._make_rewound_field(main),
            },
            "parent_id": None,
        }
        data = json.dumps(thread, sort_keys=True).encode()
        digest = hashlib.sha256(data).digest()[:16]
        return _ThreadUpdate(due, thread, digest, is_stopped)

    def _list_subagents(self, main: SessionSummary) -> list[dict[str, str]]:
        children = [
            redact_summary(child, self.redact)
            for child in self.reader.list_subagents(main.key)
            if not child.is_hidden
        ]
        children.sort(key=lambda child: (child.started_at or EPOCH, child.key.source))
        return [
            {
                "id": child.subagent_id,
                "type": _to_line(child.agent_type),
                "description": _to_line(child.description),
            }
            for child in children
        ]

    def _make_rewound_field(self, main: SessionSummary) -> dict[str, list[str]]:
        """Return the field `rewound`, the chat ids of rewound units; {} without any."""
        units = chain(*main.rewound)
        chat_ids = [self.reader.find_chat_id(main.key, unit) for unit in units]
        return {"rewound": chat_ids} if chat_ids else {}

    def _update_project(
        self, base: Path, updates: list[_ThreadUpdate], report: RelationsReport
    ) -> None:
        """Write the updates to a project's relations file and mark them as written.

        If Leslie holds the lock, leave them to the next run. If the disk is full or
        fails, raise SinkError, so that they are tried again after a pause. After any
        other error, do not try again until a thread changes.
        """
        folder = os.fsencode(base)
        with self.store.relations() as ledger:
            for update in updates:
                if not update.due.digest:
                    # The parent is set only when a thread is written the first time.
                    parent = _find_parent(ledger, update.due.key, folder)
                    update.thread["parent_id"] = parent
        try:
            new_ids = self._write_relations(base, updates, report)
        except LockBusyError:
            report.has_more = True
            return
        except SinkError as error:
            if getattr(error.__cause__, "errno", None) in _DISK_ERRORS:
                raise
            if (base / LESLIE_FOLDER).is_dir():
                report.errors[str(base)] = error.message
            new_ids = []
        with self.store.relations() as ledger:
            for update in updates:
                ledger.mark_written(
                    update.due.key, update.digest, is_stopped=update.is_stopped
                )
            written_keys = {update.due.key for update in updates}
            for update in updates:
                if update.thread["id"] in new_ids:
                    # A fork of the new thread may now have a parent in this file.
                    related = ledger.list_related_sessions(update.due.key)
                    ledger.mark_due(set(related) - written_keys)

    def _write_relations(
        self, base: Path, updates: list[_ThreadUpdate], report: RelationsReport
    ) -> list[str]:
        """Write the updates to the file; return the ids of threads that are new in it.

        Threads that Leslie claimed under another id are left to `apply_claims`.
        """
        new_ids: list[str] = []
        claims: dict[str, str] = {}

        def update_data(data: RelationsData, now: str) -> None:
            claims.update(find_claimed_sessions(data))
            threads = [update.thread for update in updates]
            unclaimed = [t for t in threads if t["session_id"] not in claims]
            new_ids.extend(upsert_threads(data, _sort_parents_first(unclaimed), now))

        result = self._open_relations(base).update(update_data)
        report.files_written += result.is_changed
        self._record_claims(base, claims, result.stamp, report)
        return new_ids

    def _open_relations(self, base: Path) -> RelationsFile:
        return RelationsFile(
            base=base,
            clock=self.clock,
            read=sinks.read_file,
            write=sinks.write_file,
            retry_delays=self.retry_delays,
        )

    def apply_claims(self, report: RelationsReport) -> None:
        """Rename threads that Leslie claimed under an id of its own."""
        with self.store.relations() as ledger:
            stamps = ledger.list_relations_files()
        for folder, old_stamp in stamps.items():
            base = Path(os.fsdecode(folder))
            stamp = self._open_relations(base).stamp()
            if stamp != old_stamp:
                self._record_claims(
                    base, find_claimed_sessions(read_relations(base)), stamp, report
                )
        with self.store.relations() as ledger:
            moves = ledger.list_moves()
        if moves:
            # A move that has begun must be known after a crash.
            self.store.flush()
        for move in moves:
            self._finish_move(move, report)

    def _record_claims(
        self, base: Path, claims: Mapping[str, str], stamp: str, report: RelationsReport
    ) -> None:
        """Save the file's stamp, and plan the moves of newly claimed threads."""
        folder = os.fsencode(base)
        with self.store.relations() as ledger:
            ledger.record_relations_file(folder, stamp)
            for key, old_id, new_id in ledger.find_claimed_threads(
                folder, claims.items()
            ):
                files = _plan_file_moves(ledger, base, key, new_id)
                ledger.move_thread(key, new_id, files)
                report.moved_threads[old_id] = new_id

    def _finish_move(self, move: ThreadMove, report: RelationsReport) -> None:
        """Rename the thread in its relations file, and move its folder.

        Files that leslied wrote are deleted, because the stages write them again.
        """
        base = Path(os.fsdecode(move.folder))
        try:
            self._open_relations(base).update(
                lambda data, now: rename_thread(data, move.old_id, move.new_id, now)
            )
        except LockBusyError:
            report.has_more = True
            return
        except SinkError:
            pass  # Move the folder even if the relations file cannot be written.
        old_folder, new_folder = map(thread_folder, (move.old_id, move.new_id))
        with suppress(SinkError), sinks.open_base_folder(base) as output:
            for name in (*move.written_files, meta_gitignore_file(move.old_id)):
                sinks.remove_file(output, name)
            sinks.merge_folder(output, old_folder, new_folder)
        with self.store.relations() as ledger:
            ledger.mark_moved(move.key)
            ledger.mark_due([move.key])


def _to_line(text: str) -> str:
    """Return the text on one line, cut to `_MAX_TITLE_LENGTH`."""
    return ellipsize(" ".join(text.split()), _MAX_TITLE_LENGTH)


def _find_parent(ledger: RelationsLedger, key: SessionKey, folder: bytes) -> str | None:
    """Return the id of the thread that this one was forked from, or None.

    A parent in another project is in another relations file and does not count.
    """
    thread_id, parent_folder = ledger.find_parent_thread(key)
    return thread_id if thread_id and parent_folder == folder else None


def _sort_parents_first(threads: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the same threads, each after its parent."""
    remaining = {thread["id"]: thread for thread in threads}
    ordered: list[dict[str, Any]] = []

    def append_after_parent(thread: dict[str, Any]) -> None:
        if remaining.pop(thread["id"], None) is not None:
            if thread["parent_id"] in remaining:
                append_after_parent(remaining[thread["parent_id"]])
            ordered.append(thread)

    for thread in threads:
        append_after_parent(thread)
    return ordered


def _plan_file_moves(
    ledger: RelationsLedger, base: Path, key: SessionKey, new_id: str
) -> list[tuple[SessionKey, int, str, str]]:
    """Return (stream, unit, old file, new file) for each transcript of a thread.

    A file keeps its name unless another file has it.
    """
    moves, new_paths = [], set()
    for stream, unit, old in ledger.list_transcript_files(key):
        _, name = split_thread_path(old)
        stem = f"{thread_folder(new_id)}/{name.removesuffix('.txt')}"
        new, number = f"{stem}.txt", 1
        while new in new_paths or sinks.has_entry(base, new):
            number += 1
            new = f"{stem}-{number}.txt"
        new_paths.add(new)
        moves.append((stream, unit, old, new))
    return moves
