"""Find what to forget: a session, or every entry that holds a text. Read-only."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from leslied.errors import UserError
from leslied.layout import LESLIE_FOLDER
from leslied.literal_text import LiteralText
from leslied.pipeline.maintenance.raw_search import RawMatches, RawSearch
from leslied.projects.git_index import list_tracked_files
from leslied.queries.operations.forget_plan import (
    ForgetAnswer,
    ForgottenSession,
    Remainder,
)
from leslied.queries.resolve import resolve_id
from leslied.queries.sessions import load_session_summary
from leslied.store.read.forget_queries import ForgetReader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.queries.context import QueryContext
    from leslied.queries.operations.forget_plan import ForgetRequest
    from leslied.store.read.forget_queries import (
        SessionName,
        SessionPart,
        SessionThreadFolder,
    )


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
    threads: tuple[SessionThreadFolder, ...] = ()
    """Folders of the threads of `parts`."""
    other_threads: tuple[SessionThreadFolder, ...] = ()
    """Folders of all threads that are not in `threads`."""

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
            plan = _add_titles(plan, reader)
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
        counts = dict.fromkeys(plan.sessions, 0)
        counts |= {part.name: part.entries for part in plan.parts}
        for name, count in counts.items():
            summary = load_session_summary(self.context.reader, *name)
            redacted = self.context.redact_summary(summary)
            is_whole = name in whole_sessions
            sessions.append(ForgottenSession(redacted, count, is_whole))
        return ForgetAnswer(
            request=self.request,
            sessions=tuple(sessions),
            entries=len(plan.entry_ids),
            rejected=len(plan.rejected),
            archive_files=len(plan.raw.archive_files),
            remainders=tuple(
                Remainder(each.kind, self.context.redact(each.path))
                for each in _list_remainders(plan, self.context.paths.imports_dir)
            ),
            warnings=tuple(plan.raw.errors),
        )


def _add_titles(plan: ForgetPlan, reader: ForgetReader) -> ForgetPlan:
    """Add the titles of the entries, and other entries and sessions that repeat one.

    A title is not added if a session without any of the entries has it, too: it is too
    common to reveal what was forgotten.
    """
    names = {part.name for part in reader.list_parts(plan.entry_ids)}
    uses = reader.list_title_uses(reader.list_titles(plan.entry_ids))
    other_titles = {use.title for use in uses if use.session not in names}
    repeated = [use for use in uses if use.title not in other_titles]
    entry_ids = plan.entry_ids.union(use.entry_id for use in repeated)
    return replace(
        plan,
        entry_ids=entry_ids,
        titles=frozenset(use.title for use in repeated),
        parts=tuple(reader.list_parts(entry_ids)),
    )


def _list_remainders(plan: ForgetPlan, imports: Path) -> Iterator[Remainder]:
    """Yield logs and Git repositories that keep entries, as leslied changes neither."""
    for log in plan.raw.logs:
        # Copies of imported files are leslied's own, and are rewritten or deleted.
        if not Path(log).is_relative_to(imports):
            yield Remainder("log", log)
    for folder in sorted({os.fsdecode(thread.folder) for thread in plan.threads}):
        if list_tracked_files(Path(folder), LESLIE_FOLDER):
            yield Remainder("git", folder)
