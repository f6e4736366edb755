"""Forget a session, or every entry that holds a text, wherever leslied keeps it.

Tombstones come first: whatever happens later, nothing is read again. Then sources are
sealed, so that they are not archived again, and copies of the text are deleted from the
archive, from threads and from hooks, and at last from the store. So a crash leaves
entries in the store that the same command finds again.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from leslied import archive
from leslied.errors import UserError
from leslied.failpoints import failpoint
from leslied.fs import TEMPORARY_SUFFIX
from leslied.hooks.cleanup import delete_learned_roots, delete_matching
from leslied.layout import LESLIE_FOLDER
from leslied.literal_text import LiteralText
from leslied.pipeline.maintenance.raw_search import RawMatches, RawSearch
from leslied.pipeline.maintenance.thread_files import ThreadFiles, has_text
from leslied.queries.operations.forget_plan import (
    ForgetAnswer,
    ForgottenSession,
    Remainder,
)
from leslied.queries.resolve import resolve_id
from leslied.queries.sessions import load_session_summary
from leslied.sinks import list_files
from leslied.store.forgotten import ForgottenItems
from leslied.store.read.forget_queries import ForgetReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leslied.clock import Clock
    from leslied.paths import AppPaths
    from leslied.pipeline.maintenance.prune import Pruner
    from leslied.queries.context import QueryContext
    from leslied.queries.operations.forget_plan import ForgetRequest
    from leslied.store.read.forget_queries import SessionName, SessionPart, ThreadFolder

_CHUNK_BYTES = 8 * 1024 * 1024
_OVERLAP_BYTES = 64 * 1024
"""Bytes of a chunk that are searched again with the next one, which may go on."""
_MAX_GIT_INDEX_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetPlan:
    """The entries to forget, and where they are."""

    text: LiteralText | None
    """The text, or None to forget a session."""
    sessions: tuple[SessionName, ...] = ()
    """Sessions to forget with all entries that they will ever have."""
    entry_ids: frozenset[bytes] = frozenset()
    titles: frozenset[str] = frozenset()
    """The titles that the entries gave to sessions."""
    parts: tuple[SessionPart, ...] = ()
    """The sessions that have the entries."""
    rejected: tuple[bytes, ...] = ()
    """Digests of rejected entries."""
    raw: RawMatches
    threads: tuple[ThreadFolder, ...] = ()
    """Folders of the threads of `parts`."""
    other_threads: tuple[ThreadFolder, ...] = ()

    def list_whole_sessions(self) -> set[SessionName]:
        """Return the sessions that lose all of their entries."""
        return {part.name for part in self.parts if part.is_whole}.union(self.sessions)


@dataclass(slots=True)
class ForgetPlanner:
    """Finds what to forget. Read-only."""

    context: QueryContext
    request: ForgetRequest

    def make_plan(self) -> ForgetPlan:
        """Find the entries; raise UserError if the id names no session."""
        with ForgetReader(self.context.paths.store_file) as reader:
            if self.request.text:
                plan = self._plan_text(reader, LiteralText(self.request.text))
            else:
                plan = self._plan_session(reader, self._resolve_session())
            titles = reader.list_titles(plan.entry_ids)
            entry_ids = plan.entry_ids | reader.find_titling_entries(titles)
            parts = tuple(reader.list_parts(entry_ids))
            plan = replace(
                plan, entry_ids=entry_ids, titles=frozenset(titles), parts=parts
            )
            names = {part.name for part in plan.parts}.union(plan.sessions)
            threads = tuple(reader.list_thread_folders(names))
            others = set(reader.list_thread_folders()).difference(threads)
            return replace(plan, threads=threads, other_threads=tuple(others))

    def _resolve_session(self) -> SessionName:
        resolved = resolve_id(self.context.reader, self.request.id)
        if not resolved.is_whole_session:
            raise UserError(
                f"{self.request.id!r} names only a part of a session.",
                "Forget the whole session, "
                f"{resolved.session.key.session_id}, or a text: leslied forget --text",
            )
        return resolved.session.key[:2]

    def _plan_session(self, reader: ForgetReader, name: SessionName) -> ForgetPlan:
        entry_ids = frozenset(reader.list_entry_ids(name))
        raw = RawMatches(logs=reader.list_sources(entry_ids))
        return ForgetPlan(
            text=None,
            sessions=(name,),
            entry_ids=entry_ids,
            rejected=tuple(reader.list_rejected(name)),
            raw=raw,
        )

    def _plan_text(self, reader: ForgetReader, text: LiteralText) -> ForgetPlan:
        roots = {a.name: tuple(roots) for a, roots in self.context.list_agent_roots()}
        archive_dir = self.context.paths.archive_dir
        search = RawSearch(text=text, roots=roots, archive_dir=archive_dir)
        raw = search.run(reader.list_read_sources())
        entry_ids = reader.find_entries_with(text) | reader.find_entries_at(raw.lines)
        raw.logs = sorted({*raw.logs, *reader.list_sources(entry_ids)})
        return ForgetPlan(
            text=text,
            entry_ids=frozenset(entry_ids),
            rejected=tuple(reader.find_rejected_with(text)),
            raw=raw,
        )

    def make_answer(self, plan: ForgetPlan | None = None) -> ForgetAnswer:
        """Describe a plan, without secrets; make one if there is none."""
        plan = plan or self.make_plan()
        sessions = []
        whole_sessions = plan.list_whole_sessions()
        for part in plan.parts:
            summary = load_session_summary(self.context.reader, *part.name)
            sessions.append(
                ForgottenSession(
                    self.context.redact_summary(summary),
                    part.entries,
                    part.name in whole_sessions,
                )
            )
        return ForgetAnswer(
            request=self.request,
            sessions=tuple(sessions),
            entries=len(plan.entry_ids),
            rejected=len(plan.rejected),
            archive_files=len(plan.raw.archive_files),
            remainders=tuple(_list_remainders(plan)),
            warnings=tuple(plan.raw.errors),
        )


def _list_remainders(plan: ForgetPlan) -> Iterator[Remainder]:
    """Yield the files that keep what is forgotten, before anything is deleted."""
    for log in plan.raw.logs:
        yield Remainder("log", log)
    for folder in sorted({os.fsdecode(thread.folder) for thread in plan.threads}):
        if _has_tracked_files(Path(folder)):
            yield Remainder("git", folder)


def _has_tracked_files(base: Path) -> bool:
    """Return whether Git's index of the folder names files that leslied writes."""
    index = base / ".git" / "index"
    try:
        with index.open("rb") as file:
            return f"{LESLIE_FOLDER}/".encode() in file.read(_MAX_GIT_INDEX_BYTES)
    except OSError:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Forget:
    """The job that forgets. It needs the store's writer."""

    pruner: Pruner
    paths: AppPaths
    clock: Clock
    open_queries: Callable[[], QueryContext]
    write_outputs: Callable[[], list[str]]
    """Writes missing and changed outputs; returns errors."""

    def run(self, request: ForgetRequest) -> ForgetAnswer:
        """Forget what is requested; complete an earlier, interrupted deletion.

        Raise UserError if the id names no session and nothing was completed.
        """
        was_interrupted = self._finish_interrupted()
        with self.open_queries() as queries:
            planner = ForgetPlanner(queries, request)
            try:
                plan = planner.make_plan()
            except UserError:
                if was_interrupted:
                    return ForgetAnswer(request=request, removed_records=0)
                raise
            answer = planner.make_answer(plan)
        store_file = self.paths.store_file
        self.pruner.check_free_space(store_file.stat().st_size)
        deletion = _Deletion(self.pruner, self.paths, self.clock, plan)
        removed = deletion.remove()
        errors = self.write_outputs()
        failpoint("forget.rendered")
        deletion.finish()
        warnings = (*answer.warnings, *errors, *self.pruner.report.list_warnings())
        return replace(
            answer,
            removed_records=removed,
            remainders=(*answer.remainders, *deletion.list_remainders()),
            warnings=warnings,
        )

    def _finish_interrupted(self) -> bool:
        """Complete a deletion that ended early; return whether there was one."""
        with self.pruner.store.pruner() as pruner:
            is_unfinished = pruner.needs_vacuum()
        if is_unfinished:
            self.write_outputs()
            self.pruner.finish()
        return is_unfinished


@dataclass(frozen=True, slots=True)
class _Deletion:
    """Carries out a plan. Doing so twice changes nothing more."""

    pruner: Pruner
    paths: AppPaths
    clock: Clock
    plan: ForgetPlan

    @property
    def _thread_files(self) -> ThreadFiles:
        return ThreadFiles(central=self.paths.central_dir, clock=self.clock)

    def remove(self) -> int:
        """Delete everything but what is left in free space of the store's file.

        Return the number of deleted records. The caller then has outputs written
        again, and calls `finish`.
        """
        self._add_tombstones()
        failpoint("forget.tombstones")
        self._seal_sources()
        failpoint("forget.sealed")
        self._erase_archived_lines()
        failpoint("forget.archive")
        self._remove_thread_files()
        self._remove_hook_files()
        failpoint("forget.files")
        removed = self._remove_from_store()
        failpoint("forget.removed")
        return removed

    def finish(self) -> None:
        """Delete what is left in free space, in copies and temporary files."""
        data_dir, archive_dir = self.paths.data_dir, self.paths.archive_dir
        for pattern in (f"*{TEMPORARY_SUFFIX}", "store.db.new*"):
            for path in data_dir.glob(pattern):
                path.unlink()
        for path in (
            *archive_dir.glob(".re*"),
            *archive_dir.rglob("*" + TEMPORARY_SUFFIX),
        ):
            path.unlink()
        for folder in {thread.folder for thread in self.plan.threads}:
            self._thread_files.refresh_backup(Path(os.fsdecode(folder)))
        self.pruner.finish()

    def _add_tombstones(self) -> None:
        plan = self.plan
        items = ForgottenItems(
            sessions=plan.sessions,
            changed_sessions=[*plan.sessions, *(part.name for part in plan.parts)],
            entry_ids=plan.entry_ids,
            rejected=filter(None, plan.rejected),
            titles=plan.titles,
            line_digests=plan.raw.line_digests,
        )
        self.pruner.store.forgotten.add(items)

    def _seal_sources(self) -> None:
        """Archive no more of the logs; delete archived forks of a session as a whole.

        Which of their lines are forgotten is not known without decoding them.
        """
        with self.pruner.store.pruner() as pruner:
            pruner.update_feeds()
            keeps_files = self.plan.text is not None
            pruner.seal_sources(self.plan.entry_ids, keeps_files=keeps_files)
            pruner.seal_paths(self.plan.raw.sources)

    def _erase_archived_lines(self) -> None:
        if self.plan.text:
            for path in self.plan.raw.archive_files:
                archive.erase_lines(path, self.plan.text.is_in)

    def _remove_thread_files(self) -> None:
        plan, files = self.plan, self._thread_files
        whole_sessions = plan.list_whole_sessions()
        removed = [t for t in plan.threads if (t.agent, t.session_id) in whole_sessions]
        kept_folders = {
            thread.folder
            for thread in (*plan.threads, *plan.other_threads)
            if thread not in removed
        }
        for thread in removed:
            files.remove(thread, is_last=thread.folder not in kept_folders)
        changed = [thread for thread in plan.threads if thread not in removed]
        for thread in changed:
            files.remove_outputs(thread)
        if plan.text:
            for thread in (*changed, *plan.other_threads):
                files.remove_holders(thread, plan.text)

    def _remove_hook_files(self) -> None:
        data_dir, text = str(self.paths.data_dir), self.plan.text
        names = {session_id for _, session_id in self.plan.sessions}
        whole_sessions = self.plan.list_whole_sessions()
        names |= {
            thread.thread_id
            for thread in self.plan.threads
            if (thread.agent, thread.session_id) in whole_sessions
        }

        def is_forgotten(path: str, data: bytes) -> bool:
            if text and text.is_in_values(path, data):
                return True
            return any(name in path or name.encode() in data for name in names)

        delete_matching(data_dir, is_forgotten)
        if text:
            delete_learned_roots(data_dir, text.is_in)

    def _remove_from_store(self) -> int:
        plan = self.plan
        with self.pruner.store.pruner() as pruner:
            removed = pruner.remove(plan.sessions)
            # Entries that other sessions share are deleted from them, too.
            removed += pruner.remove_entries(plan.entry_ids)
            pruner.remove_unplaced()
            if plan.text:
                pruner.scrub(plan.text)
        return removed

    def list_remainders(self) -> Iterator[Remainder]:
        """Yield files below leslied's folders that still hold the text."""
        text = self.plan.text
        if text is None:
            return
        with ForgetReader(self.paths.store_file) as reader:
            paths = [source.path for source in reader.list_read_sources()]
            paths += {thread.folder for thread in reader.list_thread_folders()}
        held_paths = [os.fsdecode(path) for path in paths if text.is_in(path)]
        yield from (Remainder("path", path) for path in held_paths)
        for path in self._list_own_files():
            # The store and the manifest have the paths of logs.
            if not held_paths and _is_in_file(text, path):
                yield Remainder("own", str(path))
        folders = {t.folder for t in (*self.plan.threads, *self.plan.other_threads)}
        for folder in sorted(folders):
            base = Path(os.fsdecode(folder))
            for name in list_files(base, LESLIE_FOLDER):
                if has_text(base, name, text):
                    yield Remainder("asset", str(base / name))

    def _list_own_files(self) -> list[Path]:
        """Return leslied's own files; archive files were searched before."""
        folders = (self.paths.data_dir, self.paths.state_dir)
        return [
            path
            for folder in folders
            for path in sorted(folder.rglob("*"))
            if path.is_file()
            and path.suffix != ".zst"
            and not path.is_relative_to(self.paths.central_dir)
        ]


def _is_in_file(text: LiteralText, path: Path) -> bool:
    """Return whether a file, which may be large, holds the text."""
    tail = b""
    with path.open("rb") as file:
        while data := file.read(_CHUNK_BYTES):
            if text.is_in(tail + data):
                return True
            tail = data[-_OVERLAP_BYTES:]
    return False
