"""`leslied rebuild`: the store made anew from the archive and the logs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from leslied.cli.desk import make_exclude, sit_down
from leslied.cli.help import Command
from leslied.cli.output import emit, json_option, say_bytes
from leslied.cli.progress import Bar
from leslied.paths import load_key
from leslied.pipeline.rebuild import Rebuild, RebuildReport
from leslied.redact import Redactor
from leslied.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.cli.desk import Desk
    from leslied.config import Settings
    from leslied.pipeline import SettleReport


@click.command(
    cls=Command,
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
    desk = sit_down(ctx)
    settings = desk.load_settings()
    with Bar(desk.clock) as bar:
        bar.begin("Reading archive and logs", say_bytes)
        rebuild = replace(_make_rebuild(desk, settings), on_progress=bar.tell)
        told = rebuild.run(accept_loss=accept_loss)
        settled = _settle(desk, bar)
    data = _tell(told, settled)
    warnings = told.warnings + [f"{n}: {why}" for n, why in settled.errors.items()]
    emit(data, lambda: _lines(data), as_json=as_json, warnings=warnings)


def _make_rebuild(desk: Desk, settings: Settings) -> Rebuild:
    agents = [(adapter, tuple(roots)) for adapter, roots in desk.agent_roots(settings)]
    excludes = {a.name: make_exclude(settings, a.name) for a, _ in agents}
    return Rebuild(
        path=desk.places.store_file,
        archive_dir=desk.places.data_dir / "archive",
        agents=agents,
        clock=desk.clock,
        excludes=excludes,
        key_id=Redactor(load_key(desk.places.key_file)).key_id,
    )


def _settle(desk: Desk, bar: Bar) -> SettleReport:
    """Every unit has its file; one that says the same is not written again."""
    with (
        Store(desk.places.store_file, desk.clock) as store,
        desk.open_reader() as reader,
    ):
        streets = desk.make_streets(store, reader, on_progress=bar.tell)
        bar.begin("Writing transcripts")
        settled = streets.settle.run()
        settled.errors |= streets.relations_sync.run().errors
        bar.begin("Indexing threads")
        settled.errors |= streets.asset_index.run().errors
        return settled


def _tell(told: RebuildReport, settled: SettleReport) -> dict[str, Any]:
    return {
        "sources_archived": told.archived_sources,
        "names_from": told.metadata_source,
        "entries_decoded": told.ingest.entries,
        "records": told.ingest.added.records,
        "sessions_same": told.same_sessions,
        "sessions_changed": told.changed_sessions,
        "sessions_new": told.new_sessions,
        "sessions_lost": told.lost_sessions,
        "entries_lost": told.lost_entries,
        "transcripts_written": settled.files_written,
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
