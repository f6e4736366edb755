"""`leslied secrets`: where sessions and files contain secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from leslied.app import get_app
from leslied.cli.help import LesliedGroup
from leslied.cli.render.output import (
    emit,
    format_table,
    format_time,
    json_option,
    sanitize,
)
from leslied.cli.stop_daemon import advising_to_stop_the_daemon
from leslied.cli.terminal.progress import ProgressBar
from leslied.queries.time_args import parse_time_arg
from leslied.rendering.humanize import format_count, format_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from leslied.queries.secret_scan import SecretScan, StoredSecret

_ENTRY_ID_CHARS = 12
_COLUMNS = ("WHEN", "SESSION", "ENTRY", "FIELD", "MARKER", "TRANSCRIPT")


@click.group(cls=LesliedGroup, see_also=["search", "prune"])
def command() -> None:
    """Find secrets in sessions; replace them in transcripts and exports.

    The store keeps what the agents' logs contain, with secrets; every output replaces
    them by markers such as [REDACTED:github:1f3a]. Equal secrets have equal markers.
    """


@command.command(
    examples=[
        ("leslied secrets scan", "show where the store contains secrets"),
        ("leslied secrets scan --since 7d", "only in entries of the last 7 days"),
        ("leslied secrets scan --json", "print the same as JSON"),
    ],
    see_also=["show", "config path"],
)
@click.option(
    "--since",
    metavar="WHEN",
    help="Scan entries since this day or time: 2026-01-31, today, 12h, 7d.",
)
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    default=100,
    show_default=True,
    help="Show at most N places.",
)
@json_option
@click.pass_context
def scan(ctx: click.Context, *, since: str | None, limit: int, as_json: bool) -> None:
    """Show which entries contain secrets, by kind, the newest first.

    The secrets themselves are never shown. TRANSCRIPT is the name of the transcript of
    the entry's unit; --json prints its path. The transcript has markers instead of
    secrets whose kinds leslied knew when it wrote the file. The setting `redact.allow`
    lists values that are not secret, `redact.rules` other kinds of secrets.
    """
    # Imported late, because --help does not need them.
    from leslied.queries.secret_scan import scan_secrets  # noqa: PLC0415
    from leslied.queries.short_ids import make_short_ids  # noqa: PLC0415

    app = get_app(ctx)
    since_us = parse_time_arg(since, app.clock.now(), None) if since else None
    with app.open_queries() as queries:
        result = scan_secrets(queries, app.load_redactor(), since_us, limit)
        ids = {secret.key.session_id for secret in result.secrets}
        short_ids = make_short_ids(queries, ids)
    emit(
        result.to_dict,
        lambda: _lines(result, short_ids),
        as_json=as_json,
    )


@command.command(
    examples=[
        ("leslied secrets clean", "show which files have secrets"),
        ("leslied secrets clean --yes", "replace the secrets in these files"),
    ],
    exit_codes=[(4, "the daemon is running; the error says how to stop it")],
    see_also=["doctor", "prune"],
)
@click.option(
    "--yes", is_flag=True, help="Clean; without it, only show what would be cleaned."
)
@json_option
@click.pass_context
def clean(ctx: click.Context, *, yes: bool, as_json: bool) -> None:
    """Replace secrets that older files still contain.

    leslied replaces secrets in everything it writes. Files that it wrote before it knew
    a kind of secret may still contain some: transcripts, INDEX.md, indexes, relations
    and exports, in projects and in the central tree. Transcripts are rendered again if
    the store still has their session; in all other files, the secrets are replaced in
    place. A dry run unless --yes is given. The secrets themselves are never shown.

    Git may still have older versions of a file that was committed.
    """
    from leslied import deletion  # noqa: PLC0415 - not needed for --help

    app = get_app(ctx)
    if yes:
        with (
            advising_to_stop_the_daemon("Nothing was changed."),
            ProgressBar(app.clock) as bar,
        ):
            result = deletion.clean_secrets(app, bar)
    else:
        result = deletion.plan_secrets_clean(app)
    emit(
        result.to_dict,
        lambda: _clean_lines(result.to_dict(), str(app.home)),
        as_json=as_json,
    )


def _clean_lines(data: dict[str, Any], home: str) -> Iterator[str]:
    if not data["count"]:
        yield "No file that leslied wrote has a secret."
        return
    for file in data["files"]:
        kinds = ", ".join(f"{count} {kind}" for kind, count in file["kinds"].items())
        yield sanitize(f"{format_path(file['path'], home)}: {kinds}")
    files = format_count(data["count"], "file")
    if data["done"]:
        yield f"{files} cleaned, {data['rendered']} of them rendered again."
    else:
        yield f"{files} with secrets. Replace them with: leslied secrets clean --yes"


def _lines(result: SecretScan, short_ids: Mapping[str, str]) -> Iterator[str]:
    if not result.total:
        yield "No secrets found."
        return
    groups: dict[str, list[StoredSecret]] = {}
    for secret in result.secrets:
        groups.setdefault(secret.kind, []).append(secret)
    for kind, secrets in groups.items():
        places = format_count(result.counts[kind], "place")
        yield click.style(f"{kind}: {places}, {secrets[0].tier}", bold=True)
        yield from _table_lines(secrets, short_ids)
        yield ""
    yield f"{format_count(result.total, 'place')} with secrets."
    if result.has_more:
        count = len(result.secrets)
        more = f"Only the newest {count:,} are shown. Show more with: -n {10 * count}"
        yield click.style(more, dim=True)


def _table_lines(
    secrets: Sequence[StoredSecret], short_ids: Mapping[str, str]
) -> Iterator[str]:
    rows = [
        (
            format_time(secret.at),
            short_ids[secret.key.session_id],
            secret.entry_id[:_ENTRY_ID_CHARS] or "-",
            secret.field,
            secret.marker,
            secret.transcript.rpartition("/")[2] or "-",
        )
        for secret in secrets
    ]
    yield from format_table(
        _COLUMNS, rows, flexible="TRANSCRIPT", droppable=("WHEN", "FIELD")
    )
