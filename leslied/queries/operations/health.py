"""Checks of logs, store, archive, settings and machine, with suggested repairs."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from leslied import archive
from leslied.errors import AnnotationsUnusable, ConfigError, LesliedError
from leslied.hooks import learned_roots
from leslied.queries.operations.agents import list_agents
from leslied.queries.operations.own_files import (
    iter_exposed_files,
    iter_tracked_files,
)
from leslied.queries.operations.status import describe_agents_behind, load_daemon_state
from leslied.queries.preview import make_fail_safe_redact
from leslied.queries.secret_files import count_secret_files
from leslied.redact.session import redact_value
from leslied.rendering.humanize import format_bytes, format_count, format_path
from leslied.store.forgotten import Forgotten
from leslied.tail import discover

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from leslied.model.log_proof import ProofReport
    from leslied.model.source import Root
    from leslied.queries.context import QueryContext


Verdict = Literal["ok", "warn", "fail"]
_MIN_FREE_BYTES = 500_000_000
_MAX_EXPOSED_FILES = 5
"""Number of exposed files that are named."""


class CheckResult(NamedTuple):
    """Result of one check; the field names are those of `--json`."""

    verdict: Verdict
    what: str
    hint: str = ""


class HealthReport(NamedTuple):
    """Results of all checks."""

    findings: list[CheckResult]
    logs: ProofReport | None = None
    """The comparison of logs with the store; None if it was not requested."""

    @property
    def is_failed(self) -> bool:
        """Whether a check failed, or entries of logs are missing."""
        is_incomplete = self.logs is not None and self.logs.is_failed
        return is_incomplete or any(each.verdict == "fail" for each in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        findings = [finding._asdict() for finding in self.findings]
        logs = {} if self.logs is None else {"logs": self.logs.to_dict()}
        return {"findings": findings, **logs}


class _DiscoveredLogs(NamedTuple):
    """The logs of one agent on disk."""

    title: str
    """The agent's name for people."""
    roots: list[Root]
    log_count: int
    unreadable: Mapping[Path, str]
    """Reasons why folders cannot be read, by path."""
    forbidden: list[Path]
    """Logs that this user has no permission to read."""


class _StoreHealth(NamedTuple):
    """State of the store."""

    damage: str
    """Description of the damage; empty if there is none."""
    rejected: int
    """Number of entries that could not be decoded."""


class _ArchiveHealth(NamedTuple):
    """State of one file of the archive."""

    path: Path
    damage: str = ""
    error: archive.ArchiveError | None = None
    """Why the file cannot be read at all."""


def check_health(context: QueryContext) -> HealthReport:
    """Check logs, store, settings and machine; read the whole store and archive."""
    checks = (_check_logs, _check_reading, _check_store, _check_machine)
    results = [result for check in checks for result in check(context)]
    try:
        return HealthReport(context.redact_value(results))
    except ConfigError:
        # One of the results is that the settings are invalid.
        redact = make_fail_safe_redact(context.paths.config_file)
        return HealthReport(redact_value(results, redact))


def _check_logs(context: QueryContext) -> Iterator[CheckResult]:
    """Check the settings, which name the log folders, and the logs."""
    try:
        agents = list(_discover_logs(context))
    except LesliedError as error:
        yield CheckResult("fail", error.message, error.hint)
        return
    unused_agents = []
    for logs in agents:
        if logs.log_count:
            paths = ", ".join(
                format_path(str(root.path), str(context.home)) for root in logs.roots
            )
            yield CheckResult("ok", f"{logs.title}: {logs.log_count} logs in {paths}")
        elif not logs.unreadable:
            unused_agents.append(logs.title)
        yield from _check_sources(logs)
        yield from _check_learned_roots(logs, context)
    if len(unused_agents) == len(agents):
        yield CheckResult("warn", "no agent has written a log", "Run: leslied agents")
    elif unused_agents:
        yield CheckResult("ok", f"no logs of: {', '.join(unused_agents)}")


def _check_sources(logs: _DiscoveredLogs) -> Iterator[CheckResult]:
    for path, reason in logs.unreadable.items():
        yield CheckResult("fail", f"{path}: {reason}", "Check its permissions.")
    for path in logs.forbidden:
        yield CheckResult("fail", f"{path}: cannot be read", f"chmod u+r '{path}'")


def _check_learned_roots(
    logs: _DiscoveredLogs, context: QueryContext
) -> Iterator[CheckResult]:
    file = context.paths.data_dir / learned_roots.FILE
    for root in logs.roots:
        if root.is_learned:
            path = format_path(str(root.path), str(context.home))
            yield CheckResult(
                "ok",
                f"{logs.title}: a hook named the folder {path}",
                f"To forget it, edit {file}",
            )


def _check_reading(context: QueryContext) -> Iterator[CheckResult]:
    """Name the agents whose logs should have been read, but were not."""
    if not context.paths.store_file.exists():
        return
    try:
        agents = list_agents(context).agents
    except LesliedError:
        # Another check says what is wrong with the settings or the store.
        return
    daemon = load_daemon_state(context)
    hint = "Read them now: leslied sync"
    if daemon.running:
        hint = "See the daemon's log: leslied service logs"
    for reason in describe_agents_behind(agents, daemon, context.now):
        yield CheckResult("warn", reason, hint)


def _check_store(context: QueryContext) -> Iterator[CheckResult]:
    path = context.paths.store_file
    if not path.exists():
        yield CheckResult("warn", "nothing has been read yet", "Run: leslied sync")
        return
    try:
        # The store cannot be written without the list of forgotten entries.
        Forgotten(path)
        health = _load_store_health(context)
    except LesliedError as error:
        yield CheckResult("fail", error.message, error.hint)
        return
    if health.damage:
        yield CheckResult(
            "fail",
            f"the store is damaged: {health.damage}",
            "Move it away, then run: leslied sync",
        )
    else:
        size = format_bytes(path.stat().st_size)
        yield CheckResult("ok", f"the store is undamaged, {size}")
    if health.rejected:
        hint = "List them with: leslied status --rejected"
        yield CheckResult(
            "warn", f"{health.rejected} entries could not be parsed", hint
        )
    yield from _check_failures(context)
    if not os.access(path, os.W_OK):
        yield CheckResult("fail", f"{path} cannot be written", f"chmod u+w '{path}'")
    yield from _check_archive(context)
    yield from _check_annotations(context)
    yield from _check_exposed_files(context)
    yield from _check_tracked_files(context)
    yield from _check_transcripts(context)


def _check_failures(context: QueryContext) -> Iterator[CheckResult]:
    """Report work that failed, or during which leslied was killed."""
    for failure in context.reader.list_failures():
        times = format_count(failure.attempts, "time")
        yield CheckResult(
            "warn",
            f"{failure.scope} {failure.name}: {failure.reason} ({times})",
            "When it is tried again: leslied status. To try it now: leslied sync",
        )


def _check_archive(context: QueryContext) -> Iterator[CheckResult]:
    count = 0
    for file in _iter_archive_health(context):
        count += 1
        if file.error:
            yield CheckResult("fail", file.error.message, file.error.hint)
        elif file.damage:
            yield CheckResult(
                "fail",
                f"{file.path} is damaged: {file.damage}",
                "If the agent's log still exists, repair it with: leslied doctor --fix",
            )
    yield CheckResult("ok", f"{count} logs in the archive")


def list_damaged_files(context: QueryContext) -> list[Path]:
    """Read the whole archive and return its damaged files."""
    return [file.path for file in _iter_archive_health(context) if file.damage]


def _check_annotations(context: QueryContext) -> Iterator[CheckResult]:
    """Check the file of the user's stars, tags and notes, if there is one."""
    try:
        context.annotations.check()
        count = len(context.annotations.load().by_session)
    except AnnotationsUnusable as error:
        yield CheckResult("fail", error.message, error.hint)
        return
    if count:
        sessions = format_count(count, "session")
        yield CheckResult("ok", f"stars, tags, notes and visits of {sessions}")


def _check_exposed_files(context: QueryContext) -> Iterator[CheckResult]:
    exposed_files = list(iter_exposed_files(context))
    hint = "Repair with: leslied doctor --fix"
    for path in exposed_files[:_MAX_EXPOSED_FILES]:
        yield CheckResult("fail", f"{path} is accessible to other users", hint)
    unnamed_count = len(exposed_files) - _MAX_EXPOSED_FILES
    if unnamed_count > 0:
        yield CheckResult(
            "fail", f"{unnamed_count} more files are accessible, too", hint
        )


def _check_tracked_files(context: QueryContext) -> Iterator[CheckResult]:
    for tracked in iter_tracked_files(context):
        count, folder = (
            len(tracked.files),
            format_path(str(tracked.folder), str(context.home)),
        )
        yield CheckResult(
            "warn",
            f"Git tracks {count} files of leslied in {folder}, such as "
            f"{tracked.files[0]}",
            f"Untrack them: {tracked.format_command()}",
        )


def _check_transcripts(context: QueryContext) -> Iterator[CheckResult]:
    """Check that no file has a secret of a kind that is newer than the file."""
    redact = make_fail_safe_redact(context.paths.config_file)
    if count := count_secret_files(context, redact):
        yield CheckResult(
            "warn",
            f"{format_count(count, 'file')} in projects with secrets: written before "
            "a kind of secrets was known",
            "Show and clean them with: leslied secrets clean",
        )


def _check_machine(context: QueryContext) -> Iterator[CheckResult]:
    daemon = load_daemon_state(context)
    if daemon.watch_problem:
        yield CheckResult("warn", daemon.watch_problem, daemon.watch_hint or "")
    if daemon.running:
        yield CheckResult("ok", "the daemon is running")
    else:
        yield CheckResult(
            "warn", "the daemon is not running", "Start it with: leslied run"
        )
    if context.paths.pause_file.exists():
        yield CheckResult("warn", "leslied is paused", "Resume with: leslied unpause")
    folder = context.paths.data_dir
    existing_folder = next(p for p in (folder, *folder.parents) if p.exists())
    free_bytes = shutil.disk_usage(existing_folder).free
    verdict: Verdict = "ok" if free_bytes > _MIN_FREE_BYTES else "warn"
    yield CheckResult(verdict, f"{format_bytes(free_bytes)} free for the store")
    # Older versions can damage a database if two programs write to it (WAL reset bug).
    if sqlite3.sqlite_version_info < (3, 51, 3):
        yield CheckResult(
            "ok",
            f"SQLite {sqlite3.sqlite_version}: "
            "safe as long as no other program writes to the store",
        )


def _discover_logs(context: QueryContext) -> Iterator[_DiscoveredLogs]:
    """Yield the logs of each agent; raise ConfigError for invalid settings."""
    for adapter, roots in context.list_agent_roots():
        discovery = discover(adapter.name, roots)
        yield _DiscoveredLogs(
            adapter.title,
            roots,
            len(discovery.sources),
            discovery.unreadable,
            [s.path for s in discovery.sources if not os.access(s.path, os.R_OK)],
        )


def _load_store_health(context: QueryContext) -> _StoreHealth:
    """Read the whole store to find damage; raise LesliedError if it is unusable."""
    damage = context.reader.check_integrity()
    return _StoreHealth(damage, context.reader.count_rows()["rejected"])


def _iter_archive_health(context: QueryContext) -> Iterator[_ArchiveHealth]:
    """Read every file of the archive and yield its state."""
    folder = context.paths.archive_dir
    sizes: dict[str, int] = {}
    # Files can be verified without a store that knows their sizes.
    with suppress(LesliedError):
        sizes = context.reader.sizes.get_archive_file_sizes()
    for path in archive.list_files(folder):
        expected_size = sizes.pop(path.relative_to(folder).as_posix(), 0)
        try:
            with archive.ArchiveReader(path) as reader:
                damage = reader.find_damage()
        except archive.ArchiveError as error:
            yield _ArchiveHealth(path, error=error)
            continue
        if not damage and reader.size < expected_size:
            damage = [f"the last {expected_size - reader.size} bytes are gone"]
        yield _ArchiveHealth(path, damage[0] if damage else "")
    # Only the sizes of files that were not found are left.
    for name in sizes:
        missing_error = archive.ArchiveError(
            f"The archive file {folder / name} is gone.",
            "The daemon writes it again if the agent's log still exists.",
        )
        yield _ArchiveHealth(folder / name, error=missing_error)
