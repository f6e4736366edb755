"""`leslied sync`: the daemon's work, done once."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import click

from leslied.cli.desk import sit_down
from leslied.cli.help import Command
from leslied.cli.output import (
    emit,
    format_troubles,
    json_option,
    say_bytes,
    say_path,
)
from leslied.cli.progress import Bar
from leslied.pipeline import AssetIndexReport, IngestReport, SettleReport
from leslied.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.cli.desk import Desk
    from leslied.pipeline import Pipeline


@click.command(
    cls=Command,
    examples=[
        ("leslied sync && leslied list", "read what is new and look at it"),
        ("leslied sync --stop-all", "with files for every session, old ones too"),
        ("leslied sync --json", "what it did, for a script"),
    ],
    see_also=["run", "service", "status"],
)
@click.option(
    "--stop-all",
    is_flag=True,
    help="Treat every session as stopped now, and write the files of old ones too.",
)
@json_option
@click.pass_context
def command(ctx: click.Context, *, stop_all: bool, as_json: bool) -> None:
    """Read everything that is new, once, and leave.

    The daemon's work, for scripts, cron, and whoever wants no daemon. It cannot run
    beside the daemon, which reads everything as it comes.

    Each complete entry of every watched log is kept exactly once, however often
    this runs and however it is interrupted.
    """
    # Reading makes many objects and no cycles: looking for some costs five percent.
    gc.set_threshold(100_000, 20, 20)
    desk = sit_down(ctx)
    began = desk.clock.monotonic()
    done, settled, collected, stopped = _sync(desk, stop_all=stop_all)
    seconds = desk.clock.monotonic() - began
    data = _tell(done, settled, stopped, seconds)
    data["threads_indexed"] = collected.threads
    data["index_files_written"] = collected.files_written
    errors = done.errors | done.waiting | done.failures
    warnings = format_troubles(errors.items())
    warnings += [f"{name}: {reason}" for name, reason in settled.errors.items()]
    emit(
        data,
        lambda: _lines(done, data, desk),
        as_json=as_json,
        warnings=warnings,
    )


def _sync(
    desk: Desk, *, stop_all: bool
) -> tuple[IngestReport, SettleReport, AssetIndexReport, int]:
    done = IngestReport()
    with (
        Bar(desk.clock) as bar,
        Store(desk.places.store_file, desk.clock) as store,
        desk.open_reader() as reader,
    ):
        streets = desk.make_streets(
            store, reader, is_final=stop_all, on_progress=bar.tell
        )
        for ingest in streets.ingests:
            bar.begin(f"Reading {ingest.adapter.title}", say_bytes)
            done += ingest.scan()
        stopped = streets.hook_events.run().stopped + streets.stop_detection.run()
        stopped += store.mark_all_stopped() if stop_all else 0
        # Sessions from before leslied are many, and nobody waits for their files.
        bar.begin("Writing transcripts")
        settled = streets.settle.run(include_old=stop_all)
        _relate(streets, settled, has_old=stop_all)
        bar.begin("Indexing threads")
        collected = streets.asset_index.scan(newest_limit=2000)
        settled.errors |= collected.errors
        published = streets.exports.run()
        settled.errors |= published.errors
        settled.exports_written = published.files_written
        if stop_all:
            bar.begin("Archiving logs")
            settled.errors |= streets.archiver.run().errors
    return done, settled, collected, stopped


def _relate(streets: Pipeline, settled: SettleReport, *, has_old: bool) -> None:
    """Threads stand among others; what moved is written again where it belongs."""
    related = streets.relations_sync.run()
    settled.errors |= related.errors
    if related.moved_threads:
        streets.relations_sync.run()
        again = streets.settle.run(include_old=has_old)
        settled.files_written += again.files_written
        settled.errors |= again.errors


def _tell(
    done: IngestReport, settled: SettleReport, stopped: int, seconds: float
) -> dict[str, Any]:
    return {
        "sources": done.sources,
        "sources_changed": done.sources_read,
        "sources_waiting": len(done.waiting),
        "entries_decoded": done.entries,
        "bytes_read": done.bytes_read,
        "records_added": done.added.records,
        "placements_added": done.added.placements,
        "noise": done.noise,
        "rejected": done.rejected,
        "transactions": done.commits,
        "units_settled": settled.units,
        "transcripts_written": settled.files_written,
        "transcripts_removed": settled.files_removed,
        "exports_written": settled.exports_written,
        "sessions_stopped": stopped,
        "seconds": round(seconds, 3),
        "missing_roots": [str(path) for path in done.missing_roots],
    }


def _lines(done: IngestReport, data: dict[str, Any], desk: Desk) -> Iterator[str]:
    home = str(desk.home)
    if not done.sources:
        yield "No agent has written anything here yet. Looked in:"
        for path in done.missing_roots:
            yield f"  {say_path(str(path), home)}"
        return
    yield (
        f"{done.sources} logs, {done.sources_read} changed: {done.entries} new entries "
        f"({say_bytes(done.bytes_read)}) in {data['seconds']:.1f} s"
    )
    if done.entries:
        yield (
            f"{done.added.records} records kept, {done.noise} noise, "
            f"{done.rejected} rejected. See them: leslied list"
        )
    if data["transcripts_written"]:
        yield f"{data['transcripts_written']} transcripts written"
    if data["exports_written"]:
        yield f"{data['exports_written']} files of other outputs written"
    if data["sessions_stopped"]:
        yield f"{data['sessions_stopped']} sessions and subagents marked as stopped"
