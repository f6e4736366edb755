"""`leslied prune`: delete sessions from the store and the archive."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

import click

from leslied import deletion
from leslied.app import get_app
from leslied.cli.filters import (
    AGENT_PROJECT_NAMES,
    agent_project_options,
    parse_filters,
)
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import emit, format_table, json_option, parse_time
from leslied.cli.stop_daemon import advising_to_stop_the_daemon
from leslied.cli.terminal.progress import ProgressBar
from leslied.errors import UserError
from leslied.model.times import from_us
from leslied.queries.operations.prune_plan import PruneRequest, RetentionPolicy
from leslied.queries.short_ids import make_short_ids
from leslied.queries.time_args import parse_time_arg
from leslied.rendering.humanize import (
    format_ago,
    format_bytes,
    format_count,
    format_path,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from leslied.app import App
    from leslied.queries.operations.prune_plan import PruneAnswer

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
    help="Also delete the files that leslied wrote to their threads, except edited "
    "transcripts.",
)
@click.option(
    "--yes", is_flag=True, help="Delete; without it, only show what would be deleted."
)
@json_option
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Delete sessions and their subagents. A dry run unless --yes is given.

    --older-than, --keep and --max-size can be combined; a session is deleted if any of
    them selects it. --agent and --project limit this to one agent or project.
    Sessions that have not stopped, and those with unread log entries, are never
    deleted.
    A session has failed if its last turn ended with an error, was interrupted, or has a
    tool call without a result. Such sessions are deleted only with --failed.

    The agents' own logs are never touched. Deleted entries are not read again;
    new entries that an agent adds to those logs are read.
    """
    app = get_app(ctx)
    _check_options(options)
    request = _make_request(app, options)
    answer = (
        _delete(app, request) if options["yes"] else deletion.plan_prune(app, request)
    )
    emit(
        answer.to_dict,
        lambda: (
            _report_lines(answer.to_dict())
            if answer.is_done
            else _dry_run_lines(answer.to_dict(), app, options)
        ),
        as_json=options["as_json"],
        warnings=answer.warnings,
    )


def _check_options(options: dict[str, Any]) -> None:
    """Raise UserError if no option selects sessions to prune."""
    if all(options[name] is None for name in ("older_than", "keep", "max_size")):
        raise UserError(
            "No sessions are selected: use --older-than, --keep or --max-size.",
            "Try: leslied prune --older-than 90d. Nothing is deleted without --yes.",
        )


def _make_request(app: App, options: dict[str, Any]) -> PruneRequest:
    age, size = options["older_than"], options["max_size"]
    before = None
    if age is not None:
        before = from_us(parse_time_arg(age, app.clock.now(), None))
    policy = RetentionPolicy(
        before=before,
        keep_newest=options["keep"],
        max_bytes=None if size is None else parse_size(size),
    )
    return PruneRequest(
        policy=policy,
        filters=parse_filters(app, options, AGENT_PROJECT_NAMES),
        include_failed=options["failed"],
        include_transcripts=options["transcripts"],
        command=_format_command(options),
    )


def _delete(app: App, request: PruneRequest) -> PruneAnswer:
    with (
        advising_to_stop_the_daemon("Nothing was deleted."),
        ProgressBar(app.clock) as bar,
    ):
        bar.start("Deleting sessions")
        return deletion.prune(app, request, bar.track)


def _format_command(options: dict[str, Any]) -> str:
    args = _format_options(
        options, "older_than", "keep", "max_size", *AGENT_PROJECT_NAMES
    )
    args += [f"--{name}" for name in ("failed", "transcripts") if options[name]]
    return shlex.join(["leslied", "prune", *args, "--yes"])


def _format_export_command(options: dict[str, Any]) -> str:
    """Format the command that exports the sessions of this agent and project."""
    args = _format_options(options, *AGENT_PROJECT_NAMES)
    return shlex.join(["leslied", "export", "--all", *args])


def _format_options(options: dict[str, Any], *names: str) -> list[str]:
    """Return the arguments that set these options, leaving out unset ones."""
    values = {name: options[name] for name in names}
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


def _dry_run_lines(
    data: dict[str, Any], app: App, options: dict[str, Any]
) -> Iterator[str]:
    if not data["count"]:
        yield "No sessions would be deleted."
        yield from _format_keep_reasons(data)
        return
    yield from _session_table(data["sessions"], app)
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
    yield from _format_keep_reasons(data)
    yield f"Nothing was deleted. To delete: {data['command']}"
    yield f"To export first: {_format_export_command(options)} -f jsonl -o FOLDER"


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
    yield from _format_keep_reasons(data)


def _format_keep_reasons(data: dict[str, Any]) -> Iterator[str]:
    for reason, count in data["staying"].items():
        yield f"Keeping {format_count(count, 'session')}: {_KEEP_REASONS[reason]}"


def _session_table(sessions: list[dict[str, Any]], app: App) -> Iterator[str]:
    headers = ("ID", "AGENT", "LAST ACTIVE", "PROJECT", "TITLE", "WHY", "FREES")
    visible_sessions = sessions[:_MAX_LISTED_SESSIONS]
    with app.open_queries() as queries:
        short_ids = make_short_ids(queries, [each["id"] for each in visible_sessions])
    now, home = app.clock.now(), str(app.home)
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
    yield from format_table(headers, rows, flexible="TITLE", right_aligned=("FREES",))
    if len(sessions) > _MAX_LISTED_SESSIONS:
        hidden_count = len(sessions) - _MAX_LISTED_SESSIONS
        yield f"… and {hidden_count} more (list all with --json)"


def _format_age(text: str | None, now: datetime) -> str:
    time = parse_time(text)
    return format_ago(time, now) if time else "-"
