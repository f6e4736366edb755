"""`leslied prune`: delete sessions from the store and the archive."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from leslied.app import get_app
from leslied.cli.filters import (
    AGENT_PROJECT_NAMES,
    agent_project_options,
    parse_filters,
)
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import (
    emit,
    format_ago,
    format_bytes,
    format_count,
    format_path,
    format_table,
    json_option,
    parse_time,
    shorten_ids,
)
from leslied.cli.terminal.progress import ProgressBar
from leslied.cli.time_args import parse_time_arg
from leslied.errors import AlreadyRunning, UserError
from leslied.model.codec import encode_time
from leslied.model.query import Selection
from leslied.model.times import from_us
from leslied.paths import PLATFORM
from leslied.pipeline import Archiver
from leslied.pipeline.maintenance.prune import (
    PruneGuard,
    Pruner,
    PruneReport,
    find_live_sessions,
    find_store_copies,
    make_batches,
    measure_sizes,
)
from leslied.queries import list_sessions
from leslied.sessions.retention import PrunePlan, RetentionPolicy, plan_pruning
from leslied.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from leslied.app import App
    from leslied.sessions.retention import PruneCandidate, StorageSizes
    from leslied.store import StoreReader

_MAX_LISTED_SESSIONS = 20
_SIZE_PATTERN = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([kmgt]?)i?b?")
_SIZE_FACTORS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_KEEP_REASONS = {
    "active": "still active",
    "idle": "idle, not stopped yet",
    "unread": "their logs have unread entries (run: leslied sync)",
    "failed": "failed (use --failed to delete them too)",
}


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied prune --older-than 90d", "show sessions unused for three months"),
        ("leslied prune --older-than 90d --yes", "delete them"),
        ("leslied prune --max-size 2GB --yes", "delete the oldest, down to 2 GB"),
        (
            "leslied prune --project old-app --keep 0 --yes",
            "delete a project's sessions",
        ),
    ],
    exit_codes=[(4, "the daemon is running; the error says how to stop it")],
    see_also=["disk", "export", "rebuild"],
)
@click.option(
    "--older-than",
    metavar="WHEN",
    help="Delete sessions last active before this time: 90d, 4w, 2026-01-31.",
)
@click.option(
    "--keep",
    metavar="N",
    type=click.IntRange(min=0),
    help="Delete all but the N most recently active sessions.",
)
@click.option(
    "--max-size",
    metavar="SIZE",
    help="Delete the oldest until store and archive together fit in SIZE: 2GB.",
)
@agent_project_options
@click.option("--failed", is_flag=True, help="Delete failed sessions too.")
@click.option(
    "--transcripts",
    is_flag=True,
    help="Also delete the transcripts of these sessions, except edited ones.",
)
@click.option(
    "--yes", is_flag=True, help="Delete; without it, only show what would be deleted."
)
@json_option
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Delete sessions and their subagents. A dry run unless --yes is given.

    --older-than, --keep and --max-size each select sessions to delete; --agent and
    --project limit this to the sessions of one agent or project. Sessions that have not
    stopped or have unread log entries are never deleted. Failed sessions, whose last
    turn ended with an error, an interrupt or without an answer, need --failed.

    The agents' own logs are never touched. Deleted entries are not imported again;
    new entries that an agent adds to those logs are imported.
    """
    request = _PruneRequest(get_app(ctx), options)
    request.check()
    plan, sizes, report = request.execute() if options["yes"] else request.plan()
    data = request.to_dict(plan, sizes, report)
    warnings = _list_warnings(report) if report else []
    emit(
        data,
        lambda: _report_lines(data) if report else _dry_run_lines(data, request),
        as_json=options["as_json"],
        warnings=warnings,
    )


@dataclass(frozen=True, slots=True)
class _PruneRequest:
    """The options of the command, and the app in which it runs."""

    app: App
    options: dict[str, Any]

    def check(self) -> None:
        """Raise UserError if no option selects sessions to prune."""
        if all(
            self.options[name] is None for name in ("older_than", "keep", "max_size")
        ):
            raise UserError(
                "No sessions are selected: use --older-than, --keep or --max-size.",
                "Try: leslied prune --older-than 90d. "
                "Nothing is deleted without --yes.",
            )

    def plan(self) -> tuple[PrunePlan, StorageSizes, None]:
        """Return the plan, the current sizes, and no report; delete nothing."""
        with self.app.open_reader() as reader:
            return *self._select_sessions(reader), None

    def _select_sessions(self, reader: StoreReader) -> tuple[PrunePlan, StorageSizes]:
        policy = self._make_policy()
        settings = self.app.load_settings()
        roots = {
            adapter.name: tuple(paths)
            for adapter, paths in self.app.iter_agent_roots(settings)
        }
        guard = PruneGuard(
            reader=reader,
            roots=roots,
            live_sessions=find_live_sessions(self.app.list_registries(settings)),
            clock=self.app.clock,
            include_failed=self.options["failed"],
        )
        sizes = measure_sizes(reader)
        filters = parse_filters(self.app, self.options, AGENT_PROJECT_NAMES)
        sessions = list_sessions(reader, Selection(filters=filters))
        return plan_pruning(sessions, policy, sizes, guard.find_reason_to_keep), sizes

    def execute(self) -> tuple[PrunePlan, StorageSizes, PruneReport]:
        """Delete the sessions; return the plan, the sizes before, and the report."""
        with self._open_store() as store:
            with self.app.open_reader() as reader:
                plan, sizes = self._select_sessions(reader)
                archiver = self.app.make_flow(store, reader).get_stage(Archiver)
            pruner = Pruner(
                store=store,
                archiver=archiver,
                include_transcripts=self.options["transcripts"],
            )
            with store.pruner() as store_pruner:
                # An earlier run may have ended before it could shrink the store.
                needs_vacuum = store_pruner.needs_vacuum()
            if plan.candidates or needs_vacuum:
                pruner.check_free_space(sizes.compute_remaining_store(plan.candidates))
                with ProgressBar(self.app.clock) as bar:
                    bar.start("Deleting sessions")
                    for batch in bar.track(list(make_batches(plan.candidates))):
                        pruner.remove(batch)
                pruner.finish()
            with self.app.open_reader() as reader:
                plan.remaining_bytes = (
                    reader.sizes.get_used_bytes() + reader.sizes.get_archive_bytes()
                )
        return plan, sizes, pruner.report

    def to_dict(
        self, plan: PrunePlan, sizes: StorageSizes, report: PruneReport | None
    ) -> dict[str, Any]:
        """Build the JSON data; the text output uses it too."""
        copies = find_store_copies(self.app.paths.store_file)
        data: dict[str, Any] = {
            "done": report is not None,
            "count": len(plan.candidates),
            "bytes": sum(each.size for each in plan.candidates),
            "bytes_before": sizes.total,
            "bytes_after": plan.remaining_bytes,
            "copies_bytes": sum(copy.stat().st_size for copy in copies),
            "sessions": [self._session_to_dict(each) for each in plan.candidates],
            "staying": {
                reason: len(sessions)
                for reason, sessions in plan.kept_by_reason.items()
            },
            "command": self._format_command(),
        }
        if report:
            data |= {
                "records_removed": report.records,
                "archive_files_removed": report.archive_files,
                "transcripts_removed": report.transcripts,
                "copies_removed": report.store_copies,
            }
        return data

    def make_short_ids(self, ids: list[str]) -> dict[str, str]:
        """Map each id to the shortest prefix that `leslied show` accepts."""
        with self.app.open_reader() as reader:
            return shorten_ids(ids, reader.list_similar_ids(ids))

    def _open_store(self) -> Store:
        try:
            return Store(self.app.paths.store_file, self.app.clock)
        except AlreadyRunning as error:
            from leslied.service.manager import format_stop_hint  # noqa: PLC0415

            raise AlreadyRunning(
                error.message,
                f"Nothing was deleted. Stop it first: {format_stop_hint(PLATFORM)}. "
                "Start it again afterwards.",
            ) from error

    def _make_policy(self) -> RetentionPolicy:
        age, size = self.options["older_than"], self.options["max_size"]
        now = self.app.clock.now()
        before = None
        if age is not None:
            before = from_us(parse_time_arg(age, now, None))
        return RetentionPolicy(
            before=before,
            keep_newest=self.options["keep"],
            max_bytes=None if size is None else parse_size(size),
        )

    def _session_to_dict(self, candidate: PruneCandidate) -> dict[str, Any]:
        session = candidate.session
        return {
            "id": session.key.session_id,
            "agent": session.key.agent,
            "project": self.app.redact(session.cwd) or None,
            "title": self.app.redact(session.title) or None,
            "ended_at": encode_time(session.ended_at),
            "subagents": session.subagents,
            "why": list(candidate.reasons),
            "bytes": candidate.size,
        }

    def _format_command(self) -> str:
        args = self._format_options(
            "older_than", "keep", "max_size", *AGENT_PROJECT_NAMES
        )
        args += [
            f"--{name}" for name in ("failed", "transcripts") if self.options[name]
        ]
        return shlex.join(["leslied", "prune", *args, "--yes"])

    def format_export_command(self) -> str:
        """Format the command that exports the sessions of this agent and project."""
        return shlex.join(
            ["leslied", "export", "--all", *self._format_options(*AGENT_PROJECT_NAMES)]
        )

    def _format_options(self, *names: str) -> list[str]:
        """Return the arguments that set these options, leaving out unset ones."""
        values = {name: self.options[name] for name in names}
        return [
            arg
            for name, value in values.items()
            if value is not None
            for arg in ("--" + name.replace("_", "-"), str(value))
        ]


def parse_size(text: str) -> int:
    """Return the bytes of a size such as `2GB`; raise UserError for other text."""
    match = _SIZE_PATTERN.fullmatch(text.strip().lower())
    if match is None:
        raise UserError(f"{text!r} is not a size.", "Try: 2GB, 500MB, 1.5G")
    return int(float(match[1]) * _SIZE_FACTORS[match[2]])


def _list_warnings(report: PruneReport) -> list[str]:
    warnings = [
        f"{path} was edited after it was written, so it was kept."
        for path in report.changed_transcripts
    ]
    if not report.is_store_shrunk:
        warnings.append(
            "The store's file could not shrink, because another program is reading it. "
            "Run the same command again when that program has ended."
        )
    return warnings


def _dry_run_lines(data: dict[str, Any], request: _PruneRequest) -> Iterator[str]:
    if not data["count"]:
        yield "No sessions would be deleted."
        yield from _kept_lines(data)
        return
    yield from _session_table(data["sessions"], request)
    yield ""
    yield (
        f"{format_count(data['count'], 'session')} would be deleted, about "
        f"{format_bytes(data['bytes'])} of the {format_bytes(data['bytes_before'])} "
        "in store and archive."
    )
    if data["copies_bytes"]:
        size = format_bytes(data["copies_bytes"])
        yield (
            f"Older copies of the store ({size}) would be deleted too, because they "
            "contain the same sessions."
        )
    yield from _kept_lines(data)
    yield f"Nothing was deleted. To delete: {data['command']}"
    yield f"To export first: {request.format_export_command()} -f jsonl -o FOLDER"


def _report_lines(data: dict[str, Any]) -> Iterator[str]:
    if not data["count"]:
        yield "No sessions were deleted."
    else:
        yield (
            f"Deleted {format_count(data['count'], 'session')} with "
            f"{format_count(data['records_removed'], 'record')} and "
            f"{format_count(data['archive_files_removed'], 'archived log')}. "
            f"Store and archive now take {format_bytes(data['bytes_after'])}."
        )
    if data["transcripts_removed"]:
        yield f"Deleted {format_count(data['transcripts_removed'], 'transcript')}."
    if data["copies_removed"]:
        count = format_count(data["copies_removed"], "file")
        yield f"Deleted {count} of older copies of the store."
    yield from _kept_lines(data)


def _kept_lines(data: dict[str, Any]) -> Iterator[str]:
    for reason, count in data["staying"].items():
        yield f"Keeping {format_count(count, 'session')}: {_KEEP_REASONS[reason]}"


def _session_table(
    sessions: list[dict[str, Any]], request: _PruneRequest
) -> Iterator[str]:
    headers = ("ID", "AGENT", "LAST ACTIVE", "PROJECT", "TITLE", "WHY", "FREES")
    visible_sessions = sessions[:_MAX_LISTED_SESSIONS]
    short_ids = request.make_short_ids([each["id"] for each in visible_sessions])
    now, home = request.app.clock.now(), str(request.app.home)
    rows = [
        (
            short_ids[each["id"]],
            each["agent"],
            _format_age(each["ended_at"], now),
            format_path(each["project"] or "", home).rpartition("/")[2] or "-",
            each["title"] or "-",
            ", ".join(each["why"]),
            format_bytes(each["bytes"]),
        )
        for each in visible_sessions
    ]
    yield from format_table(headers, rows, stretch=4, right_aligned=("FREES",))
    if len(sessions) > _MAX_LISTED_SESSIONS:
        hidden_count = len(sessions) - _MAX_LISTED_SESSIONS
        yield f"… and {hidden_count} more (list all with --json)"


def _format_age(text: str | None, now: datetime) -> str:
    time = parse_time(text)
    return format_ago(time, now) if time else "-"
