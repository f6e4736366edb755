"""`leslied completion`: what the shell needs to complete `leslied`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import BashComplete, ZshComplete

from leslied import sinks
from leslied.cli.app import get_app
from leslied.cli.help import LesliedGroup
from leslied.cli.output import emit, format_path, json_option, sanitize
from leslied.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.cli.app import App

SHELLS = ("bash", "zsh", "fish")
_OWN_MARK = "_leslied_completion"
_BASH_COMPLETION_FILES = (
    "/usr/share/bash-completion/bash_completion",
    "/usr/local/etc/profile.d/bash_completion.sh",
    "/opt/homebrew/etc/profile.d/bash_completion.sh",
    "/etc/bash_completion",
)
_FISH = """\
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
"""Click's own sorts what is newest first, and cuts a description at a comma."""

_shell = click.argument(
    "shell", metavar="[SHELL]", type=click.Choice(SHELLS), required=False
)
_folder = click.option(
    "--folder",
    metavar="FOLDER",
    help="A folder in zsh's fpath instead of ~/.zfunc; only for zsh.",
)


@click.group(
    cls=LesliedGroup,
    examples=[
        ("leslied completion install", "for the shell you use"),
        ('eval "$(leslied completion zsh)"', "only now, in a running zsh"),
    ],
)
def command() -> None:
    """Let the shell complete commands, options and ids when you press Tab.

    Ids are those of the newest sessions, with their titles in zsh and fish; `last`
    is always one of them. Nothing is written while you type.
    """


def _add_printer(shell: str, use: str, needs: str) -> None:
    @command.command(
        name=shell,
        help=f"Print the script for {shell}{needs}.",
        examples=[
            (f"leslied completion {shell}", "see it"),
            (use, "use it in this shell"),
        ],
        see_also=["completion install"],
    )
    def print_script() -> None:
        click.echo(_make_script(shell), nl=False)


_add_printer("bash", 'eval "$(leslied completion bash)"', ", 4.4 or newer")
_add_printer("zsh", 'eval "$(leslied completion zsh)"', "; it wants compinit before it")
_add_printer("fish", "leslied completion fish | source", "")


@command.command(
    examples=[
        ("leslied completion install", "for the shell in $SHELL"),
        ("leslied completion install fish", "for another one"),
        ("leslied completion install zsh --folder ~/.zsh", "where fpath looks"),
    ],
    see_also=["completion uninstall"],
)
@_shell
@_folder
@json_option
@click.pass_context
def install(
    ctx: click.Context, *, shell: str | None, folder: str | None, as_json: bool
) -> None:
    """Put the script where the shell finds it; no file of yours is changed.

    SHELL is bash, zsh or fish; without it, the one in $SHELL. bash and fish look
    there by themselves; for zsh you are told the lines that make it look. Shells that
    start from then on complete.
    """
    app = get_app(ctx)
    chosen = shell or _find_shell(app)
    path = _find_file(app, chosen, folder)
    before = _read_installed(path)
    text = _make_script(chosen).encode()
    if before != text:
        sinks.make_folder(path.parent)
        sinks.write_file(path.parent.resolve(), path.name, text)
    to_add = [*_find_lines_to_add(chosen, path, app)]
    data = {
        "shell": chosen,
        "path": str(path),
        "changed": before != text,
        "lines_to_add": to_add,
    }
    emit(data, lambda: _lines(data, app), as_json=as_json)


@command.command(
    examples=[
        ("leslied completion uninstall", "from every shell that has it"),
        ("leslied completion uninstall zsh --folder ~/.zsh", "from there"),
    ],
    see_also=["completion install"],
)
@_shell
@_folder
@json_option
@click.pass_context
def uninstall(
    ctx: click.Context, *, shell: str | None, folder: str | None, as_json: bool
) -> None:
    """Remove what `leslied completion install` put there.

    Without SHELL, for every shell.
    """
    app = get_app(ctx)
    shells = [shell] if shell else ["zsh"] if folder else SHELLS
    paths = [_find_file(app, each, folder) for each in shells]
    removed = [path for path in paths if _read_installed(path) is not None]
    for path in removed:
        path.unlink()
    names = [format_path(str(path), str(app.home)) for path in removed]
    emit(
        {"removed": [str(path) for path in removed]},
        lambda: [sanitize(f"Removed {path}") for path in names] or ["There was none."],
        as_json=as_json,
    )


def _make_script(shell: str) -> str:
    """What the shell has to read."""
    if shell == "fish":
        return _FISH
    complete = BashComplete if shell == "bash" else ZshComplete
    return complete(command, {}, "leslied", "_LESLIED_COMPLETE").source()


def _find_shell(app: App) -> str:
    name = Path(app.environ.get("SHELL", "")).name
    if name not in SHELLS:
        said = f"{name} is not one of them" if name else "$SHELL does not say"
        raise UserError(
            f"Which shell? {said}.", f"Say it: leslied completion install {SHELLS[0]}"
        )
    return name


def _find_file(app: App, shell: str, folder: str | None) -> Path:
    """Where the shell looks for what completes `leslied`."""
    if folder and shell != "zsh":
        raise UserError(
            f"{shell} knows where to look.", "Leave --folder out; it is for zsh."
        )
    environ, home = app.environ, app.home
    if shell == "bash":
        data = Path(environ.get("XDG_DATA_HOME") or home / ".local/share")
        own = environ.get("BASH_COMPLETION_USER_DIR") or data / "bash-completion"
        return Path(own) / "completions" / "leslied"
    if shell == "fish":
        config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
        return config / "fish" / "completions" / "leslied.fish"
    chosen = Path(folder).expanduser().absolute() if folder else home / ".zfunc"
    return chosen / "_leslied"


def _read_installed(path: Path) -> bytes | None:
    """What we once put there; None where nothing is, a refusal where another's is."""
    if not path.exists():
        return None
    text = path.read_bytes() if path.is_file() else b""
    if _OWN_MARK.encode() not in text:
        raise UserError(f"{path} is not leslied's.", "Look at it, and move it away.")
    return text


def _find_lines_to_add(shell: str, path: Path, app: App) -> Iterator[str]:
    """What the shell's own settings must say, where they might not."""
    if shell == "zsh":
        yield f"fpath=({_quote(path.parent, app)} $fpath)"
        yield "autoload -Uz compinit && compinit"
    elif shell == "bash" and not any(
        Path(each).exists() for each in _BASH_COMPLETION_FILES
    ):
        yield f"source {_quote(path, app)}"


def _quote(path: Path, app: App) -> str:
    """The path as a shell reads it, with `~` where that is as good."""
    said = format_path(str(path), str(app.home))
    return said if shlex.quote(said[1:]) == said[1:] else shlex.quote(str(path))


def _lines(data: dict[str, Any], app: App) -> Iterator[str]:
    path = sanitize(format_path(data["path"], str(app.home)))
    yield f"{path} is there; {data['shell']} completes leslied when it starts."
    if data["shell"] == "zsh":
        yield "If it does not, your ~/.zshrc needs these lines, in this order:"
    elif data["lines_to_add"]:
        yield "But bash-completion is not installed: ~/.bashrc needs this line."
    for line in data["lines_to_add"]:
        yield sanitize(f"  {line}")
