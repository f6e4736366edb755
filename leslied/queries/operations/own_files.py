"""Files of leslied that other users can access, or that Git tracks."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from leslied.errors import LesliedError
from leslied.exposed_files import find_exposed_files
from leslied.layout import (
    GITIGNORE_FILE,
    LESLIE_FOLDER,
    META_FOLDER,
    SHARED_FILES,
    THREADS_FOLDER,
    split_thread_path,
    thread_folder,
)
from leslied.projects.git_index import list_tracked_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.queries.context import QueryContext

_FILES = (GITIGNORE_FILE, *SHARED_FILES)
_THREADS_PATTERN = f":(glob){thread_folder('*')}/{META_FOLDER}/**"


class TrackedFiles(NamedTuple):
    """Files of leslied that Git tracks in a project."""

    folder: Path
    files: list[str]

    def format_command(self) -> str:
        """Return the command that makes Git forget the files and keeps them on disk."""
        paths = [file for file in self.files if file in _FILES]
        if len(paths) < len(self.files):
            paths.append(_THREADS_PATTERN)
        return shlex.join(
            ["git", "-C", str(self.folder), "rm", "-q", "--cached", "--", *paths]
        )


def iter_exposed_files(
    context: QueryContext, *, repair: bool = False
) -> Iterator[Path]:
    """Yield files of leslied that other users can access.

    With `repair`, make them private.
    """
    for folder in (context.paths.data_dir, context.paths.state_dir):
        # The user may have replaced the folder by a link to another disk.
        yield from find_exposed_files(folder.resolve(), ["."], repair=repair)
    for folder in _list_project_folders(context):
        names = [*SHARED_FILES, *_list_meta_folders(folder)]
        yield from find_exposed_files(folder, names, repair=repair)


def iter_tracked_files(context: QueryContext) -> Iterator[TrackedFiles]:
    """Yield the projects in which Git tracks files that leslied writes."""
    for folder in _list_project_folders(context):
        files = [
            file
            for file in list_tracked_files(folder, LESLIE_FOLDER)
            if file in _FILES
            or split_thread_path(file)[1].startswith(f"{META_FOLDER}/")
        ]
        if files:
            yield TrackedFiles(folder, files)


def _list_project_folders(context: QueryContext) -> list[Path]:
    """Return the folders with transcripts that are not in the central tree.

    The list is empty if the store is missing or damaged.
    """
    if not context.paths.store_file.exists():
        return []
    try:
        folders = context.reader.sizes.list_transcript_folders()
    except LesliedError:
        return []
    paths = [Path(os.fsdecode(folder)) for folder in folders]
    central = context.paths.central_dir
    return [path for path in paths if not path.is_relative_to(central)]


def _list_meta_folders(project: Path) -> list[str]:
    try:
        threads = sorted((project / THREADS_FOLDER).iterdir())
    except OSError:
        return []
    return [f"{thread_folder(thread.name)}/{META_FOLDER}" for thread in threads]
