"""What commands that change something did; field names are those of `--json`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """Base class of the results."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncResult(CommandResult):
    """What a sync read and wrote."""

    sources: int
    sources_changed: int
    sources_waiting: int
    entries_decoded: int
    bytes_read: int
    records_added: int
    placements_added: int
    noise: int
    rejected: int
    transactions: int
    units_settled: int
    transcripts_written: int
    transcripts_removed: int
    exports_written: int
    sessions_stopped: int
    seconds: float
    missing_roots: tuple[str, ...]
    threads_indexed: int
    index_files_written: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseState(CommandResult):
    """Whether the daemon is paused."""

    paused: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectLinkResult(CommandResult):
    """A link between two projects that was made or removed."""

    old: str
    new: str | None
    """The project that now includes `old`; None if the link was removed."""
    applied: bool
    """Whether lists show it already; if not, the daemon does it within a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFile(CommandResult):
    """The config file, which need not exist."""

    path: str
    exists: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveConfig(ConfigFile):
    """The config file, and all settings with their values."""

    settings: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentMessage(CommandResult):
    """A message that waits for the next prompt of a thread."""

    id: str
    thread_id: str
    state: str = "queued"


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFile(CommandResult):
    """A file and its size."""

    path: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportResult(CommandResult):
    """The files of an export."""

    format: str
    sessions: int
    """Number of exported sessions."""
    files: tuple[WrittenFile, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleResult(WrittenFile):
    """The zip file of a bug report."""

    files: tuple[str, ...]
    """Names of the files in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledCompletion(CommandResult):
    """The completion script of a shell."""

    shell: str
    path: str
    changed: bool
    lines_to_add: tuple[str, ...]
    """Lines that the user may have to add to the shell's startup file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedFiles(CommandResult):
    """Paths of removed files."""

    removed: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledService(CommandResult):
    """The service that was installed."""

    manager: str
    path: str
    variables: dict[str, str]
    """Environment variables that are saved with the service."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedService(CommandResult):
    """Whether the service was removed; if not, it was not installed."""

    manager: str
    removed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFile(CommandResult):
    """A file, and whether the command changed it."""

    path: str
    changed: bool
    backup: str | None
    """Path of a copy of the file before the change; None without a change or file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuideResult(CommandResult):
    """The file with the guide for agents, and what happened to the guide."""

    file: str
    status: str
    previous_version: str | None
    next_version: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GuideDiff(GuideResult):
    """A planned change of the guide."""

    diff: str
    """The change as a unified diff; empty if nothing would change."""
