"""`leslied context`: what an agent is told of its thread."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leslied.cli.app import get_app
from leslied.cli.completion import complete_thread
from leslied.cli.help import LesliedCommand
from leslied.cli.output import emit, json_option, sanitize
from leslied.cli.thread_lookup import ThreadLocation, get_latest_thread, get_thread
from leslied.errors import LesliedError, UserError
from leslied.threads.context import build_context
from leslied.threads.operations import CycleError

if TYPE_CHECKING:
    from leslied.cli.app import App
    from leslied.threads.context import ThreadContext


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied context", "that of the thread last active here"),
        ("leslied context thread-1a2b3c4d", "that of one thread"),
        (
            "leslied context --ref thread-5e6f7a8b",
            "with the assets of another one, too",
        ),
    ],
    see_also=["resume", "assets", "hooks", "threads"],
)
@click.argument(
    "thread", metavar="[THREAD|last]", required=False, shell_complete=complete_thread
)
@click.option(
    "--ref",
    "refs",
    multiple=True,
    metavar="THREAD",
    shell_complete=complete_thread,
    help="Refer to it too; may be given again.",
)
@json_option
@click.pass_context
def command(
    ctx: click.Context, *, thread: str | None, refs: tuple[str, ...], as_json: bool
) -> None:
    """Print the <thread_context> of a thread: its assets, and those it refers to.

    This is what the hooks tell an agent when it starts; print it to see that, or to
    give it to an agent without hooks.

    Without a thread: the one that was last active in this folder's project. What
    `--ref` names is shown for this once and noted nowhere.
    """
    app, here = get_app(ctx), Path.cwd()
    location = get_thread(app, thread, here) if thread else get_latest_thread(app, here)
    more = [_find_ref(app, ref, location) for ref in refs]
    is_central = location.base.is_relative_to(app.paths.central_dir)
    try:
        context = build_context(
            location.base,
            location.thread_id,
            extra_refs=more,
            prefix=f"{location.base}/" if is_central else "",
        )
    except CycleError as error:
        raise LesliedError(str(error), "Leave that --ref out.") from error
    emit(
        _context_to_dict(context, location),
        lambda: map(sanitize, context.xml.split("\n")),
        as_json=as_json,
        warnings=context.warnings,
    )


def _find_ref(app: App, wanted: str, own: ThreadLocation) -> ThreadLocation:
    """The thread to refer to; one that is nowhere is left to be warned of."""
    try:
        return get_thread(app, wanted, own.base)
    except UserError:
        return ThreadLocation(wanted, own.base)


def _context_to_dict(
    context: ThreadContext, location: ThreadLocation
) -> dict[str, Any]:
    return {
        "thread_id": context.thread_id,
        "objective": context.objective,
        "base": str(location.base),
        "assets": [{"type": t, "path": p} for t, p in context.assets],
        "refs": [
            {"thread": name, "assets": [{"type": t, "path": p} for t, p in assets]}
            for name, assets in context.refs.items()
        ],
        "context": context.xml,
    }
