"""Talking to people and scripts.

The door: `main` is the `leslied` command. Commands load when they are called, so
`--help` costs what click costs.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from leslied import __version__
from leslied.cli.help import LesliedGroup
from leslied.cli.output import find_color_setting, report_error
from leslied.errors import ConfigError, LesliedError
from leslied.paths import read_environ

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

SECTIONS = {
    "Read": {
        "list": "Show the sessions, newest first.",
        "show": "Show one session, unit or subagent.",
        "search": "Find words in what was said, called and answered.",
        "follow": "Watch sessions as they happen.",
        "diff": "Compare two sessions, units or subagents.",
        "replay": "Play a session again, as it happened.",
        "stats": "Count tokens, cost and tools by day, model, project and more.",
        "sql": "Ask the store in SQL; it can only be read.",
        "statusline": "Print one line for Claude Code's status line.",
    },
    "Take away": {
        "export": "Take sessions away: Markdown, HTML, JSON and other forms.",
        "bundle": "Pack what a bug report needs, without secrets.",
    },
    "Threads": {
        "threads": "Show the threads of a project, and who came of whom.",
        "assets": "Show the plans, designs and notes of threads, and their writers.",
        "context": "Print what an agent is told of its thread.",
        "resume": "Show where a thread stands, and how to go on with it.",
        "inject": "Leave a message for a thread's agent.",
        "inbox": "Show the messages for agents, and which arrived.",
        "init": "Tell agents that work in a project about threads.",
        "hooks": "Let Claude Code tell leslied, and hear from it, at once.",
    },
    "Run": {
        "run": "Watch and keep what agents write, until stopped.",
        "service": "Run leslied in the background, at every login.",
        "sync": "Read everything that is new, once, and leave.",
        "pause": "Let the daemon rest until `unpause`.",
        "unpause": "Let a paused daemon go on.",
        "demo": "See it work: a scripted session, live, in a minute.",
    },
    "Keep house": {
        "status": "Show what is read, how far, and what could not be.",
        "agents": "Show which agents are read, where, and how far.",
        "doctor": "Check that everything is as it should be.",
        "disk": "Show what takes how much room, and how to make it less.",
        "prune": "Be rid of old sessions, in the store and the archive.",
        "rebuild": "Make the store anew from the archive and the logs.",
        "config": "Show the settings and where they are kept.",
        "completion": "Let the shell complete commands, options and ids.",
        "help": "Show the help of a command.",
    },
}
"""The commands, by what one wants, each in a line."""
COMMANDS = {name: line for each in SECTIONS.values() for name, line in each.items()}


class _LazyGroup(LesliedGroup):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"leslied.cli.{cmd_name}_command")
        command: click.Command = module.command
        return command

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        del ctx
        longest = max(map(len, COMMANDS))
        for section, commands in SECTIONS.items():
            with formatter.section(section):
                rows = [(f"{name:<{longest}}", line) for name, line in commands.items()]
                formatter.write_dl(rows)

    def shell_complete(
        self, ctx: click.Context, incomplete: str
    ) -> list[CompletionItem]:
        """The commands, none of them loaded; and the options, once one is begun."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415

        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        return [
            CompletionItem(name, help=line)
            for name, line in COMMANDS.items()
            if name.startswith(incomplete)
        ]


@click.group(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    examples=[
        ("leslied sync", "read what agents have written"),
        ("leslied list", "the sessions, newest first"),
        ("leslied show last", "read the newest"),
        ("leslied help export", "what `export` does, with examples"),
    ],
    exit_codes=[
        (0, "done"),
        (1, "failed"),
        (2, "wrong use"),
        (3, "the store cannot be used"),
        (4, "another leslied is writing"),
        (78, "the config file is wrong"),
    ],
    epilog="NO_COLOR turns colour off and FORCE_COLOR on; COLUMNS sets the width.",
)
@click.version_option(__version__, "--version", prog_name="leslied")
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    help="Use this config file instead of the usual one.",
)
@click.pass_context
def leslied(ctx: click.Context, config: Path | None) -> None:
    """Keep what coding agents write on disk, and make it worth reading.

    Most commands take --json and print {"success", "data", "warnings", "error"}.
    Where one wants an ID, any unique beginning will do, and `last` is the newest
    session.
    """
    if config and not config.exists():
        raise ConfigError(f"There is no config file {config}.", "Check the path.")
    ctx.obj = config


def _open_streams() -> None:
    """Something to write to, which takes every character."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
        else:
            stream.reconfigure(errors="replace")


def _discard_stdout() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def main() -> None:
    """Run the command line and leave with its exit code."""
    os.umask(0o077)
    _open_streams()
    as_json = "--json" in sys.argv
    try:
        color = find_color_setting(read_environ())
        code = leslied.main(prog_name="leslied", standalone_mode=False, color=color)
    except LesliedError as error:
        code = report_error(error.message, error.hint, error.exit_code, as_json=as_json)
    except click.UsageError as error:
        hint = f"Try: {error.ctx.command_path if error.ctx else 'leslied'} --help"
        code = report_error(error.format_message(), hint, 2, as_json=as_json)
    except click.ClickException as error:
        code = report_error(error.format_message(), "", 1, as_json=as_json)
    except (KeyboardInterrupt, click.Abort):
        code = 130
    except BrokenPipeError:
        # The reader of our output left; nothing more can be said to it.
        _discard_stdout()
        code = 0
    except OSError as error:
        _discard_stdout()
        code = report_error(f"It cannot be done: {error}.", "", 1, as_json=False)
    sys.exit(code if isinstance(code, int) else 0)
