"""`leslied rebuild`: rebuild the store from the archive and the logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from leslied import jobs
from leslied.app import get_app
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import emit, json_option
from leslied.cli.stop_daemon import advising_to_stop_the_daemon
from leslied.cli.terminal.progress import ProgressBar

if TYPE_CHECKING:
    from collections.abc import Iterator


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied rebuild", "rebuild, unless entries would be lost"),
        ("leslied rebuild --accept-loss", "rebuild in any case"),
    ],
    exit_codes=[
        (1, "rebuilt, but a damaged part of the archive could not be repaired"),
        (2, "wrong usage, or entries would be lost; the store was not changed"),
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

    Use it if the store is damaged. If the old store holds entries that are in neither
    the archive nor the logs, the command fails unless you accept their loss. The daemon
    must not be running.

    Damaged files of the archive are first repaired from the logs. If the log of a
    damaged file is gone, the readable part of the file is used, and the command says
    what is lost.

    The old store is kept as store.db.before-rebuild. Transcripts keep their names.
    """
    app = get_app(ctx)
    with (
        advising_to_stop_the_daemon("The store was not changed."),
        ProgressBar(app.clock) as bar,
    ):
        answer = jobs.rebuild(app, bar, accept_loss=accept_loss)
    emit(
        answer.to_dict,
        lambda: _lines(answer.to_dict()),
        as_json=as_json,
        warnings=answer.warnings,
    )
    if answer.rebuilt.archive_damage:
        ctx.exit(1)


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
