"""Delete files of hooks: spooled events, injection states and inbox messages."""

from __future__ import annotations

from leslied.hooks import inbox, injection_state, learned_roots, spool
from leslied.hooks.files import list_names, read_part, remove_file, write_atomic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_MAX_FILE_BYTES = 1_000_000


def delete_matching(data_dir: str, is_forgotten: Callable[[str, bytes], bool]) -> int:
    """Delete the files for which the predicate of path and content is true.

    The path is relative to the data folder. Return the number of deleted files.
    """
    folders = [spool.FOLDER, injection_state.FOLDER]
    folders += [f"{inbox.FOLDER}/{name}" for name in inbox.list_threads(data_dir)]
    paths = [
        f"{folder}/{name}"
        for folder in folders
        for name in list_names(f"{data_dir}/{folder}")
    ]
    return sum(
        remove_file(f"{data_dir}/{path}")
        for path in paths
        if is_forgotten(
            path, read_part(f"{data_dir}/{path}", 0, _MAX_FILE_BYTES) or b""
        )
    )


def delete_learned_roots(data_dir: str, is_forgotten: Callable[[bytes], bool]) -> int:
    """Delete the learned folders for which the predicate is true; return how many."""
    path = f"{data_dir}/{learned_roots.FILE}"
    lines = (read_part(path, 0, _MAX_FILE_BYTES) or b"").split(b"\n")
    remaining_lines = [line for line in lines if not is_forgotten(line)]
    if len(remaining_lines) < len(lines):
        data = b"\n".join(remaining_lines)
        write_atomic(data_dir, learned_roots.FILE, data, is_synced=True)
    return len(lines) - len(remaining_lines)
