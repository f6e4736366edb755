"""What a person is told before anything is done."""

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


def find_calls(words: str) -> Iterator[list[str]]:
    """What stands after each `leslied` in a line for a shell."""
    line = re.sub(r"\b2?[<>] *\S+|[<>] *\S+", "", words)
    inner = re.findall(r"\$\((.*?)\)", line)
    outer = re.split(r"\||&&|;", re.sub(r"\$\(.*?\)", "", line))
    for call in (*inner, *outer):
        program, *rest = shlex.split(call)
        if program == "leslied":
            yield rest


EXAMPLES = [
    (words, call)
    for command in COMMANDS.values()
    for words, _ in command.examples
    for call in find_calls(words)
]


def invoke(*words: str) -> Result:
    return CliRunner().invoke(leslied, words, prog_name="leslied")


def parse(words: list[str]) -> click.Context:
    """The words, taken apart as far as the last command in them; nothing is run."""
    ctx = leslied.make_context("leslied", words)
    while isinstance(ctx.command, click.Group):
        rest = [*ctx._protected_args, *ctx.args]
        name, command, rest = ctx.command.resolve_command(ctx, rest)
        ctx = command.make_context(name, rest, parent=ctx)
    return ctx


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_tells_what_it_does_and_how_it_is_called(path: str):
    command = COMMANDS[path]

    assert isinstance(command, LesliedCommand)
    assert (command.help or "").split("\n")[0].endswith(".")
    assert command.examples or isinstance(command, click.Group)


@pytest.mark.parametrize("path", COMMANDS)
def test_every_option_tells_what_it_means(path: str):
    options = [p for p in COMMANDS[path].params if isinstance(p, click.Option)]

    assert [o.name for o in options if not o.hidden and not o.help] == []


@pytest.mark.parametrize(("words", "call"), EXAMPLES)
def test_an_example_can_be_typed(words: str, call: list[str]):
    assert parse(call).command_path in COMMANDS


@pytest.mark.parametrize("path", COMMANDS)
def test_what_to_see_also_is_there(path: str):
    named = {f"leslied {name}" for name in COMMANDS[path].see_also}

    assert named - COMMANDS.keys() == set()


def test_examples_and_what_to_see_also_stand_in_the_help():
    told = invoke("export", "--help").output

    assert "Examples:\n  leslied export last -f markdown " in told
    assert "See also:\n  leslied list, leslied show, leslied bundle\n" in told


def test_exit_codes_of_its_own_stand_in_the_help():
    assert "Exit codes:\n  1  something is broken\n" in invoke("doctor", "-h").output


def test_a_group_tells_whole_sentences():
    told = invoke("hooks", "-h").output

    assert " ".join(told.split()).count("every other byte stays as it is.") == 1


def test_commands_are_told_by_what_one_wants():
    told = invoke("--help").output

    heads = [line[:-1] for line in told.split("\n") if line[:-1] in SECTIONS]
    assert heads == list(SECTIONS)


@pytest.mark.parametrize("words", [[], ["service"]])
def test_a_group_alone_tells_which_commands_there_are(words: list[str]):
    told = invoke(*words)

    assert (told.exit_code, told.output) == (0, invoke(*words, "--help").output)


@pytest.mark.parametrize("words", [[], ["export"], ["service", "install"]])
def test_the_word_help_may_come_first(words: list[str]):
    assert invoke("help", *words).output == invoke(*words, "--help").output


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        (["lst"], "Did you mean `list`?"),
        (["service", "stat"], "Did you mean `status`?"),
        (["help", "expor"], "Did you mean `export`?"),
        (["xyzzy"], "See which there are: leslied --help"),
        (["help", "list", "all"], "Try: leslied list --help"),
    ],
)
def test_a_mistyped_command_is_guessed(typed: list[str], hint: str):
    error = invoke(*typed).exception

    assert isinstance(error, UserError)
    assert error.hint == hint


def test_a_mistyped_option_is_guessed():
    assert "Did you mean '--full'?" in invoke("show", "last", "--ful").output
