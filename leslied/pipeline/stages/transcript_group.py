"""Transcripts of several units, also of several sessions, that are written together.

Their names are reserved in one transaction, and their files are synced together and
then recorded in another transaction. That is much faster than unit by unit. While a
second process renders a full group, the units of the next one are loaded.
"""

from __future__ import annotations

from contextlib import ExitStack
from itertools import groupby
from typing import TYPE_CHECKING

from msgspec import Struct, field

from leslied.errors import StoreUnusable
from leslied.folders import FileBatch
from leslied.forked import can_fork, iter_in_fork, map_in_two_processes
from leslied.pipeline.stages.transcript_writer import OutputFolders, TranscriptWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from leslied.model.record import SessionKey
    from leslied.store import Store, TranscriptLedger

_MAX_UNITS = 32
_MAX_CHARACTERS = 4_000_000
"""Characters of all entries of a group, which are in memory together."""
_MIN_FORKED_UNITS = 8
"""Number of units below which starting a process costs more than it saves."""


class _ClosedGroup(Struct):
    """A group to which no more units are added."""

    writers: list[TranscriptWriter]
    complete_sessions: list[SessionKey]
    """The sessions of which no unit is left to be written."""
    contents: Iterable[list[bytes]]
    """The contents of each unit's files, which a second process may be rendering."""


class TranscriptGroup(Struct):
    """Finished units to write together, and sessions to mark as settled afterwards."""

    store: Store
    central: Path
    """The central tree; its folders are created."""
    on_error: Callable[[SessionKey, Exception], None]
    """Called for each session that could not be written."""
    on_success: Callable[[SessionKey], None]
    """Called for each session that is settled."""
    _writers: list[TranscriptWriter] = field(default_factory=list)
    _complete_sessions: list[SessionKey] = field(default_factory=list)
    """The sessions of which no unit is left to be written."""
    _characters: int = 0
    _closed_group: _ClosedGroup | None = None
    """The previous group, whose files are written when this one is closed."""

    def add(self, writer: TranscriptWriter) -> None:
        """Add a unit, and reserve the names of its files.

        If the group is full now, close it, and write the group that was closed before
        it, while a second process may render this one.
        """
        with self.store.transcripts() as ledger:
            writer.reserve_names(ledger)
        self._writers.append(writer)
        self._characters += writer.count_characters()
        if len(self._writers) >= _MAX_UNITS or self._characters >= _MAX_CHARACTERS:
            closed_group = self._take_group(_start_rendering)
            self._write_closed_group()
            self._closed_group = closed_group

    def complete(self, key: SessionKey) -> None:
        """Mark the session as settled when the group is written."""
        self._complete_sessions.append(key)

    def write(self) -> None:
        """Write all files that are not written yet."""
        self._write_closed_group()
        self._closed_group = self._take_group(_render_on_demand)
        self._write_closed_group()

    def _take_group(
        self, render: Callable[[Sequence[TranscriptWriter]], Iterable[list[bytes]]]
    ) -> _ClosedGroup:
        """Return the group of all units so far, and begin an empty one."""
        writers, self._writers = self._writers, []
        sessions, self._complete_sessions = self._complete_sessions, []
        self._characters = 0
        return _ClosedGroup(writers, sessions, render(writers))

    def _write_closed_group(self) -> None:
        """Write the closed group, if any; if that fails, each of its sessions alone."""
        group, self._closed_group = self._closed_group, None
        if group is None:
            return
        try:
            self._write(group)
        except StoreUnusable:
            raise
        except Exception:  # noqa: BLE001 - find out which session failed
            self._write_one_by_one(group)

    def _write_one_by_one(self, failed: _ClosedGroup) -> None:
        """Write each session of a group that could not be written as a whole."""
        by_session = groupby(failed.writers, key=lambda writer: writer.session_key)
        for key, session_writers in by_session:
            writers = [*session_writers]
            complete = [key] if key in failed.complete_sessions else []
            contents = map(TranscriptWriter.render, writers)
            try:
                self._write(_ClosedGroup(writers, complete, contents))
            except StoreUnusable:
                raise
            except Exception as error:  # noqa: BLE001 - any bug ends this session only
                self.on_error(key, error)
        keys = {writer.session_key for writer in failed.writers}
        without_units = sorted(set(failed.complete_sessions) - keys)
        self._write(_ClosedGroup([], without_units, []))

    def _write(self, group: _ClosedGroup) -> None:
        if any(writer.has_new_names for writer in group.writers):
            # After a crash, no file may exist whose name is not reserved.
            self.store.flush()
        with ExitStack() as stack:
            outputs = OutputFolders(self.central, stack)
            batch = stack.enter_context(FileBatch())
            for writer, files in zip(group.writers, group.contents, strict=True):
                writer.write_files(files, outputs, batch)
        with self.store.transcripts() as ledger:
            self._save(group, ledger)
        for key in group.complete_sessions:
            self.on_success(key)

    def _save(self, group: _ClosedGroup, ledger: TranscriptLedger) -> None:
        for writer in group.writers:
            writer.save(ledger)
        by_session = {writer.session_key: writer for writer in group.writers}
        for writer in by_session.values():
            writer.remove_surplus(ledger)
        for key in group.complete_sessions:
            ledger.mark_settled(key.agent, key.session_id)


def _start_rendering(writers: Sequence[TranscriptWriter]) -> Iterable[list[bytes]]:
    """Start to render the units in a second process; without one, render on demand."""
    if _can_fork_for(writers):
        return iter_in_fork(map(TranscriptWriter.render, writers))
    return map(TranscriptWriter.render, writers)


def _render_on_demand(writers: Sequence[TranscriptWriter]) -> Iterator[list[bytes]]:
    """Yield the contents of each unit's files; a second process renders half of them.

    Nothing is rendered before the first is asked for, so that errors appear there.
    """
    if _can_fork_for(writers):
        yield from map_in_two_processes(TranscriptWriter.render, writers)
    else:
        yield from map(TranscriptWriter.render, writers)


def _can_fork_for(writers: Sequence[TranscriptWriter]) -> bool:
    """Return whether a second process can render these units, and is worth its cost."""
    is_in_memory = all(writer.is_in_memory for writer in writers)
    return len(writers) >= _MIN_FORKED_UNITS and is_in_memory and can_fork()
