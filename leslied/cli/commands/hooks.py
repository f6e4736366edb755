"""`leslied hooks`: install, remove and check hooks in Claude Code's settings."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from leslied.app import get_app
from leslied.cli.help import LesliedGroup
from leslied.cli.render.output import emit, format_table, json_option, sanitize
from leslied.errors import UserError
from leslied.fs import make_private_dir
from leslied.hooks import settings
from leslied.hooks.settings_file import (
    BACKUP_FOLDER,
    Scope,
    SettingsFile,
    get_settings_path,
)
from leslied.hooks.spool import FOLDER
from leslied.hooks.state import HooksState, HooksStatus, read_state
from leslied.hooks.thread import find_project
from leslied.model.command_results import SettingsFileChange
from leslied.rendering.humanize import format_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leslied.app import App

scope_option = click.option(
    "--scope",
    type=click.Choice(get_args(Scope)),
    default="user",
    show_default=True,
    help="Use your settings, the project's shared settings, or its local settings.",
)


@click.group(cls=LesliedGroup, see_also=["inject", "inbox", "context"])
def command() -> None:
    """Install Claude Code hooks: faster transcripts, context injection.

    The hooks tell Claude Code which plans, designs and transcripts its thread has,
    deliver messages sent with `leslied inject`, and notify the daemon when a turn ends.
    They never block the agent or make it fail. Without hooks, transcripts are written a
    little later, and nothing is injected.
    """


@command.command(
    examples=[
        ("leslied hooks install", "install for all projects"),
        ("leslied hooks install --scope local", "in this project, only for you"),
    ],
    see_also=["hooks status", "hooks uninstall"],
)
@scope_option
@json_option
@click.pass_context
def install(ctx: click.Context, *, scope: Scope, as_json: bool) -> None:
    """Add the hooks to Claude Code's settings; the rest of the file is not changed.

    New sessions use the hooks. Install again after an update of leslied to update them.
    """
    app = get_app(ctx)
    hook_command = _make_hook_command(app)
    make_private_dir(app.paths.data_dir / FOLDER)
    result = _update(app, scope, lambda text: settings.install(text, hook_command))
    path = sanitize(format_path(result.path, str(app.home)))
    message = f"The hooks are installed in {path}. New sessions will use them."
    if not result.changed:
        message = f"The hooks are already installed in {path}."
    emit(
        result.to_dict,
        lambda: [message, *_backup_lines(app, result)],
        as_json=as_json,
        warnings=_list_warnings(app, scope),
    )


@command.command(
    examples=[
        ("leslied hooks uninstall", "remove from your settings"),
        ("leslied hooks uninstall --scope local", "remove from this project"),
    ],
    see_also=["hooks install", "hooks status"],
)
@scope_option
@json_option
@click.pass_context
def uninstall(ctx: click.Context, *, scope: Scope, as_json: bool) -> None:
    """Remove the hooks from Claude Code's settings; keep the rest of the file."""
    app = get_app(ctx)
    # If there is no file, its text is None, and stays None.
    result = _update(app, scope, lambda text: text and settings.uninstall(text))
    path = sanitize(format_path(result.path, str(app.home)))
    message = f"The hooks were removed from {path}."
    if not result.changed:
        message = f"No hooks of leslied are installed in {path}."
    lines = [message, *_backup_lines(app, result)]
    emit(result.to_dict, lambda: lines, as_json=as_json)


@command.command(
    examples=[
        ("leslied hooks status", "show where the hooks are installed"),
    ],
    see_also=["hooks install", "doctor"],
)
@json_option
@click.pass_context
def status(ctx: click.Context, *, as_json: bool) -> None:
    """Show where the hooks are installed and whether they can run.

    Your own settings are checked and, inside a project, its shared and local settings.
    """
    app = get_app(ctx)
    hooks = _read_status(app)
    emit(hooks.to_dict, lambda: _lines(hooks, app), as_json=as_json)


def _update(
    app: App, scope: Scope, edit: Callable[[str | None], str | None]
) -> SettingsFileChange:
    """Edit the settings file of the scope; keep a backup of the previous version."""
    file = SettingsFile(_get_settings_file(app, scope), scope)
    change = file.update(edit, app.paths.data_dir / BACKUP_FOLDER)
    return SettingsFileChange(
        path=str(file.path),
        changed=change.is_changed,
        backup=str(change.backup) if change.backup else None,
    )


def _backup_lines(app: App, result: SettingsFileChange) -> Iterator[str]:
    if result.backup:
        path = sanitize(format_path(result.backup, str(app.home)))
        yield f"The file before the change: {path}"


def _get_settings_file(app: App, scope: Scope) -> Path:
    """Return the path of the settings file; it need not exist.

    Raises UserError if the scope needs a project and the current folder is in none.
    """
    project = find_project(str(Path.cwd()))
    if scope != "user" and not project:
        raise UserError(
            "The current folder is not in a project.",
            "Change to a project's folder and try again.",
        )
    return get_settings_path(scope, app.home, app.environ, Path(project))


def _read_status(app: App) -> HooksStatus:
    """Return the state of all settings files; outside a project, only the user's."""
    states: dict[Path, HooksState] = {}
    for scope in get_args(Scope):
        with suppress(UserError):
            path = _get_settings_file(app, scope)
            # In the home folder, the project's settings are the user's.
            states.setdefault(path, read_state(scope, path, _make_hook_command(app)))
    return HooksStatus(tuple(states.values()))


def _make_hook_command(app: App) -> settings.HookCommand:
    return settings.HookCommand(sys.executable, str(app.paths.data_dir.absolute()))


def _list_warnings(app: App, installed_scope: Scope) -> list[str]:
    """Return warnings about hooks that were just installed in this scope."""
    states = _read_status(app).settings
    warnings = [
        f"The hooks are also installed in the {state.scope} settings: "
        "the agent will get everything twice."
        for state in states
        if state.is_installed and state.scope != installed_scope
    ]
    warnings += [
        state.error
        for state in states
        if state.scope == installed_scope and state.error
    ]
    if installed_scope == "project":
        warnings.append(
            "These settings are shared through Git but contain paths of this machine. "
            "Settings of --scope local are not shared."
        )
    return warnings


def _lines(hooks: HooksStatus, app: App) -> Iterator[str]:
    rows = [
        (
            state.scope,
            "yes" if state.is_installed else "no",
            format_path(str(state.path), str(app.home)),
            state.error or "-",
        )
        for state in hooks.settings
    ]
    yield from format_table(
        ("SCOPE", "INSTALLED", "SETTINGS", "ERROR"), rows, flexible="ERROR"
    )
    if not hooks.is_installed:
        yield "Install the hooks with: leslied hooks install"
