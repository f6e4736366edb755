"""Help texts of all commands, and hints for mistyped ones."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner, Result

from leslied.cli import SECTIONS, leslied
from leslied.cli.help import LesliedCommand
from leslied.errors import UserError
from tests.support.command_pages import iter_commands

COMMANDS = {ctx.command_path: ctx.command for ctx in iter_commands()}


def iter_calls(command_line: str) -> Iterator[list[str]]:
    """Yield the arguments of each `leslied` call in a shell command line."""
    line = re.sub(r"\b2?[<>] *\S+|[<>] *\S+", "", command_line)
    inner = re.findall(r"\$\((.*?)\)", line)
    outer = re.split(r"\||&&|;", re.sub(r"\$\(.*?\)", "", line))
    for call in (*inner, *outer):
        program, *arguments = shlex.split(call)
        if program == "leslied":
            yield arguments


EXAMPLES = [
    (command_line, arguments)
    for command in COMMANDS.values()
    for command_line, _ in command.examples
    for arguments in iter_calls(command_line)
]


def invoke(*words: str) -> Result:
    return CliRunner().invoke(leslied, words, prog_name="leslied")


def parse(arguments: list[str]) -> click.Context:
    """Parse the arguments down to the last subcommand, without running it."""
    ctx = leslied.make_context("leslied", arguments)
    while isinstance(ctx.command, click.Group):
        remaining = [*ctx._protected_args, *ctx.args]
        name, command, remaining = ctx.command.resolve_command(ctx, remaining)
        ctx = command.make_context(name, remaining, parent=ctx)
    return ctx


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_has_a_help_sentence_and_examples(path: str):
    command = COMMANDS[path]

    assert isinstance(command, LesliedCommand)
    assert (command.help or "").split("\n")[0].endswith(".")
    assert command.examples or isinstance(command, click.Group)


@pytest.mark.parametrize("path", COMMANDS)
def test_every_option_has_a_help_text(path: str):
    options = [p for p in COMMANDS[path].params if isinstance(p, click.Option)]

    assert [o.name for o in options if not o.hidden and not o.help] == []


@pytest.mark.parametrize(("command_line", "arguments"), EXAMPLES)
def test_every_example_can_be_parsed(command_line: str, arguments: list[str]):
    assert parse(arguments).command_path in COMMANDS


@pytest.mark.parametrize("path", COMMANDS)
def test_related_commands_exist(path: str):
    related = {f"leslied {name}" for name in COMMANDS[path].see_also}

    assert related - COMMANDS.keys() == set()


def test_help_shows_examples_and_related_commands():
    output = invoke("export", "--help").output

    assert "Examples:\n  leslied export last -f markdown " in output
    assert "See also:\n  leslied list, leslied show, leslied bundle\n" in output


def test_help_shows_exit_codes_of_the_command():
    assert "Exit codes:\n  1  a check failed" in invoke("doctor", "-h").output


def test_a_group_shows_the_whole_first_sentence_of_each_command():
    output = " ".join(invoke("hooks", "-h").output.split())

    assert output.count("the rest of the file is not changed.") == 1


def test_help_lists_commands_by_section():
    output = invoke("--help").output

    headings = [line[:-1] for line in output.split("\n") if line[:-1] in SECTIONS]
    assert headings == list(SECTIONS)


@pytest.mark.parametrize("path", [[], ["service"]])
def test_a_group_without_a_command_prints_its_help(path: list[str]):
    result = invoke(*path)

    assert (result.exit_code, result.output) == (0, invoke(*path, "--help").output)


@pytest.mark.parametrize("path", [[], ["export"], ["service", "install"]])
def test_the_help_command_prints_the_same_as_the_help_option(path: list[str]):
    assert invoke("help", *path).output == invoke(*path, "--help").output


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        (["lst"], "Did you mean `list`?"),
        (["service", "stat"], "Did you mean `status`?"),
        (["help", "expor"], "Did you mean `export`?"),
        (["xyzzy"], "List all commands with: leslied --help"),
        (["help", "list", "all"], "Try: leslied list --help"),
    ],
)
def test_a_mistyped_command_gets_a_hint(typed: list[str], hint: str):
    error = invoke(*typed).exception

    assert isinstance(error, UserError)
    assert error.hint == hint


def test_a_mistyped_option_gets_a_hint():
    assert "Did you mean '--full'?" in invoke("show", "last", "--ful").output
