"""Tab completion in real shells."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner
from tests.support.waiting import MAX_WAIT_SECONDS

pytestmark = pytest.mark.e2e

# Type the command line $1 and a tab into an interactive zsh, and print what it shows
# up to a match of the pattern $2.
ZSH_SCRIPT = r"""
zmodload zsh/zpty
zpty shell "TERM=xterm zsh -f -i"
zpty -w shell 'stty cols 200; fpath=(~/.zfunc $fpath)'
zpty -w shell 'autoload -Uz compinit; compinit -u'
zpty -n -w shell "$1"$'\t'
zpty -r shell output "$2"
print -r -- $output
"""


@pytest.fixture
def leslied(home: Path, claude: ClaudeHome) -> LesliedRunner:
    """Sync a home with one session, and put `leslied` on the shell's PATH."""
    builder = ClaudeLogBuilder()
    claude.write(builder.prompt("fix the mill, please"), builder.answer("Done."))
    program = home / "bin" / "leslied"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m leslied "$@"\n')
    program.chmod(0o755)
    command = LesliedRunner(home)
    command.environ["PATH"] = f"{program.parent}:{os.environ['PATH']}"
    command("sync")
    return command


def run_shell(leslied: LesliedRunner, shell: str, *args: str) -> str:
    """Install completion for a shell, run the shell, return its output."""
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    assert leslied("completion", "install", shell).code == 0
    result = subprocess.run(
        [shell, *args],
        env=leslied.environ,
        cwd=leslied.home,
        capture_output=True,
        check=False,
        timeout=MAX_WAIT_SECONDS,
        text=True,
    )
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


def complete_in_bash(leslied: LesliedRunner, *arguments: str) -> list[str]:
    script = (
        ". ~/.local/share/bash-completion/completions/leslied; "
        'COMP_WORDS=(leslied "$@"); COMP_CWORD=$#; _leslied_completion leslied; '
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    return run_shell(leslied, "bash", "-c", script, "bash", *arguments).split()


def complete_in_fish(leslied: LesliedRunner, command_line: str) -> list[str]:
    return run_shell(leslied, "fish", "-c", f"complete -C '{command_line}'").split("\n")


def complete_in_zsh(leslied: LesliedRunner, command_line: str, pattern: str) -> str:
    return run_shell(
        leslied, "zsh", "-f", "-c", ZSH_SCRIPT, "zsh", command_line, pattern
    )


def test_bash_offers_commands_choices_and_ids(leslied: LesliedRunner):
    assert complete_in_bash(leslied, "stat") == ["stats", "statusline", "status"]
    assert complete_in_bash(leslied, "export", "--format", "h") == ["html"]
    assert complete_in_bash(leslied, "export", "") == ["last", SESSION]


def test_fish_offers_ids_and_options_with_descriptions(leslied: LesliedRunner):
    candidates = complete_in_fish(leslied, "leslied export ")

    assert candidates[:2] == [
        "last\tthe session that was active last",
        f"{SESSION}\tfix the mill, please",
    ]
    assert complete_in_fish(leslied, "leslied stats --b")[0].startswith("--by\t")


def test_zsh_offers_ids_with_descriptions(leslied: LesliedRunner):
    output = complete_in_zsh(leslied, "leslied export ", "*fix the mill*")

    assert f"{SESSION}  -- fix the mill" in output


def test_zsh_completes_a_partial_command(leslied: LesliedRunner):
    assert "leslied unpause" in complete_in_zsh(leslied, "leslied unp", "*unpause*")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_silent_when_the_store_is_unreadable(
    leslied: LesliedRunner, shell: str
):
    (leslied.home / ".local/share/leslied/store.db").write_bytes(b"no store" * 999)

    result = leslied(
        _LESLIED_COMPLETE=f"{shell}_complete",
        COMP_WORDS="leslied export x",
        # Fish passes the word itself, other shells its index.
        COMP_CWORD="x" if shell == "fish" else "2",
    )

    assert (result.code, result.out.strip(), result.err) == (0, "", "")
