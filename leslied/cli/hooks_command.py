"""`leslied hooks`: entries in Claude Code's settings, put in and taken out."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from leslied.cli.app import get_app
from leslied.cli.help import LesliedGroup
from leslied.cli.output import emit, format_path, format_table, json_option, sanitize
from leslied.errors import UserError
from leslied.hooks import settings
from leslied.hooks.settings_file import Scope, SettingsFile, find_settings_file
from leslied.hooks.spool import FOLDER
from leslied.hooks.thread import find_project
from leslied.paths import make_private_dir

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.cli.app import App

scope_option = click.option(
    "--scope",
    type=click.Choice(get_args(Scope)),
    default="user",
    show_default=True,
    help="All of your projects; this project, for everybody; this project, for you.",
)


@click.group(cls=LesliedGroup, see_also=["inject", "inbox", "context"])
def command() -> None:
    """Let Claude Code tell leslied at once, and hear of its thread and inbox.

    The hooks tell the agent which plan, design and transcripts its thread has, bring
    it the messages of `leslied inject`, and tell the daemon when a turn ends. They
    never make the agent wait or fail. Without them everything else works, a little
    later.
    """


@command.command(
    examples=[
        ("leslied hooks install", "for all of your projects"),
        ("leslied hooks install --scope local", "for you, in the project here"),
    ],
    see_also=["hooks status", "hooks uninstall"],
)
@scope_option
@json_option
@click.pass_context
def install(ctx: click.Context, *, scope: Scope, as_json: bool) -> None:
    """Add leslied's hooks to the settings; every other byte stays as it is.

    Sessions that start from then on use them. Installing again brings them up to
    date, as after an update of leslied.
    """
    app = get_app(ctx)
    file = SettingsFile(_find_settings_file(app, scope))
    call = _make_call(app)
    make_private_dir(app.paths.data_dir / FOLDER)
    is_changed = file.update(lambda text: settings.install(text, call))
    path = sanitize(format_path(str(file.path), str(app.home)))
    message = f"The hooks are in {path}. Sessions that start from now on use them."
    if not is_changed:
        message = f"The hooks were in {path} already."
    data = {"path": str(file.path), "changed": is_changed}
    emit(data, lambda: [message], as_json=as_json, warnings=_list_warnings(app, scope))


@command.command(
    examples=[
        ("leslied hooks uninstall", "take them out of your own settings"),
        ("leslied hooks uninstall --scope local", "take them out of the project here"),
    ],
    see_also=["hooks install", "hooks status"],
)
@scope_option
@json_option
@click.pass_context
def uninstall(ctx: click.Context, *, scope: Scope, as_json: bool) -> None:
    """Take leslied's hooks out again; the settings are as they were."""
    app = get_app(ctx)
    file = SettingsFile(_find_settings_file(app, scope))
    is_changed = file.update(lambda text: text and settings.uninstall(text))
    path = sanitize(format_path(str(file.path), str(app.home)))
    message = f"The hooks are gone from {path}."
    if not is_changed:
        message = f"There were no hooks of leslied's in {path}."
    data = {"path": str(file.path), "changed": is_changed}
    emit(data, lambda: [message], as_json=as_json)


@command.command(
    examples=[
        ("leslied hooks status", "which settings have them"),
    ],
    see_also=["hooks install", "doctor"],
)
@json_option
@click.pass_context
def status(ctx: click.Context, *, as_json: bool) -> None:
    """Show which settings have leslied's hooks, and whether they can run.

    It looks at your own settings and, inside a project, at both of the project's.
    """
    app = get_app(ctx)
    states = [_read_state(app, scope) for scope in get_args(Scope)]
    data = {
        "settings": [
            {
                "scope": state.scope,
                "path": str(state.path),
                "installed": state.is_installed,
                "trouble": state.error or None,
            }
            for state in states
            if state.path
        ]
    }
    emit(data, lambda: _lines(states, app), as_json=as_json)


@dataclass(frozen=True, slots=True)
class _HooksState:
    scope: Scope
    path: Path | None
    is_installed: bool = False
    error: str = ""


def _find_settings_file(app: App, scope: Scope) -> Path:
    project = find_project(str(Path.cwd()))
    if scope != "user" and not project:
        raise UserError(
            "There is no project in this folder.", "Go into one and try again."
        )
    return find_settings_file(scope, app.home, app.environ, Path(project))


def _read_state(app: App, scope: Scope) -> _HooksState:
    try:
        path = _find_settings_file(app, scope)
    except UserError:
        return _HooksState(scope, None)
    try:
        text = SettingsFile(path).read()
        found = settings.find_commands(text) if text else {}
        is_off = bool(text) and settings.are_hooks_disabled(str(text))
    except UserError as error:
        return _HooksState(scope, path, error=error.message)
    if not found:
        return _HooksState(scope, path)
    return _HooksState(scope, path, True, _find_error(app, found, is_off=is_off))


def _find_error(app: App, found: dict[str, str], *, is_off: bool) -> str:
    """Why installed hooks may not do what they should."""
    if is_off:
        return "disableAllHooks is set"
    if set(found) != set(settings.EVENTS):
        return "some are missing; install again"
    call = _make_call(app)
    if not all(call.is_current(each) for each in found.values()):
        return "made by another leslied; install again"
    return ""


def _make_call(app: App) -> settings.HookCommand:
    return settings.HookCommand(sys.executable, str(app.paths.data_dir.absolute()))


def _list_warnings(app: App, scope: Scope) -> list[str]:
    """What the person should know before relying on it."""
    states = [_read_state(app, each) for each in get_args(Scope)]
    warnings = [
        f"The {s.scope} settings have the hooks too: the agent hears everything twice."
        for s in states
        if s.is_installed and s.scope != scope
    ]
    warnings += [s.error for s in states if s.scope == scope and s.error]
    if scope == "project":
        warnings.append(
            "These settings are shared through Git, and name paths of this machine; "
            "--scope local is yours alone."
        )
    return warnings


def _lines(states: list[_HooksState], app: App) -> Iterator[str]:
    rows = [
        (
            state.scope,
            "yes" if state.is_installed else "no",
            format_path(str(state.path), str(app.home)),
            state.error or "-",
        )
        for state in states
        if state.path
    ]
    yield from format_table(
        ("SCOPE", "INSTALLED", "SETTINGS", "TROUBLE"), rows, stretch=3
    )
    if not any(state.is_installed for state in states):
        yield "To install: leslied hooks install"
