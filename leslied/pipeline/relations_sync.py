"""After settle: every thread with files stands in its project's relations file.

Work follows the change: a thread is looked at when a file of it was written, and until
its session is over. Nothing is written that the file says already.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from leslied import sinks
from leslied.errors import SinkError
from leslied.model.record import SessionKey
from leslied.pipeline.failures import Failures
from leslied.sessions import compute_status
from leslied.threads.layout import THREADS_FOLDER
from leslied.threads.operations import rename_thread, upsert_threads
from leslied.threads.relations import find_claimed_sessions, read_relations
from leslied.threads.relations_file import (
    RETRY_DELAYS_SECONDS,
    LockBusyError,
    RelationsFile,
    format_utc,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from leslied.clock import Clock
    from leslied.model.session import SessionSummary
    from leslied.store import DueThread, RelationsLedger, Store, StoreReader, ThreadMove
    from leslied.threads.operations import RelationsData

DAEMON_LOCK_WAITS = (0.1,)
"""The daemon waits less for Leslie's lock than a command: it comes by again."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_TITLE_LENGTH = 120


@dataclass(slots=True)
class RelationsReport:
    """The work a relate did."""

    files_written: int = 0
    moved_threads: dict[str, str] = field(default_factory=dict)
    """Threads that Leslie knows by another id: old and new."""
    errors: dict[str, str] = field(default_factory=dict)
    is_lock_busy: bool = False
    """Whether Leslie was writing, so that there is more to do."""


class _ThreadUpdate(NamedTuple):
    """What a relations file should say of a thread."""

    due: DueThread
    thread: dict[str, Any]
    digest: bytes
    is_stopped: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationsSync:
    """Threads, on their way into Leslie's own file."""

    store: Store
    reader: StoreReader
    redact: Callable[[str], str]
    clock: Clock
    failures: Failures = field(default_factory=Failures)
    live_sessions: set[tuple[str, str]] = field(default_factory=set)
    """Agent and id of sessions that a process works on; kept up to date by `Stops`."""
    lock_waits: tuple[float, ...] = RETRY_DELAYS_SECONDS
    """Seconds between the tries to get Leslie's lock."""

    def run(self) -> RelationsReport:
        """Every relations file tells what there is to tell of its threads."""
        report = RelationsReport()
        self.apply_claims(report)
        groups: dict[str, list[_ThreadUpdate]] = {}
        with self.store.relations() as related:
            due = related.list_due()
        for each in due:
            main = self.reader.find_session(SessionKey(each.agent, each.session_id))
            if main is not None and main.folder:
                work = partial(self._queue_update, main, each, groups)
                name = main.key.session_id
                self.failures.attempt("relations", name, work, report.errors)
        for folder, news in groups.items():
            work = partial(self._update_project, Path(folder), news, report)
            self.failures.attempt("relations", folder, work, report.errors)
        return report

    def _queue_update(
        self,
        main: SessionSummary,
        due: DueThread,
        updates_by_folder: dict[str, list[_ThreadUpdate]],
    ) -> None:
        """What is new goes to its project; what is over and told is let go."""
        news = self._build_update(main, due)
        if news.digest != due.digest:
            updates_by_folder.setdefault(main.folder, []).append(news)
        elif news.is_stopped:
            with self.store.relations() as related:
                related.mark_written(due.session, news.digest, is_over=True)

    def _build_update(self, main: SessionSummary, due: DueThread) -> _ThreadUpdate:
        is_live = main.key[:2] in self.live_sessions
        is_over = compute_status(main, self.clock.now(), is_live=is_live) == "stopped"
        thread = {
            "id": main.thread_id,
            "session_id": main.key.session_id,
            "title": self._to_safe_line(main.title) or main.thread_id,
            "status": "completed" if is_over else "active",
            "created_at": format_utc(main.started_at or main.ended_at or _EPOCH),
            "metadata": {
                "agent": main.key.agent,
                "subagents": self._list_subagents(main),
            },
            "parent_id": None,
        }
        text = json.dumps(thread, sort_keys=True).encode()
        return _ThreadUpdate(due, thread, hashlib.sha256(text).digest()[:16], is_over)

    def _list_subagents(self, main: SessionSummary) -> list[dict[str, str]]:
        found = self.reader.list_subagents(main.key)
        found.sort(key=lambda child: (child.started_at or _EPOCH, child.key.source))
        return [
            {
                "id": child.subagent_id,
                "type": self._to_safe_line(child.agent_type),
                "description": self._to_safe_line(child.description),
            }
            for child in found
        ]

    def _to_safe_line(self, text: str) -> str:
        """One line that may leave the store."""
        line = " ".join(self.redact(text).split())
        return (
            line
            if len(line) <= _MAX_TITLE_LENGTH
            else line[: _MAX_TITLE_LENGTH - 1] + "…"
        )

    def _update_project(
        self, base: Path, updates: list[_ThreadUpdate], report: RelationsReport
    ) -> None:
        folder = os.fsencode(base)
        with self.store.relations() as related:
            for each in updates:
                if not each.due.digest:
                    parent = _find_parent(related, each.due.session, folder)
                    each.thread["parent_id"] = parent
        try:
            new = self._write_relations(base, updates, report)
        except LockBusyError:
            report.is_lock_busy = True
            return
        except SinkError as error:
            if (base / ".leslie").is_dir():
                report.errors[str(base)] = error.message
            new = []
        with self.store.relations() as related:
            for each in updates:
                related.mark_written(
                    each.due.session, each.digest, is_over=each.is_stopped
                )
            here = {each.due.session for each in updates}
            for each in updates:
                if each.thread["id"] in new:
                    family = related.count_shared_entries(each.due.session)
                    related.mark_due(family.keys() - here)

    def _write_relations(
        self, base: Path, updates: list[_ThreadUpdate], report: RelationsReport
    ) -> list[str]:
        """The file tells the news; says which threads it did not know."""
        new: list[str] = []
        claims: dict[str, str] = {}

        def work(data: RelationsData, now: str) -> None:
            claims.update(find_claimed_sessions(data))
            free = [n.thread for n in updates if n.thread["session_id"] not in claims]
            new.extend(upsert_threads(data, _sort_parents_first(free), now))

        changed = self._open_relations(base).update(work)
        report.files_written += changed.is_changed
        self._record_claims(base, claims, changed.stamp, report)
        return new

    def _open_relations(self, base: Path) -> RelationsFile:
        return RelationsFile(
            base=base,
            clock=self.clock,
            read=sinks.read_file,
            write=sinks.write_file,
            retry_delays=self.lock_waits,
        )

    def apply_claims(self, report: RelationsReport) -> None:
        """Threads that Leslie claimed under an id of its own have that id."""
        with self.store.relations() as related:
            known = related.list_relations_files()
        for folder, before in known.items():
            base = Path(os.fsdecode(folder))
            stamp = self._open_relations(base).stamp()
            if stamp != before:
                self._record_claims(
                    base, find_claimed_sessions(read_relations(base)), stamp, report
                )
        with self.store.relations() as related:
            moves = related.list_moves()
        for move in moves:
            self._finish_move(move, report)

    def _record_claims(
        self, base: Path, claims: Mapping[str, str], stamp: str, report: RelationsReport
    ) -> None:
        folder = os.fsencode(base)
        with self.store.relations() as related:
            related.record_relations_file(folder, stamp)
            for session, old, new in related.find_claimed_threads(
                folder, claims.items()
            ):
                related.move_thread(
                    session, new, _plan_file_moves(related, base, session, new)
                )
                report.moved_threads[old] = new

    def _finish_move(self, move: ThreadMove, report: RelationsReport) -> None:
        """Nothing is left under the old id: our files go, others' come along."""
        base = Path(os.fsdecode(move.folder))
        try:
            self._open_relations(base).update(
                lambda data, now: rename_thread(data, move.old_id, move.new_id, now)
            )
        except LockBusyError:
            report.is_lock_busy = True
            return
        except SinkError:
            pass  # The files are moved even where the relations cannot be told.
        for name in move.files:
            sinks.remove_file(base, name)
        sinks.merge_folder(
            base, f"{THREADS_FOLDER}/{move.old_id}", f"{THREADS_FOLDER}/{move.new_id}"
        )
        with self.store.relations() as related:
            related.mark_moved(move.session)
            related.mark_due([move.session])


def _find_parent(related: RelationsLedger, session: int, folder: bytes) -> str | None:
    """The thread this one was forked from, if it stands in the same file."""
    thread_id, there = related.get_thread(related.find_parent(session))
    return thread_id if thread_id and there == folder else None


def _sort_parents_first(threads: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same threads, none before the one it came of."""
    waiting = {thread["id"]: thread for thread in threads}
    ordered: list[dict[str, Any]] = []

    def place(thread: dict[str, Any]) -> None:
        if waiting.pop(thread["id"], None) is not None:
            if thread["parent_id"] in waiting:
                place(waiting[thread["parent_id"]])
            ordered.append(thread)

    for thread in threads:
        place(thread)
    return ordered


def _plan_file_moves(
    related: RelationsLedger, base: Path, session: int, new_id: str
) -> list[tuple[int, int, str, str]]:
    """Where each file of a thread goes: the same name, unless somebody has it."""
    planned, taken = [], set()
    for row, unit, old in related.list_transcript_files(session):
        _, _, thread_and_name = old.partition(f"{THREADS_FOLDER}/")
        _, _, name = thread_and_name.partition("/")
        stem = f"{THREADS_FOLDER}/{new_id}/{name.removesuffix('.txt')}"
        new, number = f"{stem}.txt", 1
        while new in taken or sinks.read_file(base, new) is not None:
            number += 1
            new = f"{stem}-{number}.txt"
        taken.add(new)
        planned.append((row, unit, old, new))
    return planned
