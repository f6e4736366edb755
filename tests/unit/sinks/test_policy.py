"""Which folders transcripts may be written to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from leslied.agents import load_adapters
from leslied.model.source import Environment
from leslied.sinks import OutputPolicy, find_agent_folder

REFUSED = {
    "": "not in a project",
    "link": "symbolic link",
    "agent/inside": "a folder of an agent",
    "open": "writable by everybody",
}


@pytest.fixture
def policy(tmp_path: Path) -> OutputPolicy:
    home = tmp_path / "home"
    for name in ("app", "agent/inside", "open"):
        (home / name / ".git").mkdir(parents=True)
    (home / "open").chmod(0o777)
    (home / "link").symlink_to(home / "app")
    return OutputPolicy(
        home=home,
        central=tmp_path / "central",
        reserved_folders=(home / "agent",),
        user=os.getuid(),
    )


def test_an_ordinary_project_is_written_to(policy: OutputPolicy):
    project = policy.home / "app"

    chosen = policy.choose(str(project))

    assert (chosen.folder, chosen.reason) == (project, "")


@pytest.mark.fault("D5", "C9")
@pytest.mark.threat("P1")
@pytest.mark.parametrize("name", REFUSED)
def test_other_folders_go_to_the_central_tree(policy: OutputPolicy, name: str):
    folder = policy.home / name if name else policy.home.parent / "nowhere"

    chosen = policy.choose(str(folder))

    assert chosen.folder.parent == policy.central
    assert REFUSED[name] in chosen.reason


@pytest.mark.threat("S3")
def test_the_name_of_a_central_folder_has_no_secret(policy: OutputPolicy):
    redacting = replace(policy, redact=lambda text: text.replace("hunter2", "*"))

    chosen = redacting.choose_central("/home/dev/app hunter2").folder

    assert "hunter2" not in chosen.name
    assert (
        chosen.name[-8:]
        == policy.choose_central("/home/dev/app hunter2").folder.name[-8:]
    )


@pytest.mark.threat("P1")
def test_the_home_folder_itself_is_not_a_project(policy: OutputPolicy):
    (policy.home / ".git").mkdir()

    chosen = policy.choose(str(policy.home))

    assert "not projects" in chosen.reason


@pytest.mark.threat("P1")
def test_a_temporary_folder_outside_of_home_is_not_written_to(policy: OutputPolicy):
    if not policy.home.is_relative_to("/tmp"):
        pytest.skip("temporary files are not below /tmp")

    chosen = replace(policy, home=Path("/home/dev")).choose(str(policy.home / "app"))

    assert chosen.reason == "a system or temporary folder"


@pytest.mark.threat("P1")
def test_a_project_of_another_user_is_not_written_to(policy: OutputPolicy):
    chosen = replace(policy, user=os.getuid() + 1).choose(str(policy.home / "app"))

    assert chosen.reason == "not owned by you"


def test_the_user_can_choose_the_central_tree_for_everything(policy: OutputPolicy):
    chosen = replace(policy, is_central=True).choose(str(policy.home / "app"))

    assert chosen.folder.parent == policy.central


@pytest.mark.parametrize("cwd", ["relative", "/a/../b", "/a\0b", ""])
def test_a_folder_that_is_not_a_plain_absolute_path_has_no_project(
    policy: OutputPolicy, cwd: str
):
    assert "not in a project" in policy.choose(cwd).reason


@pytest.mark.parametrize(
    ("root", "folder"),
    [
        (".claude/projects", ".claude"),
        (".hermes", ".hermes"),
        (".local/share/opencode", ".local/share/opencode"),
        ("Library/Application Support/x", "Library/Application Support/x"),
    ],
)
def test_the_folder_of_an_agent_contains_no_projects_of_others(root: str, folder: str):
    home = Path("/home/ann")

    assert find_agent_folder(home / root, home) == home / folder


def test_no_agent_claims_the_home_folder():
    home = Path("/home/ann")
    env = Environment(home=home, environ={}, platform="linux")
    roots = [r for a in load_adapters().values() for r in a.roots(env, ())]

    assert roots
    assert all(
        not home.is_relative_to(find_agent_folder(root.path, home)) for root in roots
    )
