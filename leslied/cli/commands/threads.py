"""`leslied threads`: the threads of a project and their parents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from leslied.app import get_app
from leslied.cli.help import LesliedGroup
from leslied.cli.render.output import emit, format_table, json_option, sanitize
from leslied.queries.threads.lookup import list_threads, load_thread_trees, render_graph
from leslied.rendering.humanize import format_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leslied.app import App
    from leslied.queries.threads.lookup import ProjectThreads, ThreadNode

_MARKS = {"active": "●", "completed": "○"}
_NO_THREADS = (
    "There are no threads here: no transcript has been written. "
    "Write those of all sessions: leslied sync --stop-all"
)

_project_option = click.option(
    "--project",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Show this project.  [default: the current project; outside of any, all]",
)


@click.group(cls=LesliedGroup, see_also=["assets", "context", "resume"])
def command() -> None:
    """Show a project's threads, and which was forked from which.

    A thread holds what one session left in a project: its transcripts, and the assets
    that the agent wrote. A forked session has its own thread, whose parent is the
    thread of the original session.
    """


@command.command(
    examples=[
        ("leslied threads tree", "threads of the current project"),
        ("leslied threads tree --project ..", "threads of the parent folder"),
        (
            "leslied threads tree --dot | dot -Tsvg > threads.svg",
            "draw them with Graphviz",
        ),
    ],
    see_also=["threads list"],
)
@click.option("--dot", "as_dot", is_flag=True, help="Print a Graphviz graph.")
@_project_option
@json_option
@click.pass_context
def tree(
    ctx: click.Context, *, as_dot: bool, project: Path | None, as_json: bool
) -> None:
    """Show threads as a tree with forks below their parents, newest first.

    ● marks an active thread, ○ a completed one, ◌ any other status. Each line ends with
    the thread's number of subagents and the threads to which it refers.
    """
    app = get_app(ctx)
    with app.open_queries() as queries:
        trees = load_thread_trees(queries, project)
    if as_dot and not as_json:
        click.echo("\n".join(map(sanitize, render_graph(trees).split("\n"))))
        return
    emit(trees.to_dict, lambda: _tree_lines(trees.projects, app), as_json=as_json)


@command.command(
    name="list",
    examples=[
        ("leslied threads list", "threads of the current project"),
        ("leslied threads list --json", "the same as JSON"),
    ],
    see_also=["threads tree"],
)
@_project_option
@json_option
@click.pass_context
def list_(ctx: click.Context, *, project: Path | None, as_json: bool) -> None:
    """Show threads as a table, most recently changed first."""
    app = get_app(ctx)
    with app.open_queries() as queries:
        threads = list_threads(queries, project)
    emit(threads.to_dict, lambda: _list_lines(threads.projects, app), as_json=as_json)


def _tree_lines(trees: list[ProjectThreads], app: App) -> Iterator[str]:
    if not trees:
        yield _NO_THREADS
    for folder, roots in trees:
        yield click.style(sanitize(format_path(str(folder), str(app.home))), bold=True)
        for root in roots:
            yield from _branch_lines(root, "", "")


def _branch_lines(
    node: ThreadNode, node_prefix: str, fork_prefix: str
) -> Iterator[str]:
    """Yield the line of the thread, then those of its forks.

    The thread's line starts with `node_prefix`, the others with `fork_prefix`.
    """
    parts = [_MARKS.get(node.status, "◌"), node.id, node.title.replace("\n", " ")]
    if node.status not in _MARKS:
        parts.append(f"({node.status})")
    if node.subagents:
        plural = "" if node.subagents == 1 else "s"
        parts.append(f"[{node.subagents} subagent{plural}]")
    if node.references_to:
        parts.append("→ " + ", ".join(node.references_to))
    yield node_prefix + sanitize(" ".join(parts))
    for child in node.children:
        is_last = child is node.children[-1]
        corner, below_corner = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
        yield from _branch_lines(
            child, fork_prefix + corner, fork_prefix + below_corner
        )


def _list_lines(projects: list[ProjectThreads], app: App) -> Iterable[str]:
    if not projects:
        return [_NO_THREADS]
    rows = [
        (
            node.id,
            node.status,
            node.updated_at[:16].replace("T", " "),
            format_path(str(folder), str(app.home)).rpartition("/")[2],
            node.title,
            str(len(node.children)),
            str(len(node.references_to)),
            str(node.subagents),
        )
        for folder, node in sorted(
            ((folder, node) for folder, nodes in projects for node in nodes),
            key=lambda pair: (pair[1].updated_at, pair[1].id),
            reverse=True,
        )
    ]
    text_headers = ("THREAD", "STATUS", "CHANGED", "PROJECT", "TITLE")
    count_headers = ("FORKS", "REFS", "SUBAGENTS")
    return format_table(
        (*text_headers, *count_headers),
        rows,
        flexible="TITLE",
        right_aligned=count_headers,
        droppable=("REFS", "SUBAGENTS", "FORKS", "PROJECT", "STATUS", "CHANGED"),
    )
