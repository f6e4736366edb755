"""Archive the logs of a home, and damage archive files."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any, Self

from leslied.archive import ArchiveReader, FrameKind, list_files
from leslied.archive.format import FORMAT_VERSION, HEADER_BYTES
from leslied.pipeline import Ingest
from leslied.pipeline.failures import Failures
from leslied.pipeline.stage import FULL_BUDGET, Budget
from leslied.pipeline.stages.archive import Archiver, ArchiverReport
from leslied.pipeline.stages.archive_check import ArchiveCheck, ArchiveCheckReport
from leslied.store import Store
from tests.support.claude import ADAPTER, ClaudeHome
from tests.support.golden import make_environment
from tests.support.records import StoreHarness


class ArchiverHarness:
    """Ingests a home and archives it."""

    def __init__(self, claude: ClaudeHome) -> None:
        self.claude = claude
        self.folder = claude.store_path.parent / "archive"

    def __call__(self, *, is_final: bool = True, **options: Any) -> ArchiverReport:
        claude = self.claude
        roots = tuple(ADAPTER.roots(make_environment(claude.home), []))
        is_excluded = options.pop("is_excluded_when_read", None)
        with Store(claude.store_path, claude.clock) as store:
            Ingest(
                adapter=ADAPTER,
                store=store,
                roots=roots,
                is_final=is_final,
                is_excluded=is_excluded,
            ).scan()
            if is_final:
                store.mark_all_stopped()
            return Archiver(
                store=store,
                archive_dir=self.folder,
                roots={ADAPTER.name: roots},
                clock=claude.clock,
                **{"key_id": "k", **options},
            ).run()

    def read_generations(self, number: int = 0) -> dict[int, bytes]:
        """Return the content of one archive file by generation."""
        with ArchiveReader(list_files(self.folder)[number]) as reader:
            assert reader.find_damage() == []
            return {
                generation: b"".join(d for f in frames for d in reader.read_frame(f))
                for generation, frames in reader.list_frames_by_generation().items()
            }

    def list_frame_kinds(self) -> list[FrameKind]:
        return list_frame_kinds(list_files(self.folder)[0])


def write_newer_format(path: Path) -> bytes:
    """Make the first frame look like one of a newer leslied; return the new bytes."""
    data = bytearray(path.read_bytes())
    # The version follows the four bytes of the magic; a checksum ends the header.
    data[4:6] = (FORMAT_VERSION + 1).to_bytes(2, "big")
    end = HEADER_BYTES - 4
    data[end:HEADER_BYTES] = zlib.crc32(bytes(data[:end])).to_bytes(4, "big")
    path.write_bytes(data)
    return bytes(data)


def flip_byte(path: Path, offset: int) -> None:
    """Change one byte of a file in place."""
    with path.open("r+b") as file:
        file.seek(offset)
        (byte,) = file.read(1)
        file.seek(offset)
        file.write(bytes([byte ^ 0xFF]))


class CheckHarness:
    """Checks the archive of a home with one open store, which does not fsync.

    Use it as a context manager.
    """

    def __init__(self, claude: ClaudeHome, **options: Any) -> None:
        self.claude = claude
        self.store = StoreHarness(claude.store_path, claude.clock).store
        roots = tuple(ADAPTER.roots(make_environment(claude.home), []))
        self.archiver = Archiver(
            store=self.store,
            archive_dir=claude.store_path.parent / "archive",
            roots={ADAPTER.name: roots},
            clock=claude.clock,
            failures=Failures(clock=claude.clock),
            **options,
        )
        self.stage = ArchiveCheck(archiver=self.archiver)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stage.close()
        self.store.close()

    def archive(self) -> Path:
        """Read the logs, archive all sessions, and return the first archive file."""
        self.claude.sync(self.store, is_final=True)
        self.store.mark_all_stopped()
        report = self.archiver.run()
        assert report.errors == {}
        return self.list_files()[0]

    def check(self, budget: Budget = FULL_BUDGET) -> ArchiveCheckReport:
        """Run the archive stage, which finds changed files, and then the check."""
        with self.store.group_commits():
            self.archiver.run(budget)
            return self.stage.run(budget)

    def list_files(self) -> list[Path]:
        return list_files(self.archiver.archive_dir)


def read_archive(path: Path) -> dict[Any, bytes]:
    """Return an undamaged file's bytes by generation, and its results by name."""
    with ArchiveReader(path) as reader:
        assert reader.find_damage() == []
        content: dict[Any, bytes] = {
            generation: b"".join(d for f in frames for d in reader.read_frame(f))
            for generation, frames in reader.list_frames_by_generation().items()
        }
        for frame in reader.frames:
            if frame.kind == FrameKind.SPILL:
                name = frame.metadata["spill"]
                assert name not in content
                content[name] = b"".join(reader.read_frame(frame))
    return content


def list_frame_kinds(path: Path) -> list[FrameKind]:
    with ArchiveReader(path) as reader:
        return [FrameKind(frame.kind) for frame in reader.frames]
