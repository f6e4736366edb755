"""Putting the shell's script in its place, and taking it away."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from leslied.cli import leslied
from leslied.errors import UserError

PLACES = {
    "bash": ".local/share/bash-completion/completions/leslied",
    "zsh": ".zfunc/_leslied",
    "fish": ".config/fish/completions/leslied.fish",
}


def invoke(*words: str) -> Result:
    return CliRunner().invoke(leslied, ["completion", *words])


def invoke_json(*words: str) -> Any:
    return json.loads(invoke(*words, "--json").output)["data"]


@pytest.mark.parametrize("shell", PLACES)
def test_what_is_installed_is_what_is_printed(shell: str, home: Path):
    told = invoke_json("install", shell)

    path = home / PLACES[shell]
    assert (told["path"], told["changed"]) == (str(path), True)
    assert path.read_text() == invoke(shell).output


def test_installing_again_changes_nothing(home: Path):
    invoke("install", "fish")

    assert invoke_json("install", "fish")["changed"] is False


def test_the_shell_in_use_is_found(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SHELL", "/usr/bin/fish")

    assert invoke_json("install")["shell"] == "fish"


@pytest.mark.parametrize("shell", ["", "/bin/tcsh"])
def test_an_unknown_shell_is_asked_for(shell: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SHELL", shell)

    assert isinstance(invoke("install").exception, UserError)


def test_zsh_takes_a_folder_and_is_told_the_lines(home: Path):
    told = invoke_json("install", "zsh", "--folder", str(home / "fun"))

    assert (home / "fun" / "_leslied").exists()
    assert told["lines_to_add"][0] == "fpath=(~/fun $fpath)"


def test_a_folder_with_a_space_is_quoted(home: Path):
    told = invoke_json("install", "zsh", "--folder", str(home / "my fun"))

    assert told["lines_to_add"][0] == f"fpath=('{home}/my fun' $fpath)"


def test_other_shells_take_no_folder():
    assert isinstance(invoke("install", "fish", "--folder", "x").exception, UserError)


def test_the_shells_own_variables_are_honoured(
    home: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "conf"))
    monkeypatch.setenv("BASH_COMPLETION_USER_DIR", str(home / "own"))

    assert invoke_json("install", "fish")["path"].startswith(str(home / "conf/fish/"))
    assert invoke_json("install", "bash")["path"] == str(
        home / "own/completions/leslied"
    )


def test_uninstall_takes_away_what_is_there(home: Path):
    invoke("install", "bash")
    invoke("install", "fish")

    removed = invoke_json("uninstall")["removed"]

    assert removed == [str(home / PLACES["bash"]), str(home / PLACES["fish"])]
    assert not any((home / place).exists() for place in PLACES.values())
    assert invoke("uninstall").output == "There was none.\n"


@pytest.mark.parametrize("act", ["install", "uninstall"])
def test_a_file_of_somebody_else_is_left_alone(home: Path, act: str):
    path = home / PLACES["fish"]
    path.parent.mkdir(parents=True)
    path.write_text("complete -c leslied -a mine\n")

    assert isinstance(invoke(act, "fish").exception, UserError)
    assert path.read_text() == "complete -c leslied -a mine\n"
