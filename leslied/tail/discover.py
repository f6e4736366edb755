"""Find the sources below an agent's roots, with their stamps, without opening them."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections import defaultdict
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from leslied.model.source import Shape, SourceRef, WatchDepth
from leslied.tail.files import make_stamp
from leslied.tail.wal import WAL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from leslied.model.source import FileStamp, Pattern, Root

    _Visited = defaultdict[int, set[int]]
    """Inodes of files and linked folders by device; each is visited once."""

MAX_DEPTH = 12
"""Levels of folders below a root that are searched."""
_MULTI_FILE_SHAPES = (
    Shape.SQLITE,
    Shape.JSON_TREE,
    Shape.EVENT_TREE,
    Shape.CHECKPOINT_STORE,
)
"""Shapes of sources that are more than one file."""
_ENCODING = sys.getfilesystemencoding()
_ENCODING_ERRORS = sys.getfilesystemencodeerrors()


class Discovery(Struct):
    """The sources below some roots, and the folders that could not be read."""

    sources: list[SourceRef] = field(default_factory=list)
    """Sources that are new or have changed."""
    count: int = 0
    """Number of all sources, including unchanged ones."""
    gone_paths: list[bytes] = field(default_factory=list)
    """Paths in `known_stamps` that were not found."""
    unreadable: dict[Path, str] = field(default_factory=dict)
    """Paths that could not be read, and why; sources below them may still exist."""
    missing_roots: list[Path] = field(default_factory=list)
    """Roots that do not exist (yet)."""


def discover(
    agent: str,
    roots: Iterable[Root],
    known_stamps: dict[bytes, FileStamp] | None = None,
) -> Discovery:
    """Return the new and changed sources below the roots, the oldest change first.

    Sources whose stamp is equal to that in `known_stamps` are only counted. Paths that
    exist are removed from `known_stamps`, instead of copying a large dict.
    """
    remaining_stamps = {} if known_stamps is None else known_stamps
    discovery = Discovery()
    visited: _Visited = defaultdict(set)
    for root in roots:
        if not _check_root(root.path, discovery):
            continue
        match = _compile_globs(tuple(pattern.glob for pattern in root.patterns))
        # This loop runs for every log in every scan, so it calls few functions.
        for entry, name in _walk(root, discovery, visited):
            matched = match(name)
            if matched is None:
                continue
            pattern = root.patterns[matched.lastindex - 1]  # type: ignore[operator]
            status = _read_status(entry, root.path, discovery)
            if status is None or status.st_ino in (inodes := visited[status.st_dev]):
                continue
            inodes.add(status.st_ino)
            stamp = make_stamp(status)
            if pattern.shape in _MULTI_FILE_SHAPES:
                stamp = _stamp_source(pattern, Path(entry.path), stamp)
            discovery.count += 1
            path = entry.path.encode(_ENCODING, _ENCODING_ERRORS)
            if remaining_stamps.pop(path, None) != stamp:
                discovery.sources.append(
                    _make_source(agent, root, pattern, Path(entry.path), stamp)
                )
    discovery.gone_paths += remaining_stamps
    discovery.sources.sort(key=lambda s: (s.stamp.mtime_ns, s.path))
    return discovery


def _resolve(path: str) -> str:
    """Return a path without links; raise OSError if it does not exist."""
    return os.path.realpath(path, strict=True)


def find_sources(
    agent: str, roots: Sequence[Root], paths: Iterable[Path]
) -> list[SourceRef]:
    """Return the sources that these paths are, or are parts of, each once.

    Links are resolved once for each folder, however many logs it has.
    """
    # Every changed file is looked for in the roots of every agent.
    prefixes = tuple(f"{root.path}/" for root in roots)
    resolve = lru_cache(maxsize=None)(_resolve)
    by_path = {}
    for path in paths:
        if str(path).startswith(prefixes):
            source = find_source(agent, roots, path, resolve)
            if source is not None:
                by_path[source.path] = source
    return list(by_path.values())


def find_source(
    agent: str,
    roots: Iterable[Root],
    path: Path,
    resolve: Callable[[str], str] = _resolve,
) -> SourceRef | None:
    """Return the source at this path, or else the one it is a part of, or None.

    A database's WAL is a part of the database. `resolve` resolves links.
    """
    text = str(path)
    for root in roots:
        prefix = f"{root.path}/"
        if not text.startswith(prefix):
            continue
        name = text.removeprefix(prefix)
        pattern = match_source(root, name)
        if pattern is None and name.endswith(WAL):
            path, name = path.with_name(path.name.removesuffix(WAL)), name[: -len(WAL)]
            pattern = match_source(root, name)
        if pattern is None and (name := _find_main_file(root, name)):
            path, pattern = root.path / name, match_source(root, name)
        if pattern is None:
            continue
        try:
            status = _read_status_inside(str(path), str(root.path), resolve)
        # A name with a lone surrogate raises ValueError.
        except (OSError, ValueError):
            return None
        if status:
            stamp = _stamp_source(pattern, path, make_stamp(status))
            return _make_source(agent, root, pattern, path, stamp)
    return None


def _read_status_inside(
    path: str, root: str, resolve: Callable[[str], str]
) -> os.stat_result | None:
    """Return the status of a regular file; None for others, or outside the root."""
    # Called for every changed file, and `Path` takes longer than the system calls.
    status = os.lstat(path)
    folder = resolve(path.rpartition("/")[0])
    if stat.S_ISLNK(status.st_mode):
        real_path = _resolve(path)
        status = os.stat(real_path)  # noqa: PTH116 - as above
        folder = real_path.rpartition("/")[0]
    is_inside = f"{folder}/".startswith(f"{resolve(root)}/")
    return status if is_inside and stat.S_ISREG(status.st_mode) else None


def match_source(root: Root, name: str) -> Pattern | None:
    """Return the first pattern that matches a name relative to the root, or None."""
    if root.watch is WatchDepth.FLAT and "/" in name:
        return None
    return next((p for p in root.patterns if _compile_glob(p.glob)(name)), None)


def _find_main_file(root: Root, name: str) -> str:
    """Return the name of the source that a file is a member of, or ""."""
    for pattern in root.patterns:
        if pattern.members:
            folder_glob, _, main_name = pattern.glob.rpartition("/")
            depth = folder_glob.count("/") + 1
            folders, member = name.split("/")[:depth], name.split("/", depth)[depth:]
            if member and _compile_glob(pattern.members)(member[0]):
                return "/".join([*folders, main_name])
    return ""


def _stamp_source(pattern: Pattern, path: Path, stamp: FileStamp) -> FileStamp:
    """Return the stamp of all files that make up the source."""
    if pattern.shape is Shape.SQLITE:
        from leslied.tail.sqlite_source import stamp_database  # noqa: PLC0415

        return stamp_database(path, stamp)
    if pattern.shape is Shape.JSON_TREE:
        from leslied.tail.json_tree import stamp_tree  # noqa: PLC0415

        return stamp_tree(path, pattern.child_folders, stamp)
    if pattern.shape is Shape.EVENT_TREE:
        from leslied.tail import event_tree  # noqa: PLC0415

        return event_tree.stamp_tree(path, pattern.child_folders, stamp)
    if pattern.shape is Shape.CHECKPOINT_STORE:
        from leslied.tail.checkpoint_store import stamp_store  # noqa: PLC0415

        return stamp_store(path, stamp)
    return stamp


def _make_source(
    agent: str, root: Root, pattern: Pattern, path: Path, stamp: FileStamp
) -> SourceRef:
    return SourceRef(
        agent=agent,
        path=path,
        root=root.path,
        shape=pattern.shape,
        stamp=stamp,
        feeds=pattern.feeds,
        child_folders=pattern.child_folders,
        side_file=pattern.side_file,
    )


def _walk(
    root: Root, discovery: Discovery, visited: _Visited
) -> Iterator[tuple[os.DirEntry[str], str]]:
    """Yield every non-folder below the root with its relative name.

    Folders that cannot be listed are recorded; loops of links are not followed.
    """
    max_depth = 0 if root.watch is WatchDepth.FLAT else MAX_DEPTH
    pending = [(str(root.path), "", 0)]
    while pending:
        folder, prefix, depth = pending.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError as error:
            discovery.unreadable[Path(folder)] = error.strerror or type(error).__name__
            continue
        for entry in entries:
            name = prefix + entry.name
            # The most frequent case first; it needs no system call.
            if entry.is_file(follow_symlinks=False) or not _is_folder(entry, root.path):
                yield entry, name
            elif depth < max_depth and _is_first_visit(entry, visited):
                pending.append((entry.path, name + "/", depth + 1))


def _check_root(root: Path, discovery: Discovery) -> bool:
    """Return whether the root is a folder; if not, record why."""
    try:
        is_folder = stat.S_ISDIR(root.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        is_folder = False
    except OSError as error:
        discovery.unreadable[root] = error.strerror or type(error).__name__
        return False
    if not is_folder:
        discovery.missing_roots.append(root)
    return is_folder


def _is_folder(entry: os.DirEntry[str], root: Path) -> bool:
    """Return whether the entry is a folder, or a link to a folder below the root."""
    try:
        if not entry.is_symlink():
            return entry.is_dir(follow_symlinks=False)
        return entry.is_dir() and _is_inside(entry, root)
    except OSError:
        return False


def _is_first_visit(entry: os.DirEntry[str], visited: _Visited) -> bool:
    """Return whether to search a folder; it is searched through one link at most."""
    if not entry.is_symlink():
        return True
    status = entry.stat()
    inodes = visited[status.st_dev]
    is_first = status.st_ino not in inodes
    inodes.add(status.st_ino)
    return is_first


def _is_inside(entry: os.DirEntry[str], root: Path) -> bool:
    """Return whether a link points to something below the same root."""
    return Path(os.path.realpath(entry.path)).is_relative_to(os.path.realpath(root))


def _read_status(
    entry: os.DirEntry[str], root: Path, discovery: Discovery
) -> os.stat_result | None:
    """Return the status of a regular file, or None; record an inaccessible file."""
    try:
        if entry.is_symlink() and not _is_inside(entry, root):
            return None
        status = entry.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        discovery.unreadable[Path(entry.path)] = error.strerror or type(error).__name__
        return None
    return status if stat.S_ISREG(status.st_mode) else None


@cache
def _compile_glob(glob: str) -> Callable[[str], re.Match[str] | None]:
    """Return a matcher: `*` matches within a name, `**/` any number of folders."""
    return re.compile(_translate_glob(glob), re.DOTALL).fullmatch


@cache
def _compile_globs(globs: tuple[str, ...]) -> Callable[[str], re.Match[str] | None]:
    """Return a matcher; a match has the number of the matching glob as `lastindex`."""
    pattern = "|".join(f"({_translate_glob(glob)})" for glob in globs)
    return re.compile(pattern, re.DOTALL).fullmatch


def _translate_glob(glob: str) -> str:
    """Return the regular expression of a glob; it has no groups."""
    pieces = re.split(r"(\*\*/|\*)", glob)
    wildcards = {"**/": "(?:[^/]+/)*", "*": "[^/]*"}
    return "".join(wildcards.get(piece) or re.escape(piece) for piece in pieces)
