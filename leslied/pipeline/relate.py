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
from leslied.sessions import tell_status
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

LIGHT_WAITS = (0.1,)
"""The daemon waits less for Leslie's lock than a command: it comes by again."""
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
_TITLE = 120


@dataclass(slots=True)
class RelatedNow:
    """The work a relate did."""

    files: int = 0
    moved: dict[str, str] = field(default_factory=dict)
    """Threads that Leslie knows by another id: old and new."""
    troubles: dict[str, str] = field(default_factory=dict)
    is_waiting: bool = False
    """Whether Leslie was writing, so that there is more to do."""


class _News(NamedTuple):
    """What a relations file should say of a thread."""

    due: DueThread
    thread: dict[str, Any]
    digest: bytes
    is_over: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Relate:
    """Threads, on their way into Leslie's own file."""

    store: Store
    reader: StoreReader
    redact: Callable[[str], str]
    clock: Clock
    failures: Failures = field(default_factory=Failures)
    live: set[tuple[str, str]] = field(default_factory=set)
    """Agent and id of sessions that a process works on; kept up to date by `Stops`."""
    waits: tuple[float, ...] = RETRY_DELAYS_SECONDS
    """Seconds between the tries to get Leslie's lock."""

    def run(self) -> RelatedNow:
        """Every relations file tells what there is to tell of its threads."""
        done = RelatedNow()
        self.follow(done)
        groups: dict[str, list[_News]] = {}
        with self.store.relations() as related:
            due = related.list_due()
        for each in due:
            main = self.reader.find_session(SessionKey(each.agent, each.session_id))
            if main is not None and main.folder:
                work = partial(self._sort, main, each, groups)
                name = main.key.session_id
                self.failures.attempt("relations", name, work, done.troubles)
        for folder, news in groups.items():
            work = partial(self._tell, Path(folder), news, done)
            self.failures.attempt("relations", folder, work, done.troubles)
        return done

    def _sort(
        self, main: SessionSummary, due: DueThread, groups: dict[str, list[_News]]
    ) -> None:
        """What is new goes to its project; what is over and told is let go."""
        news = self._describe(main, due)
        if news.digest != due.digest:
            groups.setdefault(main.folder, []).append(news)
        elif news.is_over:
            with self.store.relations() as related:
                related.mark_written(due.session, news.digest, is_over=True)

    def _describe(self, main: SessionSummary, due: DueThread) -> _News:
        is_live = main.key[:2] in self.live
        is_over = tell_status(main, self.clock.now(), is_live=is_live) == "stopped"
        thread = {
            "id": main.thread_id,
            "session_id": main.key.session_id,
            "title": self._clean(main.title) or main.thread_id,
            "status": "completed" if is_over else "active",
            "created_at": format_utc(main.started_at or main.ended_at or _LONG_AGO),
            "metadata": {
                "agent": main.key.agent,
                "subagents": self._list_subagents(main),
            },
            "parent_id": None,
        }
        text = json.dumps(thread, sort_keys=True).encode()
        return _News(due, thread, hashlib.sha256(text).digest()[:16], is_over)

    def _list_subagents(self, main: SessionSummary) -> list[dict[str, str]]:
        found = self.reader.list_subagents(main.key)
        found.sort(key=lambda child: (child.started_at or _LONG_AGO, child.key.source))
        return [
            {
                "id": child.subagent_id,
                "type": self._clean(child.agent_type),
                "description": self._clean(child.description),
            }
            for child in found
        ]

    def _clean(self, text: str) -> str:
        """One line that may leave the store."""
        line = " ".join(self.redact(text).split())
        return line if len(line) <= _TITLE else line[: _TITLE - 1] + "…"

    def _tell(self, base: Path, news: list[_News], done: RelatedNow) -> None:
        folder = os.fsencode(base)
        with self.store.relations() as related:
            for each in news:
                if not each.due.digest:
                    parent = _find_parent(related, each.due.session, folder)
                    each.thread["parent_id"] = parent
        try:
            new = self._write(base, news, done)
        except LockBusyError:
            done.is_waiting = True
            return
        except SinkError as error:
            if (base / ".leslie").is_dir():
                done.troubles[str(base)] = error.message
            new = []
        with self.store.relations() as related:
            for each in news:
                related.mark_written(
                    each.due.session, each.digest, is_over=each.is_over
                )
            here = {each.due.session for each in news}
            for each in news:
                if each.thread["id"] in new:
                    family = related.count_shared_entries(each.due.session)
                    related.mark_due(family.keys() - here)

    def _write(self, base: Path, news: list[_News], done: RelatedNow) -> list[str]:
        """The file tells the news; says which threads it did not know."""
        new: list[str] = []
        claims: dict[str, str] = {}

        def work(data: RelationsData, now: str) -> None:
            claims.update(find_claimed_sessions(data))
            free = [n.thread for n in news if n.thread["session_id"] not in claims]
            new.extend(upsert_threads(data, _parents_first(free), now))

        changed = self._file(base).update(work)
        done.files += changed.is_changed
        self._note_claims(base, claims, changed.stamp, done)
        return new

    def _file(self, base: Path) -> RelationsFile:
        return RelationsFile(
            base=base,
            clock=self.clock,
            read=sinks.read_file,
            write=sinks.write_file,
            retry_delays=self.waits,
        )

    def follow(self, done: RelatedNow) -> None:
        """Threads that Leslie claimed under an id of its own have that id."""
        with self.store.relations() as related:
            known = related.list_relations_files()
        for folder, before in known.items():
            base = Path(os.fsdecode(folder))
            stamp = self._file(base).stamp()
            if stamp != before:
                self._note_claims(
                    base, find_claimed_sessions(read_relations(base)), stamp, done
                )
        with self.store.relations() as related:
            moves = related.list_moves()
        for move in moves:
            self._finish(move, done)

    def _note_claims(
        self, base: Path, claims: Mapping[str, str], stamp: str, done: RelatedNow
    ) -> None:
        folder = os.fsencode(base)
        with self.store.relations() as related:
            related.record_relations_file(folder, stamp)
            for session, old, new in related.find_claimed_threads(
                folder, claims.items()
            ):
                related.move_thread(session, new, _plan(related, base, session, new))
                done.moved[old] = new

    def _finish(self, move: ThreadMove, done: RelatedNow) -> None:
        """Nothing is left under the old id: our files go, others' come along."""
        base = Path(os.fsdecode(move.folder))
        try:
            self._file(base).update(
                lambda data, now: rename_thread(data, move.old_id, move.new_id, now)
            )
        except LockBusyError:
            done.is_waiting = True
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


def _parents_first(threads: list[dict[str, Any]]) -> list[dict[str, Any]]:
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


def _plan(
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
