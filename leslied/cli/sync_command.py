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
from leslied.pipeline import Collected, Ingested, Settled
from leslied.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.cli.desk import Desk
    from leslied.pipeline import Streets


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
    data["index_files_written"] = collected.written
    errors = done.troubles | done.waiting | done.failures
    warnings = format_troubles(errors.items())
    warnings += [f"{name}: {reason}" for name, reason in settled.troubles.items()]
    emit(
        data,
        lambda: _lines(done, data, desk),
        as_json=as_json,
        warnings=warnings,
    )


def _sync(desk: Desk, *, stop_all: bool) -> tuple[Ingested, Settled, Collected, int]:
    done = Ingested()
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
        stopped = streets.told.listen().stopped + streets.stops.check()
        stopped += store.mark_all_stopped() if stop_all else 0
        # Sessions from before leslied are many, and nobody waits for their files.
        bar.begin("Writing transcripts")
        settled = streets.settle.run(has_old=stop_all)
        _relate(streets, settled, has_old=stop_all)
        bar.begin("Indexing threads")
        collected = streets.collect.scan(newest=2000)
        settled.troubles |= collected.troubles
        published = streets.publish.run()
        settled.troubles |= published.troubles
        settled.exported = published.files
        if stop_all:
            bar.begin("Archiving logs")
            settled.troubles |= streets.keep.run().troubles
    return done, settled, collected, stopped


def _relate(streets: Streets, settled: Settled, *, has_old: bool) -> None:
    """Threads stand among others; what moved is written again where it belongs."""
    related = streets.relate.run()
    settled.troubles |= related.troubles
    if related.moved:
        streets.relate.run()
        again = streets.settle.run(has_old=has_old)
        settled.written += again.written
        settled.troubles |= again.troubles


def _tell(
    done: Ingested, settled: Settled, stopped: int, seconds: float
) -> dict[str, Any]:
    return {
        "sources": done.sources,
        "sources_changed": done.looked,
        "sources_waiting": len(done.waiting),
        "entries_decoded": done.entries,
        "bytes_read": done.bytes_read,
        "records_added": done.added.records,
        "placements_added": done.added.placements,
        "noise": done.noise,
        "rejected": done.rejected,
        "transactions": done.commits,
        "units_settled": settled.units,
        "transcripts_written": settled.written,
        "transcripts_removed": settled.removed,
        "exports_written": settled.exported,
        "sessions_stopped": stopped,
        "seconds": round(seconds, 3),
        "missing_roots": [str(path) for path in done.missing],
    }


def _lines(done: Ingested, data: dict[str, Any], desk: Desk) -> Iterator[str]:
    home = str(desk.home)
    if not done.sources:
        yield "No agent has written anything here yet. Looked in:"
        for path in done.missing:
            yield f"  {say_path(str(path), home)}"
        return
    yield (
        f"{done.sources} logs, {done.looked} changed: {done.entries} new entries "
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
