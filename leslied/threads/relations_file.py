"""Updates of `thread_relations.json` on disk, concurrently with Leslie.

An update holds Leslie's lock, reads the file, saves it as the backup, and replaces it
atomically. A damaged file is restored from its backup; only a valid file replaces the
backup.
"""

from __future__ import annotations

import json
import os
from datetime import UTC
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from leslied.errors import SinkError
from leslied.failpoints import failpoint
from leslied.folders import open_base_folder
from leslied.layout import (
    LESLIE_FOLDER,
    RELATIONS_BACKUP,
    RELATIONS_DAMAGED,
    RELATIONS_FILE,
    RELATIONS_LOCK_NAME,
)
from leslied.threads._lock import RETRY_DELAYS_SECONDS, LockBusyError, hold_lock
from leslied.threads.relations import (
    MAX_RELATIONS_BYTES,
    InvalidRelationsError,
    encode_relations,
    make_empty_relations,
    parse_relations,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path

    from leslied.clock import Clock
    from leslied.folders import Folder
    from leslied.threads.operations import RelationsData

__all__ = ["RETRY_DELAYS_SECONDS", "LockBusyError", "RelationsFile", "format_utc"]


class RelationsUpdate(NamedTuple):
    """Whether the data changed, and the file's stamp when the lock was released."""

    is_changed: bool
    stamp: str


class RelationsFile(Struct, kw_only=True, eq=False):
    """The relations file of one project; `base/.leslie` must exist."""

    base: Path
    clock: Clock
    read: Callable[[Folder, str], bytes | None]
    """Return the bytes of a file below a folder, or None if it does not exist.

    It may cut a large file, but not before `MAX_RELATIONS_BYTES` + 1 bytes.
    """
    write: Callable[[Folder, str, bytes], None]
    """Replace a file below a folder atomically."""
    retry_delays: tuple[float, ...] = RETRY_DELAYS_SECONDS

    def update(self, edit: Callable[[RelationsData, str], object]) -> RelationsUpdate:
        """Call `edit` with the file's data and the current time, and save the result.

        `edit` changes the data in place. If it changes nothing, nothing is written.
        Raise LockBusyError if another process holds the lock, and SinkError if the
        file cannot be read or written.
        """
        with (
            open_base_folder(self.base) as folder,
            folder.open_subfolder(LESLIE_FOLDER) as leslie_fd,
            hold_lock(
                leslie_fd, RELATIONS_LOCK_NAME, self.clock, self.retry_delays
            ) as lock,
        ):
            data, valid_text = self._load(folder)
            data_before, now = json.dumps(data), format_utc(self.clock.now())
            edit(data, now)
            if json.dumps(data) == data_before:
                return RelationsUpdate(is_changed=False, stamp=self.stamp())
            data["metadata"]["last_updated"] = now
            data["metadata"]["thread_count"] = len(data["threads"])
            text = self._encode(data)
            if valid_text is not None:
                self.write(folder, RELATIONS_BACKUP, valid_text)
            failpoint("relations.backup")
            lock.refresh()
            self.write(folder, RELATIONS_FILE, text)
            return RelationsUpdate(is_changed=True, stamp=self.stamp())

    def stamp(self) -> str:
        """Return a text that changes with the file; empty if it does not exist."""
        try:
            status = os.lstat(self.base / RELATIONS_FILE)
        except OSError:
            return ""
        return f"{status.st_ino} {status.st_size} {status.st_mtime_ns}"

    def _load(self, folder: Folder) -> tuple[RelationsData, bytes | None]:
        """Return the data and the file's bytes.

        The bytes are None if the file is missing or was restored from its backup.
        Raise SinkError if the file cannot be read, or is too large: anyone may have put
        it there.
        """
        text = self.read(folder, RELATIONS_FILE)
        if text is None:
            if folder.has_file(RELATIONS_FILE):
                raise SinkError(
                    f"{self.base / RELATIONS_FILE} cannot be read. It is not changed.",
                    "Check who may read it, and whether the disk is damaged.",
                )
            return make_empty_relations(), None
        if len(text) > MAX_RELATIONS_BYTES:
            raise SinkError(
                f"{self.base / RELATIONS_FILE} is larger than {MAX_RELATIONS_BYTES} "
                "bytes. It is not read and not changed.",
                "Move the file away.",
            )
        try:
            return parse_relations(text), text
        except InvalidRelationsError as error:
            return self._restore(folder, text, str(error)), None

    def _restore(self, folder: Folder, text: bytes, reason: str) -> RelationsData:
        """Replace the damaged file by its backup, and return the backup's data.

        `text` is the damaged file. Raise SinkError if the backup is damaged too.
        """
        backup = self.read(folder, RELATIONS_BACKUP)
        try:
            data = parse_relations(backup or b"")
        except InvalidRelationsError as error:
            raise SinkError(
                f"{self.base / RELATIONS_FILE} cannot be read ({reason}), "
                "and neither can its backup.",
                "Repair the file or move it away.",
            ) from error
        self.write(folder, RELATIONS_DAMAGED, text)
        self.write(folder, RELATIONS_FILE, backup or b"")
        return data

    def _encode(self, data: RelationsData) -> bytes:
        try:
            return encode_relations(data)
        except InvalidRelationsError as error:
            raise SinkError(f"The relations would be invalid: {error}.") from error


def format_utc(time: datetime) -> str:
    """Format the time as Leslie does: UTC with milliseconds."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
