"""`leslied rebuild`: rebuild the store from the archive and the logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from leslied.app import get_app
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import emit, format_bytes, json_option
from leslied.cli.terminal.progress import ProgressBar
from leslied.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.app import App
    from leslied.pipeline import SettleReport
    from leslied.pipeline.maintenance.rebuild import RebuildReport


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied rebuild", "rebuild, unless entries would be lost"),
        ("leslied rebuild --accept-loss", "rebuild in any case"),
    ],
    see_also=["sync", "status", "doctor"],
)
@click.option(
    "--accept-loss",
    is_flag=True,
    help="Rebuild even if entries that exist only in the old store are lost.",
)
@json_option
@click.pass_context
def command(ctx: click.Context, *, accept_loss: bool, as_json: bool) -> None:
    """Rebuild the store from the archive and the logs.

    Use it if the store is damaged, or if a newer leslied understands old logs better.
    If the old store holds entries that are in neither the archive nor the logs, the
    command fails unless you accept their loss. The daemon must not be running.

    The old store is kept as store.db.before-rebuild. Transcripts keep their names.
    """
    app = get_app(ctx)
    with ProgressBar(app.clock) as bar:
        bar.start("Reading archive and logs", format_bytes)
        report = app.make_rebuild(bar.update).run(accept_loss=accept_loss)
        settle_report = _run_stages(app, bar)
    data = _report_to_dict(report, settle_report)
    warnings = report.warnings + [
        f"{name}: {reason}" for name, reason in settle_report.errors.items()
    ]
    emit(data, lambda: _lines(data), as_json=as_json, warnings=warnings)


def _run_stages(app: App, bar: ProgressBar) -> SettleReport:
    """Write missing or changed transcripts, relations and thread indexes.

    The returned report has the errors of all three stages.
    """
    with (
        Store(app.paths.store_file, app.clock) as store,
        app.open_reader() as reader,
    ):
        pipeline = app.make_pipeline(store, reader, on_progress=bar.update)
        bar.start("Writing transcripts")
        settle_report = pipeline.transcripts.run()
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
        f"Read {data['records']} records from {data['sources_archived']} archived logs "
        "and the agents' logs."
    )
    source = data["names_from"]
    yield (
        f"Took transcript names from the {source}."
        if source
        else "There were no transcript names to keep."
    )
    yield (
        f"Sessions: {data['sessions_same']} unchanged, "
        f"{len(data['sessions_changed'])} changed, {data['sessions_new']} new, "
        f"{len(data['sessions_lost'])} lost."
    )
    yield f"Wrote {data['transcripts_written']} transcripts."
