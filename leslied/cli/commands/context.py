"""`leslied context`: the context that an agent gets about its thread."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leslied.app import get_app
from leslied.cli.completion import complete_thread
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import emit, json_option, sanitize
from leslied.cli.thread_lookup import ThreadLocation, get_latest_thread, get_thread
from leslied.errors import LesliedError, UserError
from leslied.threads.context import build_context
from leslied.threads.operations import CycleError

if TYPE_CHECKING:
    from leslied.app import App
    from leslied.threads.context import ThreadContext


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied context", "print the context of the last active thread"),
        ("leslied context thread-1a2b3c4d", "print the context of a given thread"),
        (
            "leslied context --ref thread-5e6f7a8b",
            "include the assets of another thread",
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
    help="Include the assets of this thread. May be repeated.",
)
@json_option
@click.pass_context
def command(
    ctx: click.Context, *, thread: str | None, refs: tuple[str, ...], as_json: bool
) -> None:
    """Print the <thread_context> of a thread: its assets and those of its references.

    The hooks give this text to an agent when it starts. Print it to check it, or to
    pass it to an agent without hooks.

    Without THREAD, the thread last active in the current project is used. Threads named
    by `--ref` are included in this output only; the reference is not saved.
    """
    app, folder = get_app(ctx), Path.cwd()
    if thread:
        location = get_thread(app, thread, folder)
    else:
        location = get_latest_thread(app, folder)
    is_central = location.base.is_relative_to(app.paths.central_dir)
    try:
        context = build_context(
            location.base,
            location.thread_id,
            extra_refs=[_locate_ref(app, ref, location) for ref in refs],
            prefix=f"{location.base}/" if is_central else "",
        )
    except CycleError as error:
        raise LesliedError(str(error), "Omit that --ref.") from error
    emit(
        _context_to_dict(context, location),
        lambda: map(sanitize, context.xml.split("\n")),
        as_json=as_json,
        warnings=context.warnings,
    )


def _locate_ref(app: App, ref: str, location: ThreadLocation) -> ThreadLocation:
    """Return the location of a referenced thread.

    An unknown thread gets the folder of the referring thread, where
    `build_context` does not find it and warns.
    """
    try:
        return get_thread(app, ref, location.base)
    except UserError:
        return ThreadLocation(ref, location.base)


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
