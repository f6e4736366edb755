"""The command line: the `leslied` command and its subcommands.

`main` is the entry point. A subcommand's module is imported only when it is called,
so `leslied --help` imports little more than Click.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from leslied import __version__
from leslied.cli.help import LesliedGroup
from leslied.cli.render.output import find_color_setting, report_error
from leslied.errors import ConfigError, LesliedError, UserError
from leslied.log import report_crashes
from leslied.paths import get_paths, read_environ

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.shell_completion import CompletionItem

SECTIONS = {
    "Read": {
        "list": "List sessions, most recently active first.",
        "show": "Show a session, unit, subagent or entry.",
        "search": "Search prompts, answers, thinking, tool calls and results.",
        "follow": "Follow sessions live.",
        "mark": "Add a star, tags and a note to a session.",
        "web": "Browse sessions in a browser.",
        "files": "Show the files that agents changed, and the history of one.",
        "diff": "Compare two sessions, units or subagents.",
        "replay": "Replay a session at its original pace.",
        "stats": "Sum tokens, cost and tool calls by day, model, project and more.",
        "projects": "Show projects, and link a moved project to its old path.",
        "sql": "Run a read-only SQL query on the store.",
        "statusline": "Print one line for Claude Code's status line.",
    },
    "Export and import": {
        "export": "Export sessions as Markdown, HTML, JSON and other formats.",
        "import": "Import sessions from exports of other programs.",
        "bundle": "Collect data for a bug report in one file, without secrets.",
    },
    "Threads": {
        "threads": "Show a project's threads, and which was forked from which.",
        "assets": "Show the plans, designs and notes of threads and who wrote them.",
        "context": "Print the list of plans and transcripts that hooks give an agent.",
        "resume": "Print a briefing with which an agent can take over a thread.",
        "inject": "Send a message to a thread's agent.",
        "inbox": "Show messages to agents and their delivery state.",
        "init": "Tell a project's agents, in AGENTS.md, how to use thread folders.",
        "hooks": "Install Claude Code hooks: faster transcripts, context injection.",
    },
    "Run": {
        "run": "Run the daemon in the foreground.",
        "service": "Install, remove or inspect the background service.",
        "sync": "Read new log entries once, write transcripts, and exit.",
        "pause": "Pause the daemon until `leslied unpause`.",
        "unpause": "Resume a paused daemon.",
        "demo": "Play a scripted session in a temporary home.",
    },
    "Maintenance": {
        "status": "Show what has been read and what could not be read.",
        "agents": "Show supported agents, their log folders and read progress.",
        "doctor": "Check logs, store, settings and machine for problems.",
        "secrets": "Find secrets in sessions; replace them in transcripts and exports.",
        "disk": "Show disk usage and how to reduce it.",
        "prune": "Delete old sessions from the store and the archive.",
        "forget": "Forget a session, or all entries that contain a text.",
        "rebuild": "Rebuild the store from archive and logs.",
        "config": "Show the settings and the path of the config file.",
        "completion": "Print or install shell completion scripts.",
        "help": "Show help for a command.",
    },
}
"""One-line summary of each command, by section of `leslied --help`."""
COMMANDS = {
    name: summary
    for commands in SECTIONS.values()
    for name, summary in commands.items()
}
"""One-line summary of every command, in the order of the sections."""


class _LazyGroup(LesliedGroup):
    """Group that imports a command only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        # A module cannot have the name of a keyword.
        name = "import_" if cmd_name == "import" else cmd_name
        module = importlib.import_module(f"leslied.cli.commands.{name}")
        command: click.Command = module.command
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; remove secrets from the messages of its errors."""
        try:
            return super().invoke(ctx)
        except LesliedError as error:
            redact = _load_redact(ctx.obj)
            error.message, error.hint = redact(error.message), redact(error.hint)
            raise
        except OSError as error:
            if error.filename is not None:
                error.filename = _load_redact(ctx.obj)(os.fsdecode(error.filename))
            raise

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        del ctx
        longest = max(map(len, COMMANDS))
        for section, commands in SECTIONS.items():
            with formatter.section(section):
                # Padded names align the summaries of all sections.
                formatter.write_dl(
                    [
                        (f"{name:<{longest}}", summary)
                        for name, summary in commands.items()
                    ]
                )

    def shell_complete(
        self, ctx: click.Context, incomplete: str
    ) -> list[CompletionItem]:
        """Offer commands without importing them, or options after a `-`."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415

        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        return [
            CompletionItem(name, help=summary)
            for name, summary in COMMANDS.items()
            if name.startswith(incomplete)
        ]


@click.group(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    examples=[
        ("leslied status", "show whether the daemon is running and what it has read"),
        ("leslied list", "list sessions, most recently active first"),
        ("leslied show last", "show the session that was active last"),
        ("leslied help export", "show help and examples for `export`"),
    ],
    exit_codes=[
        (0, "success"),
        (1, "failure"),
        (2, "usage error"),
        (3, "the store cannot be used"),
        (4, "another leslied process is writing to the store"),
        (78, "the config file is invalid"),
    ],
    epilog="NO_COLOR disables colour, FORCE_COLOR forces it, COLUMNS sets the width.",
)
@click.version_option(__version__, "--version", prog_name="leslied")
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    help="Use this config file instead of the default one.",
)
@click.pass_context
def leslied(ctx: click.Context, config: Path | None) -> None:
    """Collect, search and export the session logs of coding agents.

    Most commands accept --json and print {"success", "data", "warnings", "error"}.
    An ID may be shortened to any unique prefix; `last` is the session that was
    active most recently.
    """
    if config and not config.exists():
        raise ConfigError(f"Config file {config} does not exist.", "Check the path.")
    ctx.obj = config


def _load_redact(config: Path | None = None) -> Callable[[str], str]:
    """Return the function that removes secrets from error messages."""
    from leslied.queries.preview import make_fail_safe_redact  # noqa: PLC0415

    try:
        return make_fail_safe_redact(get_paths(read_environ(), config).config_file)
    except UserError:
        # Without a home folder there is no session, so the message has no secret.
        return str


def _prepare_streams() -> None:
    """Open missing output streams; replace characters that cannot be encoded."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
        else:
            stream.reconfigure(errors="replace")


def _discard_output(fd: int) -> None:
    """Redirect stdout or stderr to /dev/null, so that flushing it cannot fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), fd)


def _flush_log() -> None:
    """Flush stderr; discard it if that fails, or Python would exit with code 120."""
    try:
        sys.stderr.flush()
    except OSError:
        _discard_output(2)


def main() -> None:
    """Run the command line and exit with its exit code."""
    # Imports and ingest create many objects but no cycles. The default thresholds cost
    # 5 % of a command's time, and the collection at exit another 8 %.
    gc.set_threshold(100_000, 20, 20)
    os.umask(0o077)
    _prepare_streams()
    report_crashes(_load_redact)
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
        # Nobody reads our output any more, for example after `| head`.
        _discard_output(1)
        code = 0
    except OSError as error:
        # The error may come from writing to stdout, so report it on stderr only.
        _discard_output(1)
        code = report_error(f"The command failed: {error}.", "", 1, as_json=False)
    _flush_log()
    gc.freeze()  # so that there is nothing to collect at exit
    sys.exit(code if isinstance(code, int) else 0)
