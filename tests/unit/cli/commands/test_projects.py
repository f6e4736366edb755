"""Tests of `leslied projects`; `tests/e2e/test_projects.py` runs the real command."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from leslied.cli import leslied
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.git import git, make_repository


def run(*args: str) -> str:
    result = CliRunner().invoke(leslied, args, catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def work_in(claude: ClaudeHome, *folders: Path) -> None:
    for folder in folders:
        name = folder.name
        builder = ClaudeLogBuilder(name, str(folder))
        claude.write(builder.prompt("one"), name=f"-app/{name}.jsonl")
    run("sync")


def test_projects_are_listed_without_a_command(claude: ClaudeHome, home: Path):
    work_in(claude, home / "notes")

    output = run("projects")

    assert output == run("projects", "list")
    assert output.split("\n")[1].split()[:2] == ["~/notes", "1"]
    assert "gone" in output


def test_a_list_without_projects_names_the_next_step(claude: ClaudeHome):
    claude.projects.mkdir(parents=True)
    run("sync")

    assert "leslied sync" in run("projects", "list")


def test_a_link_is_suggested_for_a_repository_that_may_have_moved(
    claude: ClaudeHome, home: Path
):
    old = make_repository(home / "old")
    work_in(claude, old)
    git(home, "clone", "-q", str(old), "new")
    shutil.rmtree(old)
    work_in(claude, home / "new")

    output = run("projects", "list")

    assert "~/old may now be ~/new. Run: leslied projects link ~/old ~/new" in output


@pytest.mark.parametrize("name", ["old", "~/old"])
def test_the_result_of_a_link_is_shown(claude: ClaudeHome, home: Path, name: str):
    work_in(claude, home / "old", home / "new")

    assert run("projects", "link", name, "new") == "~/old is now part of ~/new.\n"
    assert run("projects", "unlink", name) == "~/old is now its own project.\n"
