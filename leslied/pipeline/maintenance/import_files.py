"""Import files that users name: keep copies that agents' adapters read as sources.

A copy has a name that depends only on what it contains, so that importing a file again
changes nothing, and importing a newer version of a session replaces the older copy.
"""

from __future__ import annotations

import os
import stat
import zipfile
import zlib
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from leslied.fs import make_private_dir, replace_file
from leslied.model.imports import ImportFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from leslied.agents import AgentAdapter
    from leslied.model.imports import ImportedFile

MAX_FILE_BYTES = 1024 * 1024 * 1024
"""Size of the largest file that is imported; it is parsed in memory."""
_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    RuntimeError,  # it needs a password
    NotImplementedError,  # an unknown compression
)
_SKIPPED_FOLDERS = frozenset({".git", "node_modules", ".venv"})
"""Folders with many files, none of which is a session."""
_SUFFIXES = frozenset({"", ".json", ".jsonl", ".ndjson", ".txt", ".gz", ".zip"})
"""How names of files with sessions end; other files of a folder are not opened."""


@dataclass(slots=True)
class CopyReport:
    """Counts and paths of imported files, and files that could not be imported."""

    sources: Counter[str] = field(default_factory=Counter)
    """Number of imported parts by agent; a file may have several."""
    changed_paths: list[Path] = field(default_factory=list)
    """Copies that are new or changed."""
    problems: list[str] = field(default_factory=list)
    """Files that the user named and that could not be imported, each with a reason."""


@dataclass(slots=True)
class Importer:
    """Copies files into a folder, in a folder for each agent."""

    adapters: Mapping[str, AgentAdapter]
    folder: Path
    mask: Callable[[bytes], bytes] | None = None
    """Replaces secrets before anything is stored."""
    report: CopyReport = field(default_factory=CopyReport)

    def import_path(self, path: Path) -> None:
        """Import a file, or all files with sessions in a folder or zip file."""
        try:
            count = sum(
                self._import_file(file, mtime) for file, mtime in _iter_files(path)
            )
        except (OSError, *_ZIP_ERRORS) as error:
            reason = getattr(error, "strerror", None) or str(error)
            self.report.problems.append(f"{path} cannot be read: {reason}.")
            return
        if not count:
            self.report.problems.append(
                f"{path} has no sessions in a format that leslied imports."
            )

    def _import_file(self, file: ImportFile, mtime_ns: int) -> int:
        """Copy the parts that the first agent recognizes; return their number."""
        for name, adapter in self.adapters.items():
            count = 0
            for part in adapter.split_import(file):
                self._write_copy(name, part, mtime_ns)
                count += 1
            if count:
                self.report.sources[name] += count
                return count
        return 0

    def _write_copy(self, agent: str, part: ImportedFile, mtime_ns: int) -> None:
        """Write the part to the folder of imports, unless the same copy is there.

        The copy's modification time is the start that the session states, or else that
        of the imported file.
        """
        data = self.mask(part.data) if self.mask else part.data
        path = self.folder / agent / part.name
        if path.is_file() and path.read_bytes() == data:
            return
        make_private_dir(self.folder)
        make_private_dir(path.parent)
        replace_file(path, data)
        time = _parse_time_ns(part.started_at) or mtime_ns
        os.utime(path, ns=(time, time))
        self.report.changed_paths.append(path)


def _iter_files(path: Path) -> Iterator[tuple[ImportFile, int]]:
    """Yield a file, or those of a folder or zip file, each with its time."""
    if path.is_dir():
        for child in _walk(path):
            yield from _iter_file(child)
    else:
        yield from _iter_file(path)


def _walk(folder: Path) -> Iterator[Path]:
    """Yield the regular files below a folder that may have sessions, the oldest first.

    Links are not followed.
    """
    paths = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS)
        children = (Path(parent, name) for name in names)
        paths += [path for path in children if path.suffix.lower() in _SUFFIXES]
    regular = [path for path in paths if stat.S_ISREG(path.lstat().st_mode)]
    return iter(sorted(regular, key=lambda path: (path.stat().st_mtime_ns, path)))


def _iter_file(path: Path) -> Iterator[tuple[ImportFile, int]]:
    """Yield a file, or the members of a zip file, each with the file's time."""
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError("it is not a regular file")
        mtime_ns = status.st_mtime_ns
        if zipfile.is_zipfile(file):
            with zipfile.ZipFile(file) as archive:
                for name, data in _iter_members(archive):
                    yield ImportFile(PurePosixPath(name), data), mtime_ns
            return
        _check_size(status.st_size)
        file.seek(0)
        yield ImportFile(PurePosixPath(path.absolute()), file.read()), mtime_ns


def _iter_members(archive: zipfile.ZipFile) -> Iterable[tuple[str, bytes]]:
    for info in archive.infolist():
        suffix = PurePosixPath(info.filename).suffix.lower()
        if info.is_dir() or suffix not in _SUFFIXES - {".zip"}:
            continue
        _check_size(info.file_size)
        with archive.open(info) as member:
            # The size in the directory of a zip file may be wrong.
            yield info.filename, member.read(MAX_FILE_BYTES)


def _check_size(size: int) -> None:
    if size > MAX_FILE_BYTES:
        raise OSError(f"it is larger than {MAX_FILE_BYTES:,} bytes")


def _parse_time_ns(text: str) -> int:
    """Return an ISO time in nanoseconds, or 0 if the text is no such time."""
    try:
        return max(int(datetime.fromisoformat(text).timestamp()), 0) * 10**9
    except (ValueError, OverflowError):
        return 0
