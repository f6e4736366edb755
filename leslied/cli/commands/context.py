"""`leslied context`: the context that an agent gets about its thread."""

from __future__ import annotations

from pathlib import Path

import click

from leslied.app import get_app
from leslied.cli.completion import complete_thread
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import emit, json_option, sanitize
from leslied.queries.threads.context import load_thread_context


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied context", "the context of this project's last active thread"),
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
    """Print the <thread_context>: a list of a thread's assets, for an agent to read.

    The hooks give this text to Claude Code when a session starts, is resumed or is
    compacted, or when the list has changed. Print it to check it, or to pass it to an
    agent without hooks.

    The list includes the assets of the threads that this thread refers to, according to
    the project's thread_relations.json. `--ref` adds one more, for this output only.

    Without THREAD, the command prints the context of the thread last active in the
    current project; `last` is the thread last active in any project.
    """
    with get_app(ctx).open_queries() as queries:
        answer = load_thread_context(queries, thread or "", refs, Path.cwd())
    emit(
        answer.to_dict,
        lambda: map(sanitize, answer.context.xml.split("\n")),
        as_json=as_json,
        warnings=answer.context.warnings,
    )
