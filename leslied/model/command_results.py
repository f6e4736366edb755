"""Results of commands that change something; fields are named as in `--json`."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, structs


class CommandResult(Struct, frozen=True, kw_only=True):
    """Base class of the results."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return structs.asdict(self)


class SyncResult(CommandResult, frozen=True, kw_only=True):
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


class ImportResult(CommandResult, frozen=True, kw_only=True):
    """What an import copied, and what was read from the copies."""

    sources: dict[str, int]
    """Number of copied files by agent; one import may be split into several files."""
    sources_changed: int
    """Number of these files that are new, or differ from an earlier import."""
    records_added: int
    rejected: int
    left_to_daemon: bool
    """Whether the daemon reads the new files, because it is running."""


class PauseState(CommandResult, frozen=True, kw_only=True):
    """Whether the daemon is paused."""

    paused: bool


class ProjectLinkResult(CommandResult, frozen=True, kw_only=True):
    """A link between two projects that was made or removed."""

    old: str
    new: str | None
    """The project that now includes `old`; None if the link was removed."""
    applied: bool
    """Whether the change is applied; if not, the daemon applies it within a second."""


class ConfigFile(CommandResult, frozen=True, kw_only=True):
    """The config file, which need not exist."""

    path: str
    exists: bool


class EffectiveConfig(ConfigFile, frozen=True, kw_only=True):
    """The config file, and all settings with their values."""

    settings: dict[str, Any]


class SentMessage(CommandResult, frozen=True, kw_only=True):
    """A message that waits for the next prompt of a thread."""

    id: str
    thread_id: str
    state: str = "queued"


class WrittenFile(CommandResult, frozen=True, kw_only=True):
    """A file and its size."""

    path: str
    bytes: int


class ExportResult(CommandResult, frozen=True, kw_only=True):
    """The files of an export."""

    format: str
    sessions: int
    """Number of exported sessions."""
    files: tuple[WrittenFile, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        files = [file.to_dict() for file in self.files]
        return structs.asdict(self) | {"files": files}


class BundleResult(WrittenFile, frozen=True, kw_only=True):
    """The zip file of a bug report."""

    files: tuple[str, ...]
    """Names of the files in it."""


class FormatSampleResult(BundleResult, frozen=True, kw_only=True):
    """The zip file with the structure of some entries."""

    entries: int
    kinds: int
    unknown_kinds: tuple[str, ...]
    agents: tuple[str, ...]
    """Agents, with their versions if the logs state them."""
    rejected: int
    """Number of reasons why entries cannot be decoded."""


class InstalledCompletion(CommandResult, frozen=True, kw_only=True):
    """The completion script of a shell."""

    shell: str
    path: str
    changed: bool
    lines_to_add: tuple[str, ...]
    """Lines that the user may have to add to the shell's startup file."""


class RemovedFiles(CommandResult, frozen=True, kw_only=True):
    """Paths of removed files."""

    removed: tuple[str, ...]


class InstalledService(CommandResult, frozen=True, kw_only=True):
    """The service that was installed."""

    manager: str
    path: str
    variables: dict[str, str]
    """Environment variables that are saved with the service."""


class RemovedService(CommandResult, frozen=True, kw_only=True):
    """Whether the service was removed; if not, it was not installed."""

    manager: str
    removed: bool


class SettingsFileChange(CommandResult, frozen=True, kw_only=True):
    """A file, and whether the command changed it."""

    path: str
    changed: bool
    backup: str | None
    """Path of a copy of the old file; None if nothing changed or there was no file."""


class GuideResult(CommandResult, frozen=True, kw_only=True):
    """The file with the guide for agents, and what happened to the guide."""

    file: str
    status: str
    previous_version: str | None
    next_version: str | None


class GuideDiff(GuideResult, frozen=True, kw_only=True):
    """A planned change of the guide."""

    diff: str
    """The change as a unified diff; empty if nothing would change."""
