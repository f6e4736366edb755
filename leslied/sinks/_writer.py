"""Writing and removing files below an output folder.

`base` is the folder that holds `.leslie`. For several files, pass the result of
`open_output` instead of its path, so that the path is walked only once.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

from leslied import fs
from leslied.errors import SinkError
from leslied.folders import open_output
from leslied.layout import (
    GITIGNORE_FILE,
    INDEX_FILE,
    INDEX_PAGE,
    LESLIE_FOLDER,
    META_FOLDER,
    RELATIONS_BACKUP,
    RELATIONS_FILE,
    thread_folder,
)

if TYPE_CHECKING:
    from pathlib import Path

    from leslied.folders import Folder
    from leslied.model.output import Artifact

_CENTRAL_FILES = (
    INDEX_FILE,
    INDEX_PAGE,
    RELATIONS_FILE,
    RELATIONS_BACKUP,
    GITIGNORE_FILE,
)
"""Files in a folder of the central tree that list its threads."""


def write_file(base: Path | Folder, name: str, data: bytes) -> None:
    """Replace `base/name` with a file of these bytes, mode 0600; `base` must exist."""
    with open_output(base) as folder:
        folder.write_file(name, data)


def write_artifact(base: Path | Folder, artifact: Artifact) -> None:
    """Write the artifact below `base` and remove the files that it replaces."""
    with open_output(base) as folder:
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

    Return one byte more than `MAX_READ_BYTES` of a file that is larger.
    """
    try:
        with open_output(base) as folder:
            return folder.read_file(name)
    except SinkError:
        return None


def has_entry(base: Path | Folder, name: str) -> bool:
    """Return whether there is a file, folder or link `base/name`."""
    try:
        with open_output(base) as folder:
            return folder.has_entry(name)
    except SinkError:
        return False


def remove_file(base: Path | Folder, name: str) -> None:
    """Delete `base/name`; do nothing if it cannot be deleted."""
    with suppress(SinkError), open_output(base) as folder:
        folder.remove_file(name)


def merge_folder(base: Path | Folder, old: str, new: str) -> None:
    """Move the contents of `base/old` to `base/new`; remove `base/old` if then empty.

    Files that exist in both folders stay in `base/old`. Errors are ignored.
    """
    with suppress(SinkError), open_output(base) as folder:
        folder.merge_folder(old, new)


def remove_central_thread(base: Path, thread_id: str) -> None:
    """Delete a thread's files in its folder of the central tree.

    If the thread was the last one, delete the folder's index, too. Files that leslied
    did not write stay.
    """
    folder = base / thread_folder(thread_id)
    shutil.rmtree(folder / META_FOLDER, ignore_errors=True)
    with suppress(OSError):
        folder.rmdir()
        folder.parent.rmdir()
        for name in _CENTRAL_FILES:
            (base / name).unlink(missing_ok=True)
        (base / LESLIE_FOLDER).rmdir()
        base.rmdir()
