"""`leslied completion`: print, install and remove shell completion scripts."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import BashComplete, ZshComplete

from leslied.app import get_app
from leslied.cli.help import LesliedGroup
from leslied.cli.render.output import emit, json_option, sanitize
from leslied.errors import UserError
from leslied.jobs import make_folder, write_file
from leslied.model.command_results import InstalledCompletion, RemovedFiles
from leslied.rendering.humanize import format_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.app import App

SHELLS = ("bash", "zsh", "fish")
_SCRIPT_MARK = "_leslied_completion"
"""Text that every script written by leslied contains."""
_BASH_COMPLETION_FILES = (
    "/usr/share/bash-completion/bash_completion",
    "/usr/local/etc/profile.d/bash_completion.sh",
    "/opt/homebrew/etc/profile.d/bash_completion.sh",
    "/etc/bash_completion",
)
_FISH_SCRIPT = """\
function _leslied_completion
    set -l words (commandline -cp)
    set -l word (commandline -t)
    for line in (env _LESLIED_COMPLETE=fish_complete COMP_WORDS="$words" \\
            COMP_CWORD="$word" leslied)
        set -l parts (string split --max 1 "," -- $line)
        switch $parts[1]
            case dir
                __fish_complete_directories $parts[2]
            case file
                __fish_complete_path $parts[2]
            case plain
                echo $parts[2]
        end
    end
end
complete --keep-order --no-files --command leslied --arguments "(_leslied_completion)"
"""
"""Replaces Click's fish script, which sorts items and cuts descriptions at a comma."""

_shell_argument = click.argument(
    "shell", metavar="[SHELL]", type=click.Choice(SHELLS), required=False
)
_folder_option = click.option(
    "--folder",
    metavar="FOLDER",
    help="Use this folder of zsh's fpath instead of ~/.zfunc. Only for zsh.",
)


@click.group(
    cls=LesliedGroup,
    examples=[
        ("leslied completion install", "install for the shell in $SHELL"),
        ('eval "$(leslied completion zsh)"', "enable in the running zsh only"),
    ],
)
def command() -> None:
    """Print, install or remove shell completion scripts.

    The scripts complete commands, options, agents, projects and the ids of the newest
    sessions; zsh and fish also show titles. Completion writes no files.
    """


def _add_print_command(shell: str, enable_command: str, requirement: str) -> None:
    """Add the command that prints the shell's script; `requirement` ends its help."""

    @command.command(
        name=shell,
        help=f"Print the completion script for {shell}{requirement}.",
        examples=[
            (f"leslied completion {shell}", "print the script"),
            (enable_command, "enable completion in this shell"),
        ],
        see_also=["completion install"],
    )
    def print_script() -> None:
        click.echo(_make_script(shell), nl=False)


_add_print_command("bash", 'eval "$(leslied completion bash)"', ", 4.4 or newer")
_add_print_command(
    "zsh", 'eval "$(leslied completion zsh)"', "; run compinit before it"
)
_add_print_command("fish", "leslied completion fish | source", "")


@command.command(
    examples=[
        ("leslied completion install", "install for the shell in $SHELL"),
        ("leslied completion install fish", "install for fish"),
        ("leslied completion install zsh --folder ~/.zsh", "use another fpath folder"),
    ],
    see_also=["completion uninstall"],
)
@_shell_argument
@_folder_option
@json_option
@click.pass_context
def install(
    ctx: click.Context, *, shell: str | None, folder: str | None, as_json: bool
) -> None:
    """Write the completion script to the shell's completion folder.

    SHELL is bash, zsh or fish; the default is the shell in $SHELL. Existing files such
    as ~/.zshrc are not changed: if lines must be added to one, they are printed. Start
    a new shell to use completion.
    """
    app = get_app(ctx)
    shell_name = shell or _get_shell(app)
    path = _get_script_path(app, shell_name, folder)
    script = _make_script(shell_name).encode()
    is_changed = _read_installed_script(path) != script
    if is_changed:
        make_folder(path.parent)
        write_file(path, script)
    installed = InstalledCompletion(
        shell=shell_name,
        path=str(path),
        changed=is_changed,
        lines_to_add=tuple(_list_lines_to_add(shell_name, path, app)),
    )
    emit(installed.to_dict, lambda: _lines(installed, app), as_json=as_json)


@command.command(
    examples=[
        ("leslied completion uninstall", "remove the scripts of all shells"),
        (
            "leslied completion uninstall zsh --folder ~/.zsh",
            "remove the one in ~/.zsh",
        ),
    ],
    see_also=["completion install"],
)
@_shell_argument
@_folder_option
@json_option
@click.pass_context
def uninstall(
    ctx: click.Context, *, shell: str | None, folder: str | None, as_json: bool
) -> None:
    """Remove the scripts that `leslied completion install` wrote.

    Without SHELL, the scripts of all shells are removed; with --folder, only zsh's.
    """
    app = get_app(ctx)
    if shell:
        shells: tuple[str, ...] = (shell,)
    else:
        shells = ("zsh",) if folder else SHELLS
    paths = [_get_script_path(app, name, folder) for name in shells]
    installed_paths = [path for path in paths if _read_installed_script(path)]
    for path in installed_paths:
        path.unlink()
    result = RemovedFiles(removed=tuple(map(str, installed_paths)))
    short_paths = [format_path(path, str(app.home)) for path in result.removed]
    emit(
        result.to_dict,
        lambda: (
            [sanitize(f"Removed {path}") for path in short_paths]
            or ["No completion script is installed."]
        ),
        as_json=as_json,
    )


def _make_script(shell: str) -> str:
    """Return the completion script of the shell."""
    if shell == "fish":
        return _FISH_SCRIPT
    script_class = BashComplete if shell == "bash" else ZshComplete
    return script_class(command, {}, "leslied", "_LESLIED_COMPLETE").source()


def _get_shell(app: App) -> str:
    name = Path(app.environ.get("SHELL", "")).name
    if name not in SHELLS:
        reason = f"{name} is not supported" if name else "$SHELL is not set"
        raise UserError(
            f"The shell could not be determined: {reason}.",
            f"Name one: leslied completion install {SHELLS[0]}",
        )
    return name


def _get_script_path(app: App, shell: str, folder: str | None) -> Path:
    """Return the path where the shell looks for the completion of `leslied`."""
    if folder and shell != "zsh":
        raise UserError(f"--folder works only for zsh, not {shell}.", "Omit --folder.")
    environ, home = app.environ, app.home
    if shell == "bash":
        data_home = Path(environ.get("XDG_DATA_HOME") or home / ".local/share")
        user_dir = (
            environ.get("BASH_COMPLETION_USER_DIR") or data_home / "bash-completion"
        )
        return Path(user_dir) / "completions" / "leslied"
    if shell == "fish":
        config_home = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
        return config_home / "fish" / "completions" / "leslied.fish"
    zsh_dir = Path(folder).expanduser().absolute() if folder else home / ".zfunc"
    return zsh_dir / "_leslied"


def _read_installed_script(path: Path) -> bytes | None:
    """Return the installed script, or None if there is none.

    Raises UserError if the file was not written by leslied.
    """
    if not path.exists():
        return None
    script = path.read_bytes() if path.is_file() else b""
    if _SCRIPT_MARK.encode() not in script:
        raise UserError(
            f"{path} was not written by leslied.", "Check the file and move it away."
        )
    return script


def _list_lines_to_add(shell: str, path: Path, app: App) -> Iterator[str]:
    """Yield the lines that the user may have to add to the shell's startup file."""
    if shell == "zsh":
        yield f"fpath=({_quote(path.parent, app)} $fpath)"
        yield "autoload -Uz compinit && compinit"
    elif shell == "bash" and not any(
        Path(file).exists() for file in _BASH_COMPLETION_FILES
    ):
        yield f"source {_quote(path, app)}"


def _quote(path: Path, app: App) -> str:
    """Return the path for a shell: with `~` for the home folder, or in quotes."""
    short_path = format_path(str(path), str(app.home))
    # Without its first character, because `~` must not be quoted.
    needs_quotes = shlex.quote(short_path[1:]) != short_path[1:]
    return shlex.quote(str(path)) if needs_quotes else short_path


def _lines(installed: InstalledCompletion, app: App) -> Iterator[str]:
    path = sanitize(format_path(installed.path, str(app.home)))
    yield f"{path} is installed. Start a new {installed.shell} to use completion."
    if installed.shell == "zsh":
        yield "If it does not work, add these lines to ~/.zshrc, in this order:"
    elif installed.lines_to_add:
        yield "bash-completion is not installed, so add this line to ~/.bashrc:"
    for line in installed.lines_to_add:
        yield sanitize(f"  {line}")
