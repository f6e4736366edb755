"""Installing and removing shell completion scripts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from leslied.cli import leslied
from leslied.errors import UserError

SCRIPT_PATHS = {
    "bash": ".local/share/bash-completion/completions/leslied",
    "zsh": ".zfunc/_leslied",
    "fish": ".config/fish/completions/leslied.fish",
}


def invoke(*words: str) -> Result:
    return CliRunner().invoke(leslied, ["completion", *words])


def invoke_json(*words: str) -> Any:
    return json.loads(invoke(*words, "--json").output)["data"]


@pytest.mark.parametrize("shell", SCRIPT_PATHS)
def test_the_installed_script_is_the_printed_one(shell: str, home: Path):
    result = invoke_json("install", shell)

    path = home / SCRIPT_PATHS[shell]
    assert (result["path"], result["changed"]) == (str(path), True)
    assert path.read_text() == invoke(shell).output


def test_installing_again_changes_nothing():
    invoke("install", "fish")

    assert invoke_json("install", "fish")["changed"] is False


def test_the_default_shell_is_the_one_in_the_environment(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("SHELL", "/usr/bin/fish")

    assert invoke_json("install")["shell"] == "fish"


@pytest.mark.parametrize("shell", ["", "/bin/tcsh"])
def test_an_unsupported_shell_is_an_error(shell: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SHELL", shell)

    assert isinstance(invoke("install").exception, UserError)


def test_the_lines_to_add_name_the_zsh_folder(home: Path):
    result = invoke_json("install", "zsh", "--folder", str(home / "fun"))

    assert (home / "fun" / "_leslied").exists()
    assert result["lines_to_add"][0] == "fpath=(~/fun $fpath)"


def test_a_folder_with_a_space_is_quoted(home: Path):
    result = invoke_json("install", "zsh", "--folder", str(home / "my fun"))

    assert result["lines_to_add"][0] == f"fpath=('{home}/my fun' $fpath)"


def test_other_shells_do_not_accept_a_folder():
    assert isinstance(invoke("install", "fish", "--folder", "x").exception, UserError)


def test_environment_variables_of_the_shells_are_honoured(
    home: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "conf"))
    monkeypatch.setenv("BASH_COMPLETION_USER_DIR", str(home / "own"))

    assert invoke_json("install", "fish")["path"].startswith(str(home / "conf/fish/"))
    assert invoke_json("install", "bash")["path"] == str(
        home / "own/completions/leslied"
    )


def test_uninstall_removes_the_installed_scripts(home: Path):
    invoke("install", "bash")
    invoke("install", "fish")

    removed = invoke_json("uninstall")["removed"]

    paths = [home / SCRIPT_PATHS[shell] for shell in ("bash", "fish")]
    assert removed == [str(path) for path in paths]
    assert not any((home / path).exists() for path in SCRIPT_PATHS.values())
    assert invoke("uninstall").output == "No completion script is installed.\n"


@pytest.mark.parametrize("action", ["install", "uninstall"])
def test_a_file_that_leslied_did_not_write_is_not_changed(home: Path, action: str):
    path = home / SCRIPT_PATHS["fish"]
    path.parent.mkdir(parents=True)
    path.write_text("complete -c leslied -a mine\n")

    assert isinstance(invoke(action, "fish").exception, UserError)
    assert path.read_text() == "complete -c leslied -a mine\n"
