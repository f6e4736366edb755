"""From roots to sources: one walk, sizes and times included, nothing opened."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from leslied.model.source import SourceRef
from leslied.tail.files import stamp_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from leslied.model.source import Root

MAX_DEPTH = 12


@dataclass(slots=True)
class Discovery:
    """What a walk found, and what it could not see."""

    sources: list[SourceRef] = field(default_factory=list)
    """Those that are new or have changed."""
    seen: set[bytes] = field(default_factory=set)
    """The paths of all there are."""
    unreadable: dict[Path, str] = field(default_factory=dict)
    """Folders that could not be listed: nothing below them counts as deleted."""
    missing: list[Path] = field(default_factory=list)
    """Roots that do not exist (yet)."""


def discover(
    agent: str, roots: Iterable[Root], known: Mapping[bytes, FileStamp] | None = None
) -> Discovery:
    """Every source below the roots, oldest change first.

    Of a source that is known with the very stamp it has, only the path is told.
    """
    known = known or {}
    found = Discovery()
    seen: set[tuple[int, int]] = set()
    for root in roots:
        if not _is_there(root.path, found):
            continue
        matchers = [(_compile(p.glob), p.shape) for p in root.patterns]
        for entry, name in _walk(root.path, found, seen):
            shape = next((s for match, s in matchers if match(name)), None)
            if shape is None:
                continue
            stamp = _stamp(entry, root.path, found)
            if stamp is None or (stamp.dev, stamp.inode) in seen:
                continue
            seen.add((stamp.dev, stamp.inode))
            path = os.fsencode(entry.path)
            found.seen.add(path)
            if known.get(path) != stamp:
                found.sources.append(
                    SourceRef(
                        agent=agent,
                        path=Path(entry.path),
                        root=root.path,
                        shape=shape,
                        stamp=stamp,
                    )
                )
    found.sources.sort(key=lambda s: (s.stamp.mtime_ns, s.path))
    return found


def identify(agent: str, roots: Iterable[Root], path: Path) -> SourceRef | None:
    """The source at this path, if it is one."""
    for root in roots:
        if not path.is_relative_to(root.path):
            continue
        name = path.relative_to(root.path).as_posix()
        shape = next((p.shape for p in root.patterns if _compile(p.glob)(name)), None)
        if shape is None:
            continue
        try:
            real = path.resolve(strict=True)
            status = real.stat()
            is_inside = real.is_relative_to(root.path.resolve())
        except (OSError, RuntimeError):  # a loop of links is a RuntimeError
            return None
        if is_inside and stat.S_ISREG(status.st_mode):
            return SourceRef(
                agent=agent,
                path=path,
                root=root.path,
                shape=shape,
                stamp=stamp_of(status),
            )
    return None


def _walk(
    root: Path, found: Discovery, seen: set[tuple[int, int]]
) -> Iterator[tuple[os.DirEntry[str], str]]:
    """Every non-folder below the root with its relative name; loops are cut."""
    pending = [(str(root), "", 0)]
    while pending:
        folder, prefix, depth = pending.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError as error:
            found.unreadable[Path(folder)] = error.strerror or type(error).__name__
            continue
        for entry in entries:
            name = prefix + entry.name
            if not _is_folder(entry, root):
                yield entry, name
            elif depth < MAX_DEPTH and _is_first_visit(entry, seen):
                pending.append((entry.path, name + "/", depth + 1))


def _is_there(root: Path, found: Discovery) -> bool:
    try:
        is_folder = stat.S_ISDIR(root.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        is_folder = False
    except OSError as error:
        found.unreadable[root] = error.strerror or type(error).__name__
        return False
    if not is_folder:
        found.missing.append(root)
    return is_folder


def _is_folder(entry: os.DirEntry[str], root: Path) -> bool:
    try:
        if not entry.is_symlink():
            return entry.is_dir(follow_symlinks=False)
        return entry.is_dir() and _is_inside(entry, root)
    except OSError:
        return False


def _is_first_visit(entry: os.DirEntry[str], seen: set[tuple[int, int]]) -> bool:
    if not entry.is_symlink():
        return True
    status = entry.stat()
    key = (status.st_dev, status.st_ino)
    is_first = key not in seen
    seen.add(key)
    return is_first


def _is_inside(entry: os.DirEntry[str], root: Path) -> bool:
    """A link counts only when it leads to something below the same root."""
    return Path(os.path.realpath(entry.path)).is_relative_to(os.path.realpath(root))


def _stamp(entry: os.DirEntry[str], root: Path, found: Discovery) -> FileStampOrNone:
    try:
        if entry.is_symlink() and not _is_inside(entry, root):
            return None
        status = entry.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        found.unreadable[Path(entry.path)] = error.strerror or type(error).__name__
        return None
    return stamp_of(status) if stat.S_ISREG(status.st_mode) else None


@cache
def _compile(glob: str) -> Matcher:
    """`*` matches within a name, `**/` any number of folders."""
    pieces = re.split(r"(\*\*/|\*)", glob)
    table = {"**/": "(?:[^/]+/)*", "*": "[^/]*"}
    pattern = "".join(table.get(piece) or re.escape(piece) for piece in pieces)
    return re.compile(pattern, re.DOTALL).fullmatch


if TYPE_CHECKING:
    from collections.abc import Callable

    from leslied.model.source import FileStamp

    FileStampOrNone = FileStamp | None
    Matcher = Callable[[str], re.Match[str] | None]
