"""Being rid of whole sessions: what may go, and taking it out of store and archive."""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from leslied import sinks, tail
from leslied.errors import UserError
from leslied.points import reach
from leslied.sessions import Stream, assemble, tell_status
from leslied.sessions.retention import Sizes, has_failed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from leslied.agents import AgentAdapter
    from leslied.clock import Clock
    from leslied.model.output import Transcript
    from leslied.model.session import ProcessRegistry, SessionSummary
    from leslied.model.source import Root
    from leslied.pipeline.keep import Keep
    from leslied.sessions.retention import Going
    from leslied.store import Store, StoreReader

_BATCH_BYTES = 8_000_000
_BATCH_SESSIONS = 500
_SLACK = 32_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasons:
    """Why sessions stay, of which somebody might want to be rid; nothing is changed."""

    reader: StoreReader
    roots: Mapping[str, tuple[Root, ...]]
    """Each agent's folders."""
    live: set[tuple[str, str]]
    """Agent and id of sessions that a process works on."""
    clock: Clock
    takes_failed: bool = False

    def why_stays(self, session: SessionSummary) -> str:
        """Why a session may not go; empty where it may."""
        is_live = session.key[:2] in self.live
        status = tell_status(session, self.clock.now(), is_live=is_live)
        if status != "stopped":
            return status
        if self._has_unread(session):
            return "unread"
        if not self.takes_failed and self._has_failed(session):
            return "failed"
        return ""

    def _has_unread(self, session: SessionSummary) -> bool:
        """Whether a log of the session has changed since it was read."""
        for log in self.reader.sizes.list_sources(session.key[:2]):
            path = Path(os.fsdecode(log.path))
            ref = tail.identify(log.agent, self.roots.get(log.agent, ()), path)
            if ref and not tail.is_unchanged(ref, log.cursor, is_final=False):
                return True
        return False

    def _has_failed(self, session: SessionSummary) -> bool:
        records = self.reader.list_records(session.row, session.units)
        units = assemble(Stream(session, records), [])
        return bool(units) and has_failed(units[-1])


def weigh(reader: StoreReader) -> Sizes:
    """How much room store and archive take, and each session in them."""
    weights = reader.sizes
    return Sizes(
        store=weights.get_used_bytes(),
        archive=weights.get_archive_bytes(),
        stored=weights.get_store_bytes_by_session(),
        archived=weights.get_archive_bytes_by_session(),
    )


def find_live(
    registries: Sequence[tuple[AgentAdapter, Sequence[ProcessRegistry]]],
) -> set[tuple[str, str]]:
    """Agent and id of every session that a process works on now."""
    return {
        (adapter.name, session_id)
        for adapter, files in registries
        for session_id, is_there in tail.find_processes(
            files, adapter.parse_live_process
        ).items()
        if is_there
    }


@dataclass(slots=True)
class Pruned:
    """The work a prune did."""

    sessions: int = 0
    records: int = 0
    archive_files: int = 0
    transcripts: int = 0
    changed: list[str] = field(default_factory=list)
    """Transcripts that stay because somebody changed them."""
    copies: int = 0
    """Older copies of the store, which held all of it."""
    is_whole: bool = True
    """Whether no word is left in the file; not while somebody reads on in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prune:
    """Takes sessions away; `finish` makes sure that no word of them is left."""

    store: Store
    keep: Keep
    has_transcripts: bool = False
    """Whether the files that were written of them go too."""
    done: Pruned = field(default_factory=Pruned)

    def check_room(self, left: int) -> None:
        """There is room to write anew a store of which about so much is left."""
        needed = 2 * left + _SLACK
        free = shutil.disk_usage(self.store.path.parent).free
        if free < needed:
            raise UserError(
                f"Making the store smaller takes {needed / 1e6:.0f} MB of free space "
                f"for a while, and there are {free / 1e6:.0f} MB; nothing was removed.",
                "Free some space, or remove more at once: leslied disk",
            )

    def remove(self, batch: Sequence[Going]) -> None:
        """These sessions are gone, all of them or, after a crash, none."""
        names = [going.session.key[:2] for going in batch]
        if self.has_transcripts:
            self._remove_transcripts(names)
        with self.store.pruner() as pruning:
            self.done.records += pruning.remove(names)
            reach("prune.before")
        reach("prune.after")
        self.done.sessions += len(names)

    def finish(self) -> None:
        """What is gone is also gone from the archive, the manifest and the disk."""
        self.done.archive_files += self.keep.sweep()
        self.keep.save_manifest(has_news=True)
        for copy in find_copies(self.store.path):
            copy.unlink(missing_ok=True)
            self.done.copies += 1
        self.done.is_whole = self.store.vacuum()
        reach("prune.shrunk")
        if self.done.is_whole:
            with self.store.pruner() as pruning:
                pruning.mark_vacuumed()

    def _remove_transcripts(self, names: list[tuple[str, str]]) -> None:
        for name in names:
            with self.store.transcripts() as outbox:
                files = outbox.list_files(*name)
            for file in files:
                self._remove_file(file)

    def _remove_file(self, file: Transcript) -> None:
        """A file that is as we wrote it goes; any other is its owner's."""
        base = Path(os.fsdecode(file.folder))
        data = sinks.read_file(base, file.file)
        if data is None:
            return
        if hashlib.sha256(data).digest()[:16] != file.digest:
            self.done.changed.append(str(base / file.file))
            return
        sinks.remove_file(base, file.file)
        self.done.transcripts += 1


def make_batches(going: Sequence[Going]) -> Iterator[list[Going]]:
    """As many sessions as one transaction takes."""
    batch: list[Going] = []
    size = 0
    for each in going:
        batch.append(each)
        size += each.size
        if size >= _BATCH_BYTES or len(batch) >= _BATCH_SESSIONS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def find_copies(store: Path) -> list[Path]:
    """Copies of the store that were saved beside it, with all that it held then."""
    names = ("before-rebuild*", "form*")
    return sorted(
        f for name in names for f in store.parent.glob(f"{store.name}.{name}")
    )
