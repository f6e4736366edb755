"""`leslied service`: run the daemon as a user service."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from leslied.app import get_app
from leslied.cli.help import LesliedGroup
from leslied.cli.render.output import emit, json_option, sanitize
from leslied.fs import make_private_dir
from leslied.model.command_results import InstalledService, RemovedService
from leslied.paths import PLATFORM
from leslied.queries.agent_names import list_agent_variables
from leslied.rendering.humanize import format_ago, format_path
from leslied.service import find_program
from leslied.service.manager import get_manager

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leslied.app import App
    from leslied.service import ServiceManager, ServiceStatus

_SAVED_VARIABLES = (
    "LESLIED_CONFIG",
    "LESLIED_DATA_DIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
)
"""Variables that set leslied's directories; a service does not inherit the shell's."""


@click.group(cls=LesliedGroup, see_also=["run", "status", "doctor"])
def command() -> None:
    """Run leslied in the background, starting at login.

    The service is a systemd user unit or, on macOS, a launchd agent. It
    does not need root privileges.
    """


@command.command(
    examples=[
        ("leslied service install", "start now and at every login"),
        ("leslied service install && leslied service status", "and check that it runs"),
    ],
    see_also=["service status", "service logs"],
)
@json_option
@click.pass_context
def install(ctx: click.Context, *, as_json: bool) -> None:
    """Start leslied now and at every login.

    Environment variables that set directories of leslied and of the agents are saved
    with the service. Run the command again to update the service, also after a change
    of the setting `web.enabled`: the service may use the network only if it is set, and
    only to serve the page on this machine.
    """
    app = get_app(ctx)
    settings = app.load_settings()
    manager = _get_manager(app)
    variables = _collect_variables(app, ctx.find_root().obj)
    installation = manager.install(
        variables, _create_outside_folders(app), serves_page=settings.web.enabled
    )
    service = InstalledService(
        manager=manager.name, path=str(installation.path), variables=variables
    )
    path = format_path(service.path, str(app.home))
    emit(
        service.to_dict,
        lambda: [f"leslied is running and starts at every login: {sanitize(path)}"],
        as_json=as_json,
        warnings=installation.notes,
    )


@command.command(
    examples=[
        ("leslied service uninstall", "stop it and remove it"),
    ],
    see_also=["service install"],
)
@json_option
@click.pass_context
def uninstall(ctx: click.Context, *, as_json: bool) -> None:
    """Stop the service and remove it.

    Transcripts, store and settings are kept.
    """
    manager = _get_manager(get_app(ctx))
    service = RemovedService(manager=manager.name, removed=manager.uninstall())
    message = (
        "The service was removed."
        if service.removed
        else "The service was not installed."
    )
    emit(service.to_dict, lambda: [message], as_json=as_json)


@command.command(
    examples=[
        ("leslied service status", "show whether it runs, and since when"),
    ],
    see_also=["service logs", "status"],
)
@json_option
@click.pass_context
def status(ctx: click.Context, *, as_json: bool) -> None:
    """Show whether the service is installed, enabled and active.

    To see how far the logs have been read, use `leslied status`.
    """
    app = get_app(ctx)
    state = _get_manager(app).status()
    emit(state.to_dict, lambda: _lines(state, app), as_json=as_json)


@command.command(
    examples=[
        ("leslied service logs", "show the last 50 lines"),
        ("leslied service logs -n 200 -f", "more lines, then new ones"),
    ],
    see_also=["service status", "doctor"],
)
@click.option(
    "-n",
    "lines",
    metavar="N",
    type=click.IntRange(min=0),
    default=50,
    show_default=True,
    help="Show the last N lines.",
)
@click.option("-f", "follow", is_flag=True, help="Keep showing new lines.")
@click.pass_context
def logs(ctx: click.Context, *, lines: int, follow: bool) -> None:
    """Show the log of the service, newest line last."""
    code = _get_manager(get_app(ctx)).show_logs(lines, is_followed=follow)
    ctx.exit(min(code, 1))


def _get_manager(app: App) -> ServiceManager:
    program = find_program(sys.argv[0], sys.executable, app.environ.get("PATH"))
    return get_manager(
        home=app.home, environ=app.environ, platform=PLATFORM, program=program
    )


def _collect_variables(app: App, config: Path | None) -> dict[str, str]:
    """Return the environment variables to save with the service."""
    names = {*_SAVED_VARIABLES, *list_agent_variables()}
    variables = {name: app.environ[name] for name in names if app.environ.get(name)}
    if config:
        variables["LESLIED_CONFIG"] = str(config.absolute())
    return variables


def _create_outside_folders(app: App) -> list[Path]:
    """Create leslied's folders that are outside the home folder, and return them.

    The service's sandbox can only grant access to folders that exist.
    """
    folders = {app.paths.data_dir.absolute(), app.paths.state_dir.absolute()}
    outside_folders = sorted(
        folder for folder in folders if not folder.is_relative_to(app.home)
    )
    for folder in outside_folders:
        make_private_dir(folder)
    return outside_folders


def _lines(state: ServiceStatus, app: App) -> Iterator[str]:
    if not state.is_installed:
        yield "not installed. Install it with: leslied service install"
        return
    yield f"installed  {sanitize(format_path(str(state.path), str(app.home)))}"
    yield f"enabled    {'yes' if state.is_enabled else 'no'}"
    if state.is_active:
        since = format_ago(state.since, app.clock.now()) if state.since else "unknown"
        yield f"active     since {since}, pid {state.pid}"
    else:
        description = sanitize(state.description)
        yield f"active     no, {description}. See why: leslied service logs"
