"""`leslied prune`: old sessions go, from the store and the archive."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from leslied.cli.app import get_app
from leslied.cli.filters import (
    AGENT_PROJECT_NAMES,
    agent_project_options,
    parse_filters,
)
from leslied.cli.help import LesliedCommand
from leslied.cli.output import (
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
from leslied.cli.progress import ProgressBar
from leslied.cli.time_args import parse_time_arg
from leslied.errors import AlreadyRunning, UserError
from leslied.lookup import list_sessions
from leslied.model.codec import encode_time
from leslied.model.query import Selection
from leslied.paths import PLATFORM
from leslied.pipeline.prune import (
    PruneGuard,
    Pruner,
    PruneReport,
    find_live_sessions,
    find_store_copies,
    make_batches,
    measure_sizes,
)
from leslied.sessions.retention import PrunePlan, RetentionPolicy, plan_pruning
from leslied.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.cli.app import App
    from leslied.sessions.retention import PruneCandidate, StorageSizes
    from leslied.store import StoreReader

_MAX_SHOWN = 20
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([kmgt]?)i?b?")
_FACTORS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_KEEP_REASONS = {
    "active": "still at work",
    "idle": "not over yet",
    "unread": "with a log that has news (run: leslied sync)",
    "failed": "ended badly (--failed takes them too)",
}


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied prune --older-than 90d", "what three months of silence would take"),
        ("leslied prune --older-than 90d --yes", "do it"),
        ("leslied prune --max-size 2GB --yes", "the oldest go until it is smaller"),
        ("leslied prune --project old-app --keep 0 --yes", "all of one project"),
    ],
    exit_codes=[(4, "the daemon runs: stop it first")],
    see_also=["disk", "export", "rebuild"],
)
@click.option(
    "--older-than",
    metavar="WHEN",
    help="Sessions that were last active before this: 90d, 4w, 2026-01-31.",
)
@click.option(
    "--keep",
    metavar="N",
    type=click.IntRange(min=0),
    help="All but the last active N.",
)
@click.option(
    "--max-size",
    metavar="SIZE",
    help="The oldest, until store and archive take no more than this: 2GB, 500MB.",
)
@agent_project_options
@click.option("--failed", is_flag=True, help="Also those that ended badly.")
@click.option(
    "--transcripts",
    is_flag=True,
    help="Also the transcripts that were written of them and that nobody changed.",
)
@click.option("--yes", is_flag=True, help="Do it; without this it is only shown.")
@json_option
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Be rid of whole sessions, with their subagents: first shown, then done.

    A session goes when any of --older-than, --keep and --max-size names it. --agent
    and --project say which sessions are looked at. What is still at work, has news in
    its log, or ended badly stays. The agents' own logs are never touched, and what
    has gone does not come back from them; what an agent adds later is kept.
    """
    request = _PruneRequest(get_app(ctx), options)
    request.check()
    choice, sizes, done = request.execute() if options["yes"] else request.plan()
    data = request.to_dict(choice, sizes, done)
    warnings = _list_warnings(done) if done else []
    emit(
        data,
        lambda: _done_lines(data) if done else _dry_run_lines(data, request),
        as_json=options["as_json"],
        warnings=warnings,
    )


@dataclass(frozen=True, slots=True)
class _PruneRequest:
    """What was asked for."""

    app: App
    options: dict[str, Any]

    def check(self) -> None:
        """Whoever does not say what is too much is asked."""
        if all(
            self.options[name] is None for name in ("older_than", "keep", "max_size")
        ):
            raise UserError(
                "Which sessions are too many?",
                "Try: leslied prune --older-than 90d, leslied prune --keep 500, "
                "or leslied prune --max-size 2GB; without --yes they are only shown.",
            )

    def plan(self) -> tuple[PrunePlan, StorageSizes, None]:
        """Who would go."""
        with self.app.open_reader() as reader:
            return *self._select_sessions(reader), None

    def _select_sessions(self, reader: StoreReader) -> tuple[PrunePlan, StorageSizes]:
        policy = self._make_policy()
        settings = self.app.load_settings()
        roots = {
            a.name: tuple(found) for a, found in self.app.iter_agent_roots(settings)
        }
        reasons = PruneGuard(
            reader=reader,
            roots=roots,
            live_sessions=find_live_sessions(self.app.list_registries(settings)),
            clock=self.app.clock,
            include_failed=self.options["failed"],
        )
        sizes = measure_sizes(reader)
        filters = parse_filters(self.app, self.options, AGENT_PROJECT_NAMES)
        sessions = list_sessions(reader, Selection(filters=filters))
        return plan_pruning(sessions, policy, sizes, reasons.find_reason_to_keep), sizes

    def execute(self) -> tuple[PrunePlan, StorageSizes, PruneReport]:
        """They are gone."""
        with self._open_store() as store:
            with self.app.open_reader() as reader:
                choice, sizes = self._select_sessions(reader)
                keep = self.app.make_pipeline(store, reader).archiver
            prune = Pruner(
                store=store,
                archiver=keep,
                include_transcripts=self.options["transcripts"],
            )
            with store.pruner() as pruning:
                is_unfinished = pruning.needs_vacuum()
            if choice.candidates or is_unfinished:
                prune.check_free_space(sizes.compute_remaining_store(choice.candidates))
                with ProgressBar(self.app.clock) as bar:
                    bar.start("Removing sessions")
                    for batch in bar.track(list(make_batches(choice.candidates))):
                        prune.remove(batch)
                prune.finish()
            with self.app.open_reader() as reader:
                choice.remaining_bytes = (
                    reader.sizes.get_used_bytes() + reader.sizes.get_archive_bytes()
                )
        return choice, sizes, prune.report

    def to_dict(
        self, choice: PrunePlan, sizes: StorageSizes, done: PruneReport | None
    ) -> dict[str, Any]:
        """What scripts are told, and people in other words."""
        copies = find_store_copies(self.app.paths.store_file)
        data: dict[str, Any] = {
            "done": done is not None,
            "count": len(choice.candidates),
            "bytes": sum(each.size for each in choice.candidates),
            "bytes_before": sizes.total,
            "bytes_after": choice.remaining_bytes,
            "copies_bytes": sum(copy.stat().st_size for copy in copies),
            "sessions": [self._session_to_dict(each) for each in choice.candidates],
            "staying": {
                why: len(found) for why, found in choice.kept_by_reason.items()
            },
            "command": self._format_command(),
        }
        if done:
            data |= {
                "records_removed": done.records,
                "archive_files_removed": done.archive_files,
                "transcripts_removed": done.transcripts,
                "copies_removed": done.store_copies,
            }
        return data

    def make_short_ids(self, ids: list[str]) -> dict[str, str]:
        """The ids as people type them."""
        with self.app.open_reader() as reader:
            return shorten_ids(ids, reader.list_similar_ids(ids))

    def _open_store(self) -> Store:
        try:
            return Store(self.app.paths.store_file, self.app.clock)
        except AlreadyRunning as error:
            from leslied.service import format_stop_command  # noqa: PLC0415 - few need it

            raise AlreadyRunning(
                error.message,
                f"Nothing was removed. Stop it first: {format_stop_command(PLATFORM)}; "
                "then start it again.",
            ) from error

    def _make_policy(self) -> RetentionPolicy:
        older, size = self.options["older_than"], self.options["max_size"]
        now = self.app.clock.now()
        before = None
        if older is not None:
            before = _EPOCH + timedelta(microseconds=parse_time_arg(older, now, None))
        return RetentionPolicy(
            before=before,
            keep_newest=self.options["keep"],
            max_bytes=None if size is None else parse_size(size),
        )

    def _session_to_dict(self, going: PruneCandidate) -> dict[str, Any]:
        session = going.session
        return {
            "id": session.key.session_id,
            "agent": session.key.agent,
            "project": self.app.redact(session.cwd) or None,
            "title": self.app.redact(session.title) or None,
            "ended_at": encode_time(session.ended_at),
            "subagents": session.subagents,
            "why": list(going.reasons),
            "bytes": going.size,
        }

    def _format_command(self) -> str:
        words = self._format_options(
            "older_than", "keep", "max_size", *AGENT_PROJECT_NAMES
        )
        words += [
            f"--{name}" for name in ("failed", "transcripts") if self.options[name]
        ]
        return shlex.join(["leslied", "prune", *words, "--yes"])

    def format_export_command(self) -> str:
        """The command that takes those away that were looked at."""
        return shlex.join(
            ["leslied", "export", "--all", *self._format_options(*AGENT_PROJECT_NAMES)]
        )

    def _format_options(self, *names: str) -> list[str]:
        """These options, as they were given."""
        given = {name: self.options[name] for name in names}
        return [
            word
            for name, value in given.items()
            if value is not None
            for word in ("--" + name.replace("_", "-"), str(value))
        ]


def parse_size(text: str) -> int:
    """Bytes, of a size as people type it."""
    found = _SIZE.fullmatch(text.strip().lower())
    if found is None:
        raise UserError(f"{text!r} is no size.", "Try: 2GB, 500MB, 1.5G")
    return int(float(found[1]) * _FACTORS[found[2]])


def _list_warnings(done: PruneReport) -> list[str]:
    warnings = [
        f"{path} was changed since it was written; it stays."
        for path in done.changed_transcripts
    ]
    if not done.is_store_shrunk:
        warnings.append(
            "Another program still reads the store, and its file shrinks when that "
            "ends. Then run the same command again."
        )
    return warnings


def _dry_run_lines(data: dict[str, Any], request: _PruneRequest) -> Iterator[str]:
    if not data["count"]:
        yield "No session would go."
        yield from _kept_lines(data)
        return
    yield from _session_table(data["sessions"], request)
    yield ""
    yield (
        f"{format_count(data['count'], 'session')} would go, about "
        f"{format_bytes(data['bytes'])} of the {format_bytes(data['bytes_before'])} "
        "in store and archive."
    )
    if data["copies_bytes"]:
        yield (
            f"So would older copies of the store ({format_bytes(data['copies_bytes'])}): "
            "they hold all of it."
        )
    yield from _kept_lines(data)
    yield f"Nothing was removed. To do it: {data['command']}"
    yield f"To have them elsewhere first: {request.format_export_command()} -f jsonl -o FOLDER"


def _done_lines(data: dict[str, Any]) -> Iterator[str]:
    if not data["count"]:
        yield "No session went."
    else:
        yield (
            f"{format_count(data['count'], 'session')} gone, with "
            f"{format_count(data['records_removed'], 'record')} and "
            f"{format_count(data['archive_files_removed'], 'archived log')}. "
            f"Store and archive: {format_bytes(data['bytes_after'])} now."
        )
    if data["transcripts_removed"]:
        yield f"{format_count(data['transcripts_removed'], 'transcript')} removed"
    if data["copies_removed"]:
        yield f"{format_count(data['copies_removed'], 'older file')} of the store removed"
    yield from _kept_lines(data)


def _kept_lines(data: dict[str, Any]) -> Iterator[str]:
    for why, count in data["staying"].items():
        yield f"{format_count(count, 'session')} {_KEEP_REASONS[why]}: not touched"


def _session_table(
    sessions: list[dict[str, Any]], request: _PruneRequest
) -> Iterator[str]:
    names = ("ID", "AGENT", "LAST ACTIVE", "PROJECT", "TITLE", "WHY", "FREES")
    shown = sessions[:_MAX_SHOWN]
    shorts = request.make_short_ids([each["id"] for each in shown])
    now, home = request.app.clock.now(), str(request.app.home)
    rows = [
        (
            shorts[each["id"]],
            each["agent"],
            _format_age(each["ended_at"], now),
            format_path(each["project"] or "", home).rpartition("/")[2] or "-",
            each["title"] or "-",
            ", ".join(each["why"]),
            format_bytes(each["bytes"]),
        )
        for each in shown
    ]
    yield from format_table(names, rows, stretch=4, right_aligned="FREES")
    if len(sessions) > _MAX_SHOWN:
        yield f"… and {len(sessions) - _MAX_SHOWN} more (all of them: --json)"


def _format_age(text: str | None, now: datetime) -> str:
    time = parse_time(text)
    return format_ago(time, now) if time else "-"
