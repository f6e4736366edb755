"""Delete the files that leslied wrote about threads."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from leslied import sinks
from leslied.errors import SinkError, UserError
from leslied.layout import (
    INDEX_FILE,
    INDEX_PAGE,
    META_FOLDER,
    RELATIONS_BACKUP,
    RELATIONS_DAMAGED,
    RELATIONS_FILE,
    exports_folder,
    meta_gitignore_file,
    thread_folder,
    transcripts_folder,
)
from leslied.threads.operations import list_leslied_threads, remove_thread
from leslied.threads.relations_file import LockBusyError, RelationsFile

if TYPE_CHECKING:
    from collections.abc import Collection

    from leslied.clock import Clock
    from leslied.literal_text import LiteralText
    from leslied.store.read.forget_queries import SessionThreadFolder
    from leslied.threads.operations import RelationsData

_RELATIONS_FILES = (RELATIONS_FILE, RELATIONS_BACKUP, RELATIONS_DAMAGED)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadFiles:
    """Deletes files of threads, in projects and in the central tree."""

    central: Path
    """The central tree."""
    clock: Clock

    def remove(self, thread: SessionThreadFolder) -> str:
        """Delete everything that leslied wrote about a thread.

        The project's index is written again by the asset index stage. Return why the
        relations file still has the thread, or "".
        """
        base = Path(os.fsdecode(thread.folder))
        reason = self.remove_relations(base, thread.thread_id)
        self.remove_outputs(base, thread.thread_id)
        for name in (INDEX_FILE, INDEX_PAGE):
            sinks.remove_file(base, name)
        return reason

    def remove_outputs(
        self, base: Path, thread_id: str, kept_files: Collection[str] = ()
    ) -> None:
        """Delete what leslied wrote to a thread's folder, except `kept_files`.

        Files that agents and people wrote into the folder stay.
        """
        if kept_files:
            folder = f"{thread_folder(thread_id)}/{META_FOLDER}"
            for name in sinks.list_files(base, folder):
                if name not in kept_files and name != meta_gitignore_file(thread_id):
                    sinks.remove_file(base, name)
        elif base.is_relative_to(self.central):
            sinks.remove_central_thread(base, thread_id)
        else:
            sinks.remove_thread(base, thread_id)

    def remove_transcripts(self, thread: SessionThreadFolder) -> None:
        """Delete a thread's transcripts and exports, so that they are written again."""
        base, thread_id = Path(os.fsdecode(thread.folder)), thread.thread_id
        for folder in (
            transcripts_folder(thread_id),
            transcripts_folder(thread_id, is_subagent=True),
            exports_folder(thread_id),
        ):
            for name in sinks.list_files(base, folder):
                sinks.remove_file(base, name)

    def remove_with_text(self, thread: SessionThreadFolder, text: LiteralText) -> str:
        """Delete those files about a thread and its project that hold the text.

        Return why the relations file still has the thread, or "".
        """
        base, thread_id = Path(os.fsdecode(thread.folder)), thread.thread_id
        folder = f"{thread_folder(thread_id)}/{META_FOLDER}"
        for name in (*sinks.list_files(base, folder), INDEX_FILE, INDEX_PAGE):
            if has_text(base, name, text):
                sinks.remove_file(base, name)
        if any(has_text(base, name, text) for name in _RELATIONS_FILES):
            return self.remove_relations(base, thread_id)
        return ""

    def remove_relations(self, base: Path, thread_id: str) -> str:
        """Remove a thread from the relations file and from its backup.

        Return why that was impossible, or "". Raise UserError if Leslie holds the lock
        of the file.
        """
        if sinks.read_file(base, RELATIONS_FILE) is None:
            return ""
        file = RelationsFile(
            base=base, clock=self.clock, read=sinks.read_file, write=sinks.write_file
        )
        try:
            file.update(lambda data, _: _remove_own_thread(data, thread_id))
            self.refresh_backup(base)
        except LockBusyError as error:
            raise UserError(
                f"Another program holds the lock of {base / RELATIONS_FILE}.",
                "Wait for it to end, then run the same command again.",
            ) from error
        except SinkError as error:
            return error.message
        return ""

    def refresh_backup(self, base: Path) -> None:
        """Copy the relations file to its backup; delete the copy of a damaged file.

        What was removed from the relations file must not remain in the other two.
        """
        data = sinks.read_file(base, RELATIONS_FILE)
        if data is not None and sinks.read_file(base, RELATIONS_BACKUP) is not None:
            sinks.write_file(base, RELATIONS_BACKUP, data)
        sinks.remove_file(base, RELATIONS_DAMAGED)


def _remove_own_thread(data: RelationsData, thread_id: str) -> None:
    """Remove a thread, unless Leslie recorded it."""
    if thread_id in list_leslied_threads(data):
        remove_thread(data, thread_id)


def has_text(base: Path, name: str, text: LiteralText) -> bool:
    """Return whether a file below the base has the text in its name or content."""
    data = sinks.read_file(base, name)
    return data is not None and text.is_in_values(name, data)
