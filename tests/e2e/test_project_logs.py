"""Test agents that keep their logs in projects."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.claude import AFTER_STORE_CREATION, ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner
from tests.support.golden import FIXTURES

LOG = ".aider.chat.history.md"
TURN = f"""
# aider chat started at {AFTER_STORE_CREATION:%Y-%m-%d %H:%M:%S}

> Model: gpt-5 with diff edit format{"  "}

#### Rename it.{"  "}

Done.

> Tokens: 10 sent, 2 received.{"  "}
"""


@pytest.fixture
def leslied(home: Path) -> LesliedRunner:
    return LesliedRunner(home)


@pytest.fixture
def aider_project(claude: ClaudeHome, project: Path) -> Path:
    """Return a project in which Claude Code and Aider worked."""
    builder = ClaudeLogBuilder(cwd=str(project), started_at=AFTER_STORE_CREATION)
    claude.write(builder.prompt("Go."), builder.answer("Done.", stop_reason="end_turn"))
    (project / LOG).write_text(TURN)
    return project


def list_agents(leslied: LesliedRunner) -> list[str]:
    sessions = leslied("list", "--json").json["data"]["sessions"]
    return sorted(session["agent"] for session in sessions)


def configure(home: Path, text: str) -> None:
    path = home / ".config/leslied/config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.usefixtures("aider_project")
def test_one_sync_reads_the_log_in_another_sessions_project(leslied: LesliedRunner):
    report = leslied("sync", "--json").json["data"]

    assert report["sources"] == 2
    assert list_agents(leslied) == ["aider", "claude-code"]


def test_transcripts_are_still_written_to_the_project(
    leslied: LesliedRunner, aider_project: Path
):
    leslied("sync", "--stop-all")
    leslied("sync", "--stop-all")

    threads = list((aider_project / ".leslie" / "threads").glob("thread-*"))
    assert len(threads) == 2
    central = aider_project.parent / ".local/share/leslied/central"
    assert not list(central.glob("*/.leslie/threads/*"))


def test_sessions_can_be_exported_into_the_project_but_not_over_the_log(
    leslied: LesliedRunner, aider_project: Path
):
    leslied("sync")
    target = aider_project / "session.md"

    assert leslied("export", "last", "-f", "markdown", "-o", str(target)).code == 0
    refused = leslied("export", "last", "-f", "json", "-o", str(aider_project / LOG))
    assert "inside a folder of aider" in refused.err
    assert (aider_project / LOG).read_text() == TURN


def test_a_project_that_is_gone_causes_no_error(
    leslied: LesliedRunner, aider_project: Path
):
    leslied("sync")
    shutil.rmtree(aider_project)

    result = leslied("sync")
    assert (result.code, result.err) == (0, "")
    assert str(aider_project) not in leslied("agents").out
    assert list_agents(leslied) == ["aider", "claude-code"]


def test_a_project_without_sessions_of_others_is_read_only_if_it_is_configured(
    leslied: LesliedRunner, home: Path, project: Path
):
    shutil.copy(FIXTURES / "aider/runs/home/app" / LOG, project)
    leslied("sync")
    assert list_agents(leslied) == []

    configure(home, f'[agents.aider]\nroots = ["{project}"]\n')
    leslied("sync")
    assert list_agents(leslied) == ["aider", "aider"]


def test_an_excluded_project_is_not_read(
    leslied: LesliedRunner, home: Path, aider_project: Path
):
    configure(home, f'[projects]\nexclude = ["{aider_project}"]\n')
    leslied("sync")
    leslied("sync")

    assert list_agents(leslied) == []


@pytest.mark.usefixtures("aider_project")
def test_a_disabled_agent_looks_at_no_projects(leslied: LesliedRunner, home: Path):
    configure(home, "[agents.aider]\nenabled = false\n")
    leslied("sync")

    assert list_agents(leslied) == ["claude-code"]
