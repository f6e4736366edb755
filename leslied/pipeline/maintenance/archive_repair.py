"""Repair damaged archive files from the logs and the store.

The new file is written beside the damaged one and replaces it when it is verified.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from leslied import archive, tail
from leslied.archive import (
    ArchiveError,
    ArchiveReader,
    ArchiveRepair,
    ArchiveVersionError,
    ArchiveWriter,
    FrameKind,
)
from leslied.errors import SourceError
from leslied.failpoints import failpoint
from leslied.fs import TEMPORARY_SUFFIX, sync_folder
from leslied.model.source import Shape
from leslied.pipeline.maintenance.archive_replay import restore_source
from leslied.pipeline.stages.archive_frames import parse_spill
from leslied.rendering.humanize import format_count
from leslied.tail import ReadLimits
from leslied.tail.document import read_document
from leslied.tail.files import iter_range, open_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from leslied.archive import ArchiveFrame
    from leslied.model.source import Root, SourceRef
    from leslied.pipeline.ingest.decode import Mask
    from leslied.store.forgotten import Forgotten

    AddMissing = Callable[[ArchiveRepair], bool]
    """Adds the bytes that the new file still lacks. Returns whether the file then has
    everything that was in the damaged regions which were left out."""


class RepairResult(NamedTuple):
    """What a repair did to a file."""

    restored: int
    """Number of damaged parts that were replaced."""
    remaining: list[str]
    """Damage that cannot be repaired; those bytes stay in the file as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedOriginal:
    """What still exists of an archived source: its log, and results in the store."""

    log: SourceRef | None
    """None if the log is gone."""
    forgotten: Forgotten
    spills: Mapping[Any, bytes] = field(default_factory=dict)
    """Spilled results by name."""
    mask: Mask | None = None
    limits: ReadLimits = field(default_factory=ReadLimits)

    def read(self, start: int, end: int, *, is_erased: bool) -> Iterator[bytes]:
        """Yield bytes of the log, as the archive has them.

        With `is_erased`, forgotten lines are replaced by spaces, and secrets are
        masked. Without it, no lines were erased from the archive file. Raise
        SourceError if the log is gone, or for a forgotten line that was not erased.
        """
        if self.log is None:
            raise SourceError("the log is gone")
        with open_regular(self.log.path, self.log.root) as fd:
            if self.log.shape is Shape.DOCUMENT:
                chunks = iter([read_document(fd, self.limits)[start:end]])
            else:
                chunks = iter_range(fd, start, end, self.limits.chunk)
            if not (self.forgotten.has_lines or is_erased):
                yield from chunks
                return
            for line in archive.split_lines(chunks, start):
                yield self._filter_line(line.data, is_erased=is_erased)

    def _filter_line(self, line: bytes, *, is_erased: bool) -> bytes:
        """Return a line of the log as the archive file has it.

        If the file `is_erased`, a forgotten line is blank, and secrets are masked. Else
        raise SourceError for a forgotten line.
        """
        text = line.removesuffix(b"\n")
        is_forgotten = self.forgotten.has_line(line)
        if is_forgotten and not is_erased:
            raise SourceError("the log has lines that were forgotten")
        if is_forgotten:
            masked = b" " * len(text)
        else:
            masked = self.mask(text) if self.mask and is_erased else text
        return masked + line[len(text) :]

    def read_spill(self, name: Any) -> bytes:
        """Return a spilled result; raise SourceError if the store does not have it."""
        if name not in self.spills:
            raise SourceError("the store does not have the spilled result")
        return self.spills[name]


def repair_file(
    path: Path, original: ArchivedOriginal, add_missing: AddMissing | None = None
) -> RepairResult:
    """Replace an archive file by one in which damaged parts are restored.

    Without `add_missing`, regions without a valid header stay in the file, because they
    may contain more than the log shows. The file is not changed if nothing could be
    restored. Raise ArchiveError if the new file cannot be written or verified.
    """
    new_path = path.with_name(path.name + TEMPORARY_SUFFIX)
    try:
        repair = _write_copy(path, new_path, original, add_missing)
        if not repair.restored:
            return RepairResult(0, repair.remaining)
        _verify_copy(new_path, repair)
        failpoint("archive.repair")
        new_path.replace(path)
        sync_folder(path.parent)
    finally:
        new_path.unlink(missing_ok=True)
    return RepairResult(repair.restored, repair.remaining)


def _write_copy(
    path: Path,
    new_path: Path,
    original: ArchivedOriginal,
    add_missing: AddMissing | None,
) -> ArchiveRepair:
    """Write the new file.

    Leave out regions without a valid header if `add_missing` returns that nothing is
    lost without them. Otherwise write the file again with the regions.
    """
    if add_missing:
        repair, has_all_content = _write_once(
            path, new_path, original, add_missing, drops_regions=True
        )
        if has_all_content:
            return repair
    else:
        add_missing = _add_nothing
    repair, _ = _write_once(path, new_path, original, add_missing, drops_regions=False)
    return repair


def _add_nothing(_: ArchiveRepair) -> bool:
    return True


def _write_once(
    path: Path,
    new_path: Path,
    original: ArchivedOriginal,
    add_missing: AddMissing,
    *,
    drops_regions: bool,
) -> tuple[ArchiveRepair, bool]:
    """Write the new file; return the repair, and what `add_missing` returned."""
    new_path.unlink(missing_ok=True)
    with ArchiveReader(path) as reader, ArchiveWriter(new_path) as writer:
        repair = ArchiveRepair(reader, writer, original, drops_regions)
        repair.run()
        has_all_content = add_missing(repair)
        added = len(writer.frames) - len(reader.frames)
        repair.restored = max(repair.restored + len(repair.open_regions), added)
        writer.sync()
    return repair, has_all_content


def _verify_copy(new_path: Path, repair: ArchiveRepair) -> None:
    """Raise ArchiveError if the new file has more damage than `repair` left in it."""
    with ArchiveReader(new_path) as reader:
        damage = reader.find_damage()
    if len(damage) > len(repair.remaining):
        raise ArchiveError(f"The repaired copy cannot be verified: {damage[0]}.")


@dataclass(slots=True, kw_only=True)
class ArchiveFolderRepair:
    """Repair of every archive file, without the store that knows what was archived."""

    folder: Path
    roots: Mapping[str, tuple[Root, ...]]
    """Each agent's folders."""
    forgotten: Forgotten
    list_spills: Callable[[str, bytes], list[tuple[str, str]]]
    """Returns the spilled results of a source, as (metadata, text)."""
    mask: Mask | None
    limits: ReadLimits
    messages: list[str] = field(default_factory=list)
    """Sentences about repairs, and about damage that remains."""
    damage_without_log: list[str] = field(default_factory=list)
    """Damage in files whose log is gone."""

    def run(self) -> None:
        """Verify all files and repair the damaged ones.

        Raise ArchiveVersionError if a newer leslied wrote one of them.
        """
        for path in archive.list_files(self.folder):
            try:
                self._check_file(path)
            except ArchiveVersionError:
                raise
            except ArchiveError as error:
                self.messages.append(error.message)
                self.damage_without_log.append(error.message)

    def _check_file(self, path: Path) -> None:
        """Repair an archive file if it is damaged, and report what was done."""
        with ArchiveReader(path) as reader:
            if not reader.find_damage():
                return
            frames = [f for f in reader.frames if f.kind != FrameKind.SPILL]
        log = self._find_log(path, frames)
        result = repair_file(path, self._make_original(frames, log))
        if result.restored:
            parts = format_count(result.restored, "damaged part")
            self.messages.append(f"Restored {parts} of {path} from the log.")
        self.messages += [f"{damage}." for damage in result.remaining]
        if log is None:
            self.damage_without_log += result.remaining

    def _make_original(
        self, frames: list[ArchiveFrame], log: SourceRef | None
    ) -> ArchivedOriginal:
        spills: list[tuple[str, str]] = []
        if frames:
            source = restore_source(frames[-1])
            spills = self.list_spills(source.agent, os.fsencode(source.path))
        return ArchivedOriginal(
            log=log,
            forgotten=self.forgotten,
            spills=dict(parse_spill(*spill) for spill in spills),
            mask=self.mask,
            limits=self.limits,
        )

    def _find_log(self, path: Path, frames: list[ArchiveFrame]) -> SourceRef | None:
        """Return the log of an archive file, also if no frame says which it is."""
        if frames:
            source = restore_source(frames[-1])
            roots = self.roots.get(source.agent, ())
            return tail.find_source(source.agent, roots, source.path)
        name = path.relative_to(self.folder).as_posix()
        for agent, roots in self.roots.items():
            for source in tail.discover(agent, roots).sources:
                if archive.make_file_name(agent, os.fsencode(source.path)) == name:
                    return source
        return None
