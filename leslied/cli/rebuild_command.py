"""`leslied rebuild`: the store made anew from the archive and the logs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from leslied.cli.app import get_app, make_exclude_predicate
from leslied.cli.help import LesliedCommand
from leslied.cli.output import emit, format_bytes, json_option
from leslied.cli.progress import ProgressBar
from leslied.paths import load_key
from leslied.pipeline.rebuild import Rebuild, RebuildReport
from leslied.redact import Redactor
from leslied.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.cli.app import App
    from leslied.config import Settings
    from leslied.pipeline import SettleReport


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied rebuild", "make it anew; refused where that would lose"),
        ("leslied rebuild --accept-loss", "even so"),
    ],
    see_also=["sync", "status", "doctor"],
)
@click.option(
    "--accept-loss",
    is_flag=True,
    help="Go on although the old store has entries that nothing else has.",
)
@json_option
@click.pass_context
def command(ctx: click.Context, *, accept_loss: bool, as_json: bool) -> None:
    """Make the store anew from the archive and the logs.

    For when the store is damaged, or when a newer leslied understands old logs
    better. Where the old store holds entries that nothing else has, nothing happens
    unless you accept their loss. The daemon must not run.

    Transcripts keep their names. The old store stays beside the new one, as
    store.db.before-rebuild.
    """
    app = get_app(ctx)
    settings = app.load_settings()
    with ProgressBar(app.clock) as bar:
        bar.start("Reading archive and logs", format_bytes)
        rebuild = replace(_make_rebuild(app, settings), on_progress=bar.update)
        report = rebuild.run(accept_loss=accept_loss)
        settle_report = _run_stages(app, bar)
    data = _report_to_dict(report, settle_report)
    warnings = report.warnings + [
        f"{n}: {why}" for n, why in settle_report.errors.items()
    ]
    emit(data, lambda: _lines(data), as_json=as_json, warnings=warnings)


def _make_rebuild(app: App, settings: Settings) -> Rebuild:
    agents = [
        (adapter, tuple(roots)) for adapter, roots in app.iter_agent_roots(settings)
    ]
    excludes = {a.name: make_exclude_predicate(settings, a.name) for a, _ in agents}
    return Rebuild(
        path=app.paths.store_file,
        archive_dir=app.paths.data_dir / "archive",
        agents=agents,
        clock=app.clock,
        excludes=excludes,
        key_id=Redactor(load_key(app.paths.key_file)).key_id,
    )


def _run_stages(app: App, bar: ProgressBar) -> SettleReport:
    """Every unit has its file; one that says the same is not written again."""
    with (
        Store(app.paths.store_file, app.clock) as store,
        app.open_reader() as reader,
    ):
        pipeline = app.make_pipeline(store, reader, on_progress=bar.update)
        bar.start("Writing transcripts")
        settle_report = pipeline.settle.run()
        settle_report.errors |= pipeline.relations_sync.run().errors
        bar.start("Indexing threads")
        settle_report.errors |= pipeline.asset_index.run().errors
        return settle_report


def _report_to_dict(
    report: RebuildReport, settle_report: SettleReport
) -> dict[str, Any]:
    return {
        "sources_archived": report.archived_sources,
        "names_from": report.metadata_source,
        "entries_decoded": report.ingest.entries,
        "records": report.ingest.added.records,
        "sessions_same": report.same_sessions,
        "sessions_changed": report.changed_sessions,
        "sessions_new": report.new_sessions,
        "sessions_lost": report.lost_sessions,
        "entries_lost": report.lost_entries,
        "transcripts_written": settle_report.files_written,
    }


def _lines(data: dict[str, Any]) -> Iterator[str]:
    yield (
        f"{data['records']} records from {data['sources_archived']} archived logs "
        "and the logs that are still there"
    )
    where = data["names_from"]
    yield f"Names of transcripts came from the {where}." if where else "No names yet."
    yield (
        f"{data['sessions_same']} sessions say the same, "
        f"{len(data['sessions_changed'])} changed, {data['sessions_new']} are new, "
        f"{len(data['sessions_lost'])} are lost"
    )
    yield f"{data['transcripts_written']} transcripts written"
