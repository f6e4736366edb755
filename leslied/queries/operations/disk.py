"""Disk usage of leslied's files, and of each session."""

from __future__ import annotations

import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leslied.layout import LESLIE_FOLDER
from leslied.model.codec import encode_time
from leslied.model.record import SessionKey
from leslied.sessions.retention import StorageSizes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from leslied.queries.context import QueryContext
    from leslied.store import StoreQueries

_MAX_SESSIONS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSize:
    """The size of a session with its subagents; `bytes` includes the archive."""

    id: str
    agent: str
    title: str | None
    ended_at: datetime | None
    bytes: int
    archive_bytes: int

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self) | {"ended_at": encode_time(self.ended_at)}


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskUsage:
    """Sizes of all files of leslied, and the largest sessions."""

    path: str
    """The folder that holds the store."""
    bytes: dict[str, int]
    """Sizes by kind of file."""
    free_bytes: int
    store: dict[str, int]
    """Sizes of the parts of the store; those of tables may be unknown."""
    project_folders: int
    """Number of projects with transcripts."""
    sessions: tuple[SessionSize, ...]
    command: str
    """The command that prunes to about half the size of store and archive.

    Empty if that half is less than 1 MB.
    """

    @property
    def total_bytes(self) -> int:
        """Size of all files."""
        return sum(self.bytes.values())

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "path": self.path,
            "bytes": self.bytes,
            "total_bytes": self.total_bytes,
            "free_bytes": self.free_bytes,
            "store": self.store,
            "project_folders": self.project_folders,
            "sessions": [session.to_dict() for session in self.sessions],
            "command": self.command,
        }


def load_disk_usage(context: QueryContext) -> DiskUsage:
    """Return the sizes of all files of leslied, and the largest sessions."""
    reader, paths = context.reader, context.paths
    store = reader.path
    central = paths.central_dir
    folders = [
        Path(os.fsdecode(folder)) for folder in reader.sizes.list_transcript_folders()
    ]
    project_folders = [f for f in folders if not f.is_relative_to(central)]
    parts = {
        "store": _measure_size(store),
        "wal": _measure_size(store.with_name(store.name + "-wal")),
        "copies": sum(map(_measure_size, find_store_copies(store))),
        "archive": _measure_size(paths.archive_dir),
        "central": _measure_size(central),
        "projects": sum(_measure_size(f / LESLIE_FOLDER) for f in project_folders),
        "notes": _measure_size(paths.annotations_file),
        "state": _measure_size(paths.state_dir),
    }
    return DiskUsage(
        path=str(paths.data_dir),
        bytes=parts,
        free_bytes=shutil.disk_usage(store.parent).free,
        store=_measure_store_parts(reader),
        project_folders=len(project_folders),
        sessions=tuple(_iter_largest_sessions(context)),
        command=_suggest_command(parts["store"] + parts["archive"]),
    )


def _measure_store_parts(reader: StoreQueries) -> dict[str, int]:
    """Return the store's bytes by purpose.

    Return only the unused bytes if this SQLite cannot report the sizes of tables.
    """
    file_bytes, used_bytes = reader.path.stat().st_size, reader.sizes.get_used_bytes()
    sizes = {"unused_bytes": max(file_bytes - used_bytes, 0)}
    table_bytes = reader.sizes.get_table_bytes()
    if table_bytes:
        text_bytes = table_bytes.get("record", 0)
        index_bytes = sum(
            size
            for table, size in table_bytes.items()
            if table.startswith("record_text")
        )
        sizes["text_bytes"] = text_bytes
        sizes["index_bytes"] = index_bytes
        sizes["rest_bytes"] = max(used_bytes - text_bytes - index_bytes, 0)
    return sizes


def _iter_largest_sessions(context: QueryContext) -> Iterator[SessionSize]:
    reader = context.reader
    usage = measure_sizes(reader)
    sizes = {group: usage.get_session_size(group) for group in usage.store_by_session}
    largest = sorted(sizes, key=lambda group: (-sizes[group], group))[:_MAX_SESSIONS]
    for group in largest:
        agent, session_id = group
        # The main session is unknown if only the log of a subagent was read.
        session = reader.find_session(SessionKey(agent, session_id))
        yield SessionSize(
            id=context.redact(session_id),
            agent=agent,
            title=(context.redact(session.title) if session else "") or None,
            ended_at=session.ended_at if session else None,
            bytes=sizes[group],
            archive_bytes=usage.archive_by_session.get(group, 0),
        )


def _suggest_command(size: int) -> str:
    """Return the command that prunes to half of `size`; "" if that is below 1 MB."""
    half = max(size // 2, 1)
    for factor, name in ((10**9, "GB"), (10**6, "MB")):
        if half >= factor:
            return f"leslied prune --max-size {half // factor}{name}"
    return ""


def _measure_size(path: Path) -> int:
    """Return the bytes of a file or of all files below a folder; 0 on an error.

    Links are not followed.
    """
    try:
        if not path.is_dir() or path.is_symlink():
            return path.lstat().st_size
        return sum(_measure_entry(entry) for entry in os.scandir(path))
    except OSError:
        return 0


def _measure_entry(entry: os.DirEntry[str]) -> int:
    if entry.is_dir(follow_symlinks=False):
        return _measure_size(Path(entry.path))
    return entry.stat(follow_symlinks=False).st_size


def measure_sizes(reader: StoreQueries) -> StorageSizes:
    """Return the sizes of the store and the archive, in total and by session."""
    sizes = reader.sizes
    return StorageSizes(
        store=sizes.get_used_bytes(),
        archive=sizes.get_archive_bytes(),
        store_by_session=sizes.get_store_bytes_by_session(),
        archive_by_session=sizes.get_archive_bytes_by_session(),
    )


def find_store_copies(store: Path) -> list[Path]:
    """Return the copies of the store that a rebuild or a migration left beside it."""
    suffixes = ("before-rebuild*", "form*")
    return sorted(
        path
        for suffix in suffixes
        for path in store.parent.glob(f"{store.name}.{suffix}")
    )
