"""Writing and removing files below an output folder.

`base` is the folder that holds `.leslie`. For several files, pass the result of
`open_base_folder` instead of its path, so that the path is walked only once.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from leslied import fs
from leslied.errors import SinkError
from leslied.folders import open_base_folder
from leslied.layout import (
    GITIGNORE_FILE,
    GITIGNORE_TEXT,
    LESLIE_FOLDER,
    META_FOLDER,
    META_GITIGNORE_TEXT,
    SHARED_FILES,
    THREADS_FOLDER,
    meta_gitignore_file,
    split_thread_path,
)
from leslied.projects.git_index import list_tracked_files

if TYPE_CHECKING:
    from pathlib import Path

    from leslied.folders import Folder
    from leslied.model.output import Artifact

_MAX_RULES_BYTES = 1_000_000
"""Largest `.gitignore` of a project that is extended."""
_SHARED_RULES = (b"/index.json", b"/INDEX.md", b"/thread_relations.json*")
_CENTRAL_FILES = (*SHARED_FILES, GITIGNORE_FILE)
"""Files that leslied writes into a folder of the central tree beside the threads."""


def write_file(
    base: Path | Folder, name: str, data: bytes, *, is_synced: bool = True
) -> None:
    """Replace `base/name` with a file of these bytes, mode 0600; `base` must exist.

    A file below `.leslie` is first excluded from Git. Without `is_synced`, the file may
    be lost in a power loss. Raise SinkError if the exclusion or the writing fails.
    """
    with open_base_folder(base) as folder:
        if name.startswith(f"{LESLIE_FOLDER}/"):
            exclude_from_git(folder, name)
        folder.write_file(name, data, is_synced=is_synced)


def exclude_from_git(base: Path | Folder, name: str = "") -> None:
    """Make sure that `git add` takes no file of leslied, such as `base/name`.

    The rules are checked at every write, because a checkout can replace them. A file
    that Git tracks is never changed: raise SinkError if `base/name` is one, or if a
    tracked `.gitignore` does not exclude it.
    """
    with open_base_folder(base) as folder:
        _exclude(folder, name)


def _exclude(folder: Folder, name: str) -> None:
    """Do what `exclude_from_git` promises, in the open folder."""
    is_shared, base = name in SHARED_FILES, folder.path
    rules = folder.read_file(GITIGNORE_FILE) or b""
    has_our_rules = _ends_with(rules, GITIGNORE_TEXT)
    if is_shared or not has_our_rules:
        tracked_files = list_tracked_files(base, LESLIE_FOLDER)
        if name in tracked_files:
            raise SinkError(f"{base / name} is tracked by Git, so it is not written.")
        if GITIGNORE_FILE not in tracked_files:
            _add_git_rules(folder, GITIGNORE_FILE, GITIGNORE_TEXT)
        elif is_shared and not _excludes_shared_files(rules):
            raise SinkError(
                f"Git tracks {base / GITIGNORE_FILE}, which does not exclude {name}, "
                "so that file is not written."
            )
    thread_id, path_in_thread = split_thread_path(name)
    if path_in_thread.startswith(f"{META_FOLDER}/"):
        _add_git_rules(folder, meta_gitignore_file(thread_id), META_GITIGNORE_TEXT)


def _add_git_rules(folder: Folder, name: str, text: str) -> None:
    """Append rules to a `.gitignore` unless it ends with them: later rules win."""
    existing_rules = folder.read_file(name)
    if existing_rules is None:
        if folder.has_file(name):
            raise SinkError(f"{folder.path / name} cannot be read.")
        existing_rules = b""
    if _ends_with(existing_rules, text):
        return
    if len(existing_rules) > _MAX_RULES_BYTES:
        raise SinkError(
            f"{folder.path / name} is larger than {_MAX_RULES_BYTES} bytes."
        )
    rules = text.encode()
    if set(existing_rules.split(b"\n")) <= set(rules.split(b"\n")):
        existing_rules = b""  # An older version of leslied wrote it.
    elif not existing_rules.endswith(b"\n"):
        existing_rules += b"\n"
    folder.write_file(name, existing_rules + rules)


def _ends_with(rules: bytes, text: str) -> bool:
    """Return whether the last lines are those of the text."""
    return (b"\n" + rules).endswith(f"\n{text}".encode())


def _excludes_shared_files(rules: bytes) -> bool:
    """Return whether the rules certainly exclude all files that threads share."""
    # A rule that begins with an exclamation mark can cancel those before it.
    lines = (b"\n" + rules).rpartition(b"\n!")[2].split(b"\n")
    return set(_SHARED_RULES) <= set(lines)


def write_artifact(base: Path | Folder, artifact: Artifact) -> None:
    """Write the artifact below `base` and remove the files that it replaces."""
    with open_base_folder(base) as folder:
        write_file(folder, artifact.path, artifact.body)
        for name in artifact.replaces:
            folder.remove_file(name)


def make_folder(path: Path) -> None:
    """Create a folder that only its owner can use; not for folders of projects.

    Raise SinkError if that fails.
    """
    try:
        fs.make_missing_folders(path)
    except OSError as error:
        raise SinkError(f"{path} cannot be created: {error.strerror}") from error


def read_file(base: Path | Folder, name: str) -> bytes | None:
    """Return the bytes of `base/name`, or None if it cannot be read.

    Of a file larger than `MAX_READ_BYTES`, return the first `MAX_READ_BYTES` + 1 bytes.
    """
    try:
        with open_base_folder(base) as folder:
            return folder.read_file(name)
    except SinkError:
        return None


def has_entry(base: Path | Folder, name: str) -> bool:
    """Return whether there is a file, folder or link `base/name`."""
    try:
        with open_base_folder(base) as folder:
            return folder.has_entry(name)
    except SinkError:
        return False


def remove_file(base: Path | Folder, name: str) -> None:
    """Delete `base/name`; do nothing if it cannot be deleted."""
    with suppress(SinkError), open_base_folder(base) as folder:
        folder.remove_file(name)


def merge_folder(base: Path | Folder, old: str, new: str) -> None:
    """Move the contents of `base/old` to `base/new`; remove `base/old` if then empty.

    Files that exist in both folders stay in `base/old`. Errors are ignored.
    """
    with suppress(SinkError), open_base_folder(base) as folder:
        folder.merge_folder(old, new)


def list_files(base: Path | Folder, folder_name: str) -> list[str]:
    """Return the paths, relative to `base`, of all files at any depth in a folder.

    Links are not followed. The list is empty if the folder cannot be read.
    """
    try:
        with open_base_folder(base) as folder, folder.open_subfolder(folder_name) as fd:
            return [
                "/".join([folder_name, *parent.split("/")[1:], file])
                for parent, _, files, _ in os.fwalk(".", dir_fd=fd)
                for file in files
            ]
    except SinkError:
        return []


def remove_thread(base: Path | Folder, thread_id: str) -> None:
    """Delete what leslied wrote in a thread's folder, and the folder if then empty."""
    import shutil  # noqa: PLC0415 - slow to import, and rarely needed

    with (
        suppress(SinkError),
        open_base_folder(base) as folder,
        folder.open_subfolder(THREADS_FOLDER) as fd,
    ):
        thread_fd = os.open(thread_id, fs.FOLDER_FLAGS, dir_fd=fd)
        try:
            with suppress(FileNotFoundError):
                shutil.rmtree(META_FOLDER, dir_fd=thread_fd)
        finally:
            os.close(thread_fd)
        with suppress(OSError):
            os.rmdir(thread_id, dir_fd=fd)


def remove_central_thread(base: Path, thread_id: str) -> None:
    """Delete a thread's files in its folder of the central tree.

    If the thread was the last one, delete the folder's index, too. Files that leslied
    did not write stay.
    """
    remove_thread(base, thread_id)
    with suppress(OSError):
        (base / THREADS_FOLDER).rmdir()
        for name in _CENTRAL_FILES:
            (base / name).unlink(missing_ok=True)
        (base / LESLIE_FOLDER).rmdir()
        base.rmdir()
