"""What agents wrote, kept for ever: sources of sessions that rest go to the archive."""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from leslied import archive, tail
from leslied.archive import ArchiveError, ArchiveNewer, Kind, Label, Writer
from leslied.errors import SourceError, StoreUnusable
from leslied.model.source import Shape
from leslied.pipeline.failures import Failures, describe_error
from leslied.pipeline.look import FIRST_CWD, load_state
from leslied.pipeline.progress import tell_nobody
from leslied.points import reach
from leslied.sessions.status import QUIET
from leslied.store.archived import Kept
from leslied.store.given import KnownRuns
from leslied.tail.files import open_regular, stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from leslied.archive import Frame
    from leslied.clock import Clock
    from leslied.model.source import Cursor, Root, SourceRef
    from leslied.pipeline.progress import Progress
    from leslied.store import Store
    from leslied.store.archived import Due

_AT_ONCE = 64
"""Sources noted in one transaction; what a crash leaves unnoted is recognised, and
a file whose name did not reach the disk is missed at the next run and made anew."""
_MICROSECOND = timedelta(microseconds=1)
_UNKEPT = (Shape.SQLITE, Shape.JSON_TREE, Shape.COMPRESSED_LOG)
"""No bytes of these are ours to keep: rows and the files of a tree change in place, and
a packed log is already what an archive would make of it."""


@dataclass(slots=True)
class KeptNow:
    """The work one run did."""

    sources: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    excluded: int = 0
    gone: int = 0
    has_more: bool = False
    """Whether some that are due were left for the next run."""
    troubles: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """The way from logs to the archive, for sessions that are settled or stopped."""

    store: Store
    folder: Path
    """Where the archive stands."""
    roots: Mapping[str, tuple[Root, ...]]
    """Each agent's folders."""
    clock: Clock
    key_id: str = ""
    """Names the key of redaction marks."""
    is_excluded: Callable[[str, str], bool] = lambda _, __: False
    """Whether an agent's sessions in a folder are not to be kept; "" is unknown."""
    limits: tail.ReadLimits = field(default_factory=tail.ReadLimits)
    failures: Failures = field(default_factory=Failures)
    on_progress: Progress = tell_nobody
    """Told of the sources, some at a time."""

    def run(self, *, most: int = 1_000_000) -> KeptNow:
        """Every byte that was read, of every session that rests, is in the archive.

        What is archived already costs a stat of its archive file, and no reading. Once
        `most` sources or a few more are done, the others wait for the next run.
        """
        self.sweep()
        self._doubt_changed()
        done = self.go_on(most=most)
        if not done.has_more:
            self.save_manifest(has_news=done.sources > 0)
        return done

    def sweep(self) -> int:
        """Archive files of sessions that were pruned are gone. Says how many were."""
        with self.store.archiving() as archived:
            condemned = archived.condemned()
        for _, file in condemned:
            (self.folder / file).unlink(missing_ok=True)
            reach("sweep.half")
        if condemned:
            with self.store.archiving() as archived:
                archived.note_swept(source for source, _ in condemned)
        return len(condemned)

    def go_on(self, *, most: int) -> KeptNow:
        """Some more of what is due is archived; nothing else is looked at."""
        done = KeptNow()
        quiet_us = _to_us(self.clock) - QUIET // _MICROSECOND
        with self.store.archiving() as archived:
            archived.note_feeds()
            due = archived.due(quiet_us)
        folders: set[Path] = set()
        for start in range(0, len(due), _AT_ONCE):
            if done.sources >= most:
                done.has_more = True
                break
            with self.store.archiving() as archived:
                some = archived.load(due[start : start + _AT_ONCE])
            kept = [self._try(each, done) for each in some]
            self.on_progress(start + len(some), len(due))
            with self.store.archiving() as archived:
                for each in filter(None, kept):
                    archived.save(each)
                    if each.file:
                        folders.add((self.folder / each.file).parent)
        for folder in folders:
            archive.sync_folder(folder)
        return done

    def _doubt_changed(self) -> None:
        """An archive file that is not as it was left is looked at again."""
        with self.store.archiving() as archived:
            changed = [
                source
                for source, file, size in archived.files()
                if not _has_size(self.folder / file, size)
            ]
            for source in changed:
                archived.doubt(source)

    def _try(self, due: Due, done: KeptNow) -> Kept | None:
        """Archive one source; its error stays with it, a newer archive is raised."""
        name = os.fsdecode(due.path)
        if self.failures.is_paused("archive", name):
            return None
        try:
            kept = self._keep(due, done)
        except (ArchiveNewer, StoreUnusable):
            raise
        except (ArchiveError, SourceError) as error:
            done.troubles[name] = error.message
            return None
        except Exception as error:  # noqa: BLE001 - any bug ends this source only
            reason = describe_error(error)
            done.troubles[name] = self.failures.record("archive", name, reason)
            return None
        self.failures.clear("archive", name)
        return kept

    def _keep(self, due: Due, done: KeptNow) -> Kept | None:
        if self._is_kept_out(due):
            done.excluded += 1
            return None
        path = Path(os.fsdecode(due.path))
        ref = tail.identify(due.agent, self.roots.get(due.agent, ()), path)
        if ref is None:
            done.gone += 1
            return None
        cursor = due.cursor
        where = (cursor.generation, cursor.offset, cursor.finished)
        with self.store.archiving() as archived:
            if ref.shape in _UNKEPT or archived.is_pruned(due.source):
                # Noted all the same, so that it is not asked about again and again.
                file, size = (due.kept.file, due.kept.size) if due.kept else ("", -1)
                return Kept(due.source, *where, 0, 0, file, size)
            newest = archived.newest()
            spills = archived.spills(due.source, due.kept.newest if due.kept else 0)
            file = self._name(due, archived.is_taken)
        with Writer(self.folder / file) as writer:
            before = writer.size
            number = _Copy(self, due, ref, writer, done).run()
            _add_spills(writer, number, spills)
            writer.sync()
            size = writer.size
        done.sources += 1
        done.bytes_written += max(size - before, 0)
        return Kept(due.source, *where, number, newest, file, size)

    def _is_kept_out(self, due: Due) -> bool:
        """The person keeps this project out, now or when it was read."""
        state = load_state(due.cursor.state)
        folders = {str(state[name]) for name in (FIRST_CWD, "cwd") if state.get(name)}
        if any(self.is_excluded(due.agent, folder) for folder in folders or {""}):
            return True
        with self.store.archiving() as archived:
            return archived.is_excluded(due.source)

    def _name(self, due: Due, is_taken: Callable[[str, int], bool]) -> str:
        """The source's own archive file; a moved source keeps the one it had."""
        if due.kept and due.kept.file:
            return due.kept.file
        name, number = archive.name_file(due.agent, due.path), 1
        stem = name.removesuffix(".zst")
        while is_taken(name, due.source):
            number += 1
            name = f"{stem}-{number}.zst"
        return name

    def save_manifest(self, *, has_news: bool) -> None:
        """The manifest holds every name that was given."""
        with self.store.giving() as giving:
            mark = giving.mark()
            is_told = giving.told() == mark and archive.has_manifest(self.folder)
            if is_told and not has_news:
                return
            known = archive.load_manifest(self.folder, KnownRuns).sessions
            told = {
                "key_id": self.key_id,
                "created_us": giving.created_us(),
                "pruned": list(giving.tombstones.all()),
            }
            archive.save_manifest(self.folder, told, giving.all(known))
        with self.store.giving() as giving:
            giving.note_told(mark)


@dataclass(frozen=True, slots=True)
class _Copy:
    """One source's new bytes, on their way into its archive file."""

    keep: Keep
    due: Due
    ref: SourceRef
    writer: Writer
    done: KeptNow

    def run(self) -> int:
        """The archive file holds all that was read. Says the generation's number.

        The checksum of all bytes that were read must come out: a log that was
        rewritten since waits until it is read again.
        """
        with open_regular(self.ref.path) as fd:
            if self.ref.shape is Shape.DOCUMENT:
                return self._add_document(fd)
            number = self._add_lines(fd)
            self._add_tail(fd, number)
            return number

    def _add_document(self, fd: int) -> int:
        cursor = self.due.cursor
        last = self.writer.last(Kind.DOCUMENT)
        if last and (last.length, last.crc) == (cursor.offset, cursor.crc):
            return last.generation
        number = max(cursor.generation, last.generation + 1 if last else 1)
        label = self._label(Kind.DOCUMENT, number, 0, cursor.offset, 0, cursor.crc)
        self.writer.append(label, self._read(fd, 0, cursor.offset))
        return number

    def _add_lines(self, fd: int) -> int:
        """Lines after the last frame; bytes that do not continue it start anew."""
        cursor = self.due.cursor
        last = self._find_last()
        if last and last.reaches <= cursor.offset:
            start, crc, number = last.reaches, last.running_crc, last.generation
            if (start, crc) == (cursor.offset, cursor.crc):
                return number
            try:
                return self._add(fd, number, start, crc)
            except ArchiveError as error:
                if self.due.kept and self.due.kept.offset >= 0:
                    raise error from None
        newest = self.writer.last(*Kind)
        number = max(cursor.generation, newest.generation + 1 if newest else 1)
        return self._add(fd, number, 0, 0)

    def _find_last(self) -> Frame | None:
        """The frame to continue; none for a generation that is not archived yet."""
        kept = self.due.kept
        if kept is None:
            newest = self.writer.last(*Kind)
            number = newest.generation if newest else 0
        elif kept.generation == self.due.cursor.generation:
            number = kept.number
        else:
            return None
        return self.writer.last(Kind.LOG, generation=number)

    def _add(self, fd: int, number: int, start: int, crc: int) -> int:
        end = self.due.cursor.offset
        if end > start:
            length, after = end - start, self.due.cursor.crc
            label = self._label(Kind.LOG, number, start, length, crc, after)
            self.writer.append(label, self._read(fd, start, end))
        return number

    def _add_tail(self, fd: int, number: int) -> None:
        """A last line without its end that was taken as final."""
        start, end = self.due.cursor.offset, self.due.cursor.finished
        if end > start:
            label = self._label(Kind.TAIL, number, start, end - start, 0, None)
            self.writer.append(label, self._read(fd, start, end))

    def _label(
        self,
        kind: Kind,
        number: int,
        offset: int,
        length: int,
        crc: int,
        crc_after: int | None,
    ) -> Label:
        told = _describe(self.ref, self.due.cursor, self.due.first)
        if self.ref.side_file:
            told["beside"] = tail.read_beside(self.ref, self.keep.limits)
        return Label(
            kind=kind,
            generation=number,
            offset=offset,
            length=length,
            crc_before=crc,
            crc_after=crc_after,
            told=told,
        )

    def _read(self, fd: int, start: int, end: int) -> Iterator[bytes]:
        for data in stream(fd, start, end, self.keep.limits.chunk):
            self.done.bytes_read += len(data)
            yield data


def _describe(ref: SourceRef, cursor: Cursor, first: int) -> dict[str, Any]:
    """All that is needed to decode the bytes again without the file."""
    stamp = cursor.stamp or ref.stamp
    return {
        "agent": ref.agent,
        "path": _encode(ref.path),
        "root": _encode(ref.root),
        "shape": ref.shape.value,
        "stamp": [stamp.dev, stamp.inode, stamp.size, stamp.mtime_ns, stamp.ctime_ns],
        "order": first,
    }


def _encode(path: Path) -> str:
    """A path may hold any bytes, and JSON may not."""
    return base64.b64encode(os.fsencode(path)).decode()


def _add_spills(writer: Writer, number: int, spills: list[tuple[str, str]]) -> None:
    """Results the agent kept in files of their own stand beside their log."""
    for metadata, text in spills:
        name = msgspec.json.decode(metadata).get("spill")
        data = text.encode(errors="surrogatepass")
        told = {"spill": name}
        label = Label(kind=Kind.SPILL, generation=number, length=len(data), told=told)
        writer.append(label, [data])


def _has_size(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size == size
    except OSError:
        return False


def _to_us(clock: Clock) -> int:
    return int(clock.now().timestamp() * 1e6)
