"""Transcripts of several units, also of several sessions, that are written together.

Their names are reserved in one transaction, their files synced together, and what was
written is recorded in another transaction. That is much faster than unit by unit.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from leslied.errors import StoreUnusable
from leslied.folders import FileBatch
from leslied.forked import can_fork, map_in_two_processes
from leslied.pipeline.stages.transcript_writer import OutputFolders, TranscriptWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from leslied.model.record import SessionKey
    from leslied.store import Store, TranscriptLedger

_MAX_UNITS = 32
_MAX_CHARACTERS = 4_000_000
"""Characters of all entries of a group, which are in memory together."""
_MIN_FORKED_UNITS = 8
"""Number of units below which starting a process costs more than it saves."""


@dataclass(slots=True)
class TranscriptGroup:
    """Finished units that are not written yet, and sessions that are settled then."""

    store: Store
    central: Path
    """The central tree; its folders are created."""
    on_error: Callable[[SessionKey, Exception], None]
    """Called for each session that could not be written."""
    on_success: Callable[[SessionKey], None]
    """Called for each session that is settled."""
    _writers: list[TranscriptWriter] = field(default_factory=list)
    _complete: list[SessionKey] = field(default_factory=list)
    """The sessions of which no unit is left to be written."""
    _characters: int = 0

    def add(self, writer: TranscriptWriter) -> None:
        """Reserve the names of a unit's files, which are written with the others."""
        with self.store.transcripts() as ledger:
            writer.reserve_names(ledger)
        self._writers.append(writer)
        self._characters += writer.count_characters()
        if len(self._writers) >= _MAX_UNITS or self._characters >= _MAX_CHARACTERS:
            self.write()

    def complete(self, key: SessionKey) -> None:
        """Mark the session as settled when the group is written."""
        self._complete.append(key)

    def write(self) -> None:
        """Write all files; if that fails, write the sessions one by one."""
        writers, self._writers = self._writers, []
        complete, self._complete = self._complete, []
        self._characters = 0
        try:
            self._write(writers, complete)
        except StoreUnusable:
            raise
        except Exception:  # noqa: BLE001 - find out which session failed
            self._write_one_by_one(writers, complete)

    def _write_one_by_one(
        self, writers: list[TranscriptWriter], complete: list[SessionKey]
    ) -> None:
        for key, group in groupby(writers, key=lambda writer: writer.session_key):
            try:
                self._write([*group], [key] if key in complete else [])
            except StoreUnusable:
                raise
            except Exception as error:  # noqa: BLE001 - any bug ends this session only
                self.on_error(key, error)
        empty = set(complete) - {writer.session_key for writer in writers}
        self._write([], sorted(empty))

    def _write(
        self, writers: Sequence[TranscriptWriter], complete: Sequence[SessionKey]
    ) -> None:
        if any(writer.has_new_names for writer in writers):
            # After a crash, no file may exist whose name is not reserved.
            self.store.flush()
        contents = _render(writers)
        with ExitStack() as stack:
            outputs = OutputFolders(self.central, stack)
            batch = stack.enter_context(FileBatch())
            for writer, files in zip(writers, contents, strict=True):
                writer.write_files(files, outputs, batch)
        with self.store.transcripts() as ledger:
            self._save(writers, complete, ledger)
        for key in complete:
            self.on_success(key)

    def _save(
        self,
        writers: Sequence[TranscriptWriter],
        complete: Sequence[SessionKey],
        ledger: TranscriptLedger,
    ) -> None:
        for writer in writers:
            writer.save(ledger)
        for writer in {writer.session_key: writer for writer in writers}.values():
            writer.remove_surplus(ledger)
        for key in complete:
            ledger.mark_settled(key.agent, key.session_id)


def _render(writers: Sequence[TranscriptWriter]) -> list[list[bytes]]:
    """Return the contents of each unit's files."""
    if len(writers) >= _MIN_FORKED_UNITS and can_fork():
        return map_in_two_processes(TranscriptWriter.render, writers)
    return [writer.render() for writer in writers]
