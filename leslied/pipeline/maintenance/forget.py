"""Forget a session, or every entry that holds a text, wherever leslied keeps it.

Tombstones come first: whatever happens later, nothing is read again. Then sources are
sealed, so that they are not archived again, and copies of the text are deleted from the
archive, from imported files, threads and hooks, and at last from the store. So a crash
leaves entries in the store that the same command finds again.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from leslied import archive
from leslied.errors import SinkError, UserError
from leslied.failpoints import failpoint
from leslied.fs import TEMPORARY_SUFFIX
from leslied.hooks.cleanup import delete_learned_roots, delete_matching
from leslied.layout import LESLIE_FOLDER
from leslied.pipeline.maintenance.forget_planner import ForgetPlanner
from leslied.pipeline.maintenance.imported_copies import ImportedCopies
from leslied.pipeline.maintenance.thread_files import ThreadFiles, has_text
from leslied.queries.operations.forget_plan import ForgetAnswer, Remainder
from leslied.sinks import list_files
from leslied.store.forgotten import ForgottenItems
from leslied.store.read.forget_queries import ForgetReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leslied.clock import Clock
    from leslied.literal_text import LiteralText
    from leslied.paths import AppPaths
    from leslied.pipeline.maintenance.forget_planner import ForgetPlan
    from leslied.pipeline.maintenance.prune import Pruner
    from leslied.queries.context import QueryContext
    from leslied.queries.operations.forget_plan import ForgetRequest

_CHUNK_BYTES = 8 * 1024 * 1024
_OVERLAP_BYTES = 64 * 1024
"""Bytes of a chunk that are searched again with the next: the text may span both."""


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
        """Complete an earlier, interrupted deletion; then forget what is requested.

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
            copies = _make_copies(self.paths.imports_dir, queries, plan)
        store_file = self.paths.store_file
        self.pruner.check_free_space(store_file.stat().st_size)
        deletion = _Deletion(self.pruner, self.paths, self.clock, plan, copies)
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
        # A deletion needs a vacuum until it is complete.
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
    copies: ImportedCopies

    @property
    def _thread_files(self) -> ThreadFiles:
        return ThreadFiles(central=self.paths.central_dir, clock=self.clock)

    def remove(self) -> int:
        """Delete everything except remains in the free space of the store's file.

        Return the number of deleted records. The caller then writes outputs again and
        calls `finish`.
        """
        self._add_tombstones()
        failpoint("forget.tombstones")
        self._seal_sources()
        failpoint("forget.sealed")
        self._erase_archived_lines()
        failpoint("forget.archive")
        self.copies.erase()
        self.pruner.report.problems += self.copies.warnings
        self._remove_thread_files()
        self._remove_hook_files()
        self.pruner.remove_annotations(self.plan.sessions, self.plan.text)
        failpoint("forget.files")
        removed = self._remove_from_store()
        failpoint("forget.removed")
        return removed

    def finish(self) -> None:
        """Delete remains in the store's free space, in copies and temporary files."""
        data_dir, archive_dir = self.paths.data_dir, self.paths.archive_dir
        for pattern in (f"*{TEMPORARY_SUFFIX}", "store.db.new*"):
            for path in data_dir.glob(pattern):
                path.unlink()
        for path in (
            # The scratch files `.replay` and `.redecode`.
            *archive_dir.glob(".re*"),
            *archive_dir.rglob("*" + TEMPORARY_SUFFIX),
            *self.paths.imports_dir.rglob("*" + TEMPORARY_SUFFIX),
        ):
            path.unlink()
        for folder in {thread.folder for thread in self.plan.threads}:
            with suppress(SinkError):
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
        """Archive no more of the logs that have entries to forget.

        To forget a session, also have their archive files deleted as a whole, those of
        forks, too: which lines are forgotten is not known without decoding them.
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
        problems = []
        for thread in plan.threads:
            if (thread.agent, thread.session_id) in whole_sessions:
                problems.append(files.remove(thread))
            else:
                files.remove_transcripts(thread)
        if plan.text:
            threads = (*plan.threads, *plan.other_threads)
            problems += [files.remove_with_text(t, plan.text) for t in threads]
        self.pruner.report.problems += filter(None, problems)

    def _remove_hook_files(self) -> None:
        data_dir, text = str(self.paths.data_dir), self.plan.text
        ids = {session_id for _, session_id in self.plan.sessions}
        whole_sessions = self.plan.list_whole_sessions()
        ids |= {
            thread.thread_id
            for thread in self.plan.threads
            if (thread.agent, thread.session_id) in whole_sessions
        }

        def must_be_deleted(path: str, data: bytes) -> bool:
            if text and text.is_in_values(path, data):
                return True
            return any(id_ in path or id_.encode() in data for id_ in ids)

        delete_matching(data_dir, must_be_deleted)
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
        """Yield stored paths that contain the text, and files that still contain it."""
        text = self.plan.text
        if text is None:
            return
        with ForgetReader(self.paths.store_file) as reader:
            paths = [source.path for source in reader.list_read_sources()]
            paths += {thread.folder for thread in reader.list_thread_folders()}
        paths_with_text = [os.fsdecode(path) for path in paths if text.is_in(path)]
        yield from (Remainder("path", path) for path in paths_with_text)
        for path in self._list_own_files():
            # If a path has the text, store and manifest have it, too: they keep paths.
            if not paths_with_text and _is_in_file(text, path):
                yield Remainder("own", str(path))
        folders = {t.folder for t in (*self.plan.threads, *self.plan.other_threads)}
        for folder in sorted(folders):
            base = Path(os.fsdecode(folder))
            for name in list_files(base, LESLIE_FOLDER):
                if has_text(base, name, text):
                    yield Remainder("asset", str(base / name))

    def _list_own_files(self) -> list[Path]:
        """Return leslied's own files, without the archive and the central tree.

        Both were searched before.
        """
        folders = (self.paths.data_dir, self.paths.state_dir)
        return [
            path
            for folder in folders
            for path in sorted(folder.rglob("*"))
            if path.is_file()
            and path.suffix != ".zst"
            and not path.is_relative_to(self.paths.central_dir)
        ]


def _make_copies(
    folder: Path, queries: QueryContext, plan: ForgetPlan
) -> ImportedCopies:
    agents = {a.name: (a, tuple(roots)) for a, roots in queries.list_agent_roots()}
    return ImportedCopies(
        folder=folder,
        agents=agents,
        sessions=frozenset(plan.sessions),
        text=plan.text,
        logs=frozenset(plan.raw.logs),
    )


def _is_in_file(text: LiteralText, path: Path) -> bool:
    """Return whether a file, which may be large, holds the text."""
    tail = b""
    with path.open("rb") as file:
        while data := file.read(_CHUNK_BYTES):
            if text.is_in(tail + data):
                return True
            tail = data[-_OVERLAP_BYTES:]
    return False
