"""Facts for `leslied doctor`: logs on disk, the store and the archive."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from leslied import archive
from leslied.tail import discover

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from leslied.queries.context import QueryContext


class DiscoveredLogs(NamedTuple):
    """The logs of one agent on disk."""

    title: str
    """The agent's name for people."""
    roots: list[str]
    log_count: int
    unreadable: Mapping[Path, str]
    """Why a folder cannot be read."""
    forbidden: list[Path]
    """Logs that this user must not read."""


class StoreHealth(NamedTuple):
    """State of the store."""

    damage: str
    """Description of the damage; empty if there is none."""
    rejected: int
    """Number of entries that could not be decoded."""


class ArchiveHealth(NamedTuple):
    """State of one file of the archive."""

    path: Path
    damage: str = ""
    error: archive.ArchiveError | None = None
    """Why the file cannot be read at all."""


def discover_logs(context: QueryContext) -> Iterator[DiscoveredLogs]:
    """Yield the logs of each agent; raise ConfigError for invalid settings."""
    for adapter, roots in context.list_agent_roots():
        discovery = discover(adapter.name, roots)
        yield DiscoveredLogs(
            adapter.title,
            [str(root.path) for root in roots],
            len(discovery.sources),
            discovery.unreadable,
            [s.path for s in discovery.sources if not os.access(s.path, os.R_OK)],
        )


def check_store(context: QueryContext) -> StoreHealth:
    """Read the whole store to find damage; raise LesliedError if it is unusable."""
    damage = context.reader.check_integrity()
    return StoreHealth(damage, context.reader.count_rows()["rejected"])


def check_archive(context: QueryContext) -> Iterator[ArchiveHealth]:
    """Read every file of the archive and yield its state."""
    for path in archive.list_files(context.paths.archive_dir):
        try:
            with archive.ArchiveReader(path) as reader:
                damage = reader.find_damage()
        except archive.ArchiveError as error:
            yield ArchiveHealth(path, error=error)
        else:
            yield ArchiveHealth(path, damage[0] if damage else "")
