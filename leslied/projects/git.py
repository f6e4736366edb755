"""Find the Git repository of a folder, and what identifies it.

At most 4 MB of each file are read, never through a symbolic link and without waiting
for a pipe, so that a folder that somebody else prepared can neither run a program nor
block leslied.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from leslied.fs import READ_FLAGS

_MAX_FILE_BYTES = 4_000_000
_MAX_PATH_BYTES = 8192
_OBJECT_ID = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_MAX_REF_DEPTH = 5
"""Maximum number of symbolic refs that are followed."""
_REMOTE_SECTION = re.compile(r'\s*\[remote "(.+)"\]')
_SECTION = re.compile(r"\s*\[")
_SHA256 = re.compile(r"^\s*objectformat\s*=\s*sha256\s*$", re.IGNORECASE | re.MULTILINE)
_URL = re.compile(r"\s*url\s*=\s*(.+)", re.IGNORECASE)
_URL_WITH_SCHEME = re.compile(r"\w[\w+.-]*://(?:[^/@]*@)?([^/:]*)(?::\d*)?/*(.*)")
_SCP_LIKE_URL = re.compile(r"(?:[^/@]*@)?([^/:]+):/*(.+)")


class GitRepository(NamedTuple):
    """A Git working tree and the repository that it belongs to."""

    worktree: Path
    """The top level of the working tree."""
    main: Path
    """The top level of the main working tree, or the folder of a bare repository."""


def find_top_level(folder: Path) -> Path | None:
    """Return the nearest of `folder` and its parents that has a `.git`, or None."""
    for path in (folder, *folder.parents):
        if _exists(path / ".git"):
            return path
    return None


def find_repository(folder: str) -> GitRepository | None:
    """Return the repository that contains a folder, or None.

    The folder need not exist any more. A linked working tree belongs to another
    repository only if that repository names the working tree, too.
    """
    path = Path(folder)
    if not path.is_absolute() or "\0" in folder or ".." in path.parts:
        return None
    top = find_top_level(path)
    if top is None:
        return None
    common_dir = _find_common_dir(top)
    if common_dir is None:
        return GitRepository(top, top)
    is_bare = common_dir.name != ".git"
    return GitRepository(top, common_dir if is_bare else common_dir.parent)


def find_git_dir(repository: Path) -> Path | None:
    """Return the folder with the objects and refs of a repository, or None."""
    if _exists(repository / ".git" / "objects"):
        return repository / ".git"
    git_dir = _read_git_file(repository / ".git")
    return git_dir or (repository if _exists(repository / "objects") else None)


def find_index_dir(top: Path) -> Path | None:
    """Return the folder with the index of a working tree, or None.

    A linked working tree and a submodule have an index of their own.
    """
    entry = top / ".git"
    return entry if entry.is_dir() else _read_git_file(entry)


def read_object_id_bytes(git_dir: Path) -> int:
    """Return the length of an object id: 32 bytes with SHA-256, 20 with SHA-1."""
    common_dir = _read_path(git_dir / "commondir", git_dir) or git_dir
    return 32 if _SHA256.search(_read_text(common_dir / "config")) else 20


def get_directory_id(git_dir: Path) -> str:
    """Return device and inode of a Git directory, or "" if it does not exist.

    They stay the same if the directory is moved on its disk.
    """
    try:
        status = git_dir.stat()
    except OSError:
        return ""
    return f"{status.st_dev}:{status.st_ino}"


def read_remote(git_dir: Path) -> str:
    """Return host and path of `origin`, or of the only remote; "" without one.

    The user name and the password are left out, so that no secret is stored.
    """
    urls: dict[str, str] = {}
    remote = ""
    for line in _read_text(git_dir / "config").split("\n"):
        section = _REMOTE_SECTION.match(line)
        if section or _SECTION.match(line):
            remote = section[1] if section else ""
        url = _URL.match(line)
        if url and remote:
            urls.setdefault(remote, url[1].strip().strip('"'))
    if "origin" not in urls and len(urls) != 1:
        return ""
    return normalize_remote(urls.get("origin") or next(iter(urls.values())))


def normalize_remote(url: str) -> str:
    """Return the same text for the HTTPS and the SSH address of a repository."""
    match = _URL_WITH_SCHEME.fullmatch(url) or _SCP_LIKE_URL.fullmatch(url)
    if match:
        url = f"{match[1].lower()}/{match[2]}"
    return url.rstrip("/").removesuffix(".git").rstrip("/")


def read_head(git_dir: Path) -> str:
    """Return the id of the commit that is checked out, or ""."""
    name = "HEAD"
    for _ in range(_MAX_REF_DEPTH):
        text = _read_text(git_dir / name).strip() or _find_packed_ref(git_dir, name)
        if _OBJECT_ID.fullmatch(text):
            return text
        kind, _, name = text.partition(" ")
        if kind != "ref:" or not name.startswith("refs/") or ".." in name:
            return ""
    return ""


def _find_packed_ref(git_dir: Path, name: str) -> str:
    for line in _read_text(git_dir / "packed-refs").split("\n"):
        object_id, _, ref = line.partition(" ")
        if ref == name:
            return object_id
    return ""


def _find_common_dir(top: Path) -> Path | None:
    """Return the Git directory of the repository that a linked working tree belongs to.

    Return None if the working tree is not linked, or if that repository does not name
    it.
    """
    entry = top / ".git"
    git_dir = _read_git_file(entry)
    if git_dir is None:
        return None
    common = _read_path(git_dir / "commondir", git_dir)
    back_link = _read_path(git_dir / "gitdir", git_dir)
    if common is None or back_link is None:
        return None
    is_mutual = os.path.realpath(back_link) == os.path.realpath(entry)
    return common if is_mutual else None


def _read_git_file(path: Path) -> Path | None:
    """Return the folder that a `.git` file names, or None."""
    label, _, target = _read_text(path, _MAX_PATH_BYTES).strip().partition(": ")
    return _join(path.parent, target) if label == "gitdir" and target else None


def _read_path(path: Path, base: Path) -> Path | None:
    """Return the path that a file contains, joined to `base` if relative; or None."""
    text = _read_text(path, _MAX_PATH_BYTES).strip()
    return _join(base, text) if text else None


def _join(base: Path, path: str) -> Path | None:
    return None if "\0" in path else Path(os.path.normpath(base / path))


def _read_text(path: Path, limit: int = _MAX_FILE_BYTES) -> str:
    """Return the text of a small file, or "" if it cannot be read."""
    try:
        fd = os.open(path, READ_FLAGS)
    except (OSError, ValueError):
        return ""
    try:
        return os.read(fd, limit).decode(errors="replace")
    except OSError:  # It is a folder.
        return ""
    finally:
        os.close(fd)


def _exists(path: Path) -> bool:
    try:
        path.lstat()
    except (OSError, ValueError):
        return False
    return True
