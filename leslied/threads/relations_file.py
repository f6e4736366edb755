"""Changing `thread_relations.json` on disk, beside a Leslie that may do the same.

Under Leslie's lock: read, change, keep what was there as the backup, write whole. A
damaged file is restored from its backup; the backup is replaced only by what can be
read.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import UTC
from threading import Event
from typing import TYPE_CHECKING, NamedTuple

from leslied.errors import SinkError
from leslied.failpoints import failpoint
from leslied.threads._lock import RETRY_DELAYS_SECONDS, LockBusyError, hold_lock
from leslied.threads.layout import RELATIONS_FILE
from leslied.threads.relations import (
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
    from leslied.threads.operations import RelationsData

__all__ = ["RETRY_DELAYS_SECONDS", "LockBusyError", "RelationsFile", "format_utc"]

BACKUP_FILE = RELATIONS_FILE + ".bak"
DAMAGED_FILE = RELATIONS_FILE + ".damaged"
"""What could not be read, kept for a person to look at."""


class RelationsUpdate(NamedTuple):
    """Whether the file was written, and what it looked like before it was let go."""

    is_changed: bool
    stamp: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationsFile:
    """The relations of one project; `base` holds its `.leslie`, which must exist."""

    base: Path
    clock: Clock
    read: Callable[[Path, str], bytes | None]
    """What a file below a folder holds; None where there is none."""
    write: Callable[[Path, str, bytes], None]
    """Puts a file below a folder in place, whole."""
    pause: Callable[[float], object] = lambda seconds: Event().wait(seconds)
    retry_delays: tuple[float, ...] = RETRY_DELAYS_SECONDS

    def update(self, edit: Callable[[RelationsData, str], object]) -> RelationsUpdate:
        """`work` was done on what the file says, and stands in it.

        It is given the time as the file writes it. Without a change nothing is written.
        """
        lock = RELATIONS_FILE.rpartition("/")[2] + ".lock"
        folder = self.base / ".leslie"
        with hold_lock(folder, lock, self.clock, self.pause, self.retry_delays) as held:
            data, good = self._load()
            before, now = json.dumps(data), format_utc(self.clock.now())
            edit(data, now)
            if json.dumps(data) == before:
                return RelationsUpdate(is_changed=False, stamp=self.stamp())
            data["metadata"]["last_updated"] = now
            data["metadata"]["thread_count"] = len(data["threads"])
            text = self._encode(data)
            if good is not None:
                self.write(self.base, BACKUP_FILE, good)
            failpoint("relations.backup")
            held.refresh()
            self.write(self.base, RELATIONS_FILE, text)
            return RelationsUpdate(is_changed=True, stamp=self.stamp())

    def stamp(self) -> str:
        """What tells this state of the file from any other; empty without a file."""
        try:
            found = os.lstat(self.base / RELATIONS_FILE)
        except OSError:
            return ""
        return f"{found.st_ino} {found.st_size} {found.st_mtime_ns}"

    def _load(self) -> tuple[RelationsData, bytes | None]:
        """What the file says, and its bytes if they are worth a backup."""
        text = self.read(self.base, RELATIONS_FILE)
        if text is None:
            return make_empty_relations(), None
        try:
            return parse_relations(text), text
        except InvalidRelationsError as error:
            return self._restore(text, str(error)), None

    def _restore(self, text: bytes, reason: str) -> RelationsData:
        backup = self.read(self.base, BACKUP_FILE)
        try:
            data = parse_relations(backup or b"")
        except InvalidRelationsError as error:
            raise SinkError(
                f"{self.base / RELATIONS_FILE} cannot be read ({reason}), "
                "and neither can its backup.",
                "Mend the file or move it away.",
            ) from error
        self.write(self.base, DAMAGED_FILE, text)
        self.write(self.base, RELATIONS_FILE, backup or b"")
        return data

    def _encode(self, data: RelationsData) -> bytes:
        try:
            return encode_relations(data)
        except InvalidRelationsError as error:
            raise SinkError(f"The relations would be wrong: {error}.") from error


def format_utc(time: datetime) -> str:
    """The time as Leslie writes it."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
