"""`leslied projects`: projects with their folders, working trees and links."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from leslied import jobs
from leslied.app import get_app
from leslied.cli.completion import complete_project
from leslied.cli.help import LesliedGroup
from leslied.cli.render.output import emit, format_table, json_option, sanitize
from leslied.queries.projects import list_projects
from leslied.rendering.humanize import format_ago, format_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.app import App
    from leslied.model.command_results import ProjectLinkResult
    from leslied.queries.projects import ProjectState


@click.group(
    cls=LesliedGroup,
    invoke_without_command=True,
    see_also=["list", "stats", "threads"],
)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Show projects, and link the old path of a moved one to the new.

    A project is a Git repository with all its working trees; without Git, it is the
    folder in which a session worked. A repository that was moved is recognised if its
    old path is gone, its first commit is the same, and its remote or its Git directory
    (the same folder on disk, under a new path) is the same. Otherwise, link the old
    path to the new one. Without a command, projects are listed.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_)


@command.command(
    name="list",
    examples=[
        ("leslied projects list", "show all projects"),
        ("leslied projects list --json", "with folders, working trees and links"),
    ],
    see_also=["projects link"],
)
@json_option
@click.pass_context
def list_(ctx: click.Context, *, as_json: bool = False) -> None:
    """Show projects with their working trees and links, last active first."""
    app = get_app(ctx)
    with app.open_queries() as queries:
        answer = list_projects(queries)
    emit(answer.to_dict, lambda: _lines(answer.projects, app), as_json=as_json)


@command.command(
    examples=[
        ("leslied projects link ~/old/app ~/src/app", "show both as ~/src/app"),
        ("leslied projects unlink ~/old/app", "show them apart again"),
    ],
    see_also=["projects list", "projects unlink"],
)
@click.argument("old", shell_complete=complete_project)
@click.argument("new", shell_complete=complete_project)
@json_option
@click.pass_context
def link(ctx: click.Context, *, old: str, new: str, as_json: bool) -> None:
    """Show the sessions of the project OLD as those of NEW.

    Both are paths or names. Lists, filters and totals then treat them as one project.
    New transcripts of OLD's sessions are written to NEW once the folder OLD is gone.
    """
    app = get_app(ctx)
    result = jobs.link_project(app, old, new)
    emit(result.to_dict, lambda: _result_lines(result, app), as_json=as_json)


@command.command(
    examples=[("leslied projects unlink ~/old/app", "show it as its own project")],
    see_also=["projects list", "projects link"],
)
@click.argument("old", shell_complete=complete_project)
@json_option
@click.pass_context
def unlink(ctx: click.Context, *, old: str, as_json: bool) -> None:
    """Show the sessions of OLD as their own project again.

    A link that leslied made itself is removed too, and is not made again.
    """
    app = get_app(ctx)
    result = jobs.unlink_project(app, old)
    emit(result.to_dict, lambda: _result_lines(result, app), as_json=as_json)


def _lines(projects: list[ProjectState], app: App) -> Iterator[str]:
    if not projects:
        yield "There are no projects yet. Use an agent, then run: leslied sync"
        return
    home, now = str(app.home), app.clock.now()
    rows = [
        (
            format_path(project.path, home),
            str(project.sessions),
            format_ago(project.last_active_at, now),
            str(len(project.worktrees)),
            "" if project.exists else "gone",
        )
        for project in projects
    ]
    yield from format_table(
        ("PROJECT", "SESSIONS", "LAST ACTIVE", "WORKTREES", "NOTE"),
        rows,
        flexible="PROJECT",
        right_aligned=("SESSIONS", "WORKTREES"),
        droppable=("WORKTREES", "LAST ACTIVE"),
    )
    for project in projects:
        yield from map(sanitize, _link_lines(project, home))


def _link_lines(project: ProjectState, home: str) -> Iterator[str]:
    """Yield a project's links; if its folder is gone, suggest links to similar ones."""
    path = format_path(project.path, home)
    for each in project.links:
        reason = "moved" if each.automatic else "linked by you"
        yield f"{path}: includes {format_path(each.path, home)} ({reason})"
    for other in project.similar if not project.exists else ():
        target = format_path(other, home)
        yield f"{path} may now be {target}. Run: leslied projects link {path} {target}"


def _result_lines(result: ProjectLinkResult, app: App) -> Iterator[str]:
    home = str(app.home)
    old = format_path(result.old, home)
    if result.new:
        yield sanitize(f"{old} is now part of {format_path(result.new, home)}.")
    else:
        yield sanitize(f"{old} is now its own project.")
    if not result.applied:
        yield "The daemon applies this within a second."
