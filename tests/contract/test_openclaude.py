"""Test where OpenClaude differs from Claude Code."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.agents import load_adapters
from leslied.model.source import Environment
from tests.support.agent_home import AgentHome

ADAPTER = load_adapters()["openclaude"]


@pytest.mark.parametrize(
    ("environ", "configured", "path"),
    [
        ({}, [], "/home/dev/.openclaude/projects"),
        ({"OPENCLAUDE_CONFIG_DIR": "/c"}, [], "/c/projects"),
        ({"CLAUDE_CONFIG_DIR": "/c"}, [], "/home/dev/.openclaude/projects"),
        ({}, ["/a"], "/a/projects"),
        ({}, ["/a/projects"], "/a/projects"),
    ],
)
def test_openclaude_has_its_own_folder(
    environ: dict[str, str], configured: list[str], path: str
):
    env = Environment(home=Path("/home/dev"), environ=environ, platform="linux")

    roots = ADAPTER.roots(env, [Path(each) for each in configured])
    assert [str(root.path) for root in roots] == [path]


def test_a_session_is_resumed_by_its_id():
    assert ADAPTER.resume_command("s") == "openclaude --resume s"


def test_plans_of_openclaude_are_in_its_own_folder():
    assert ADAPTER.is_plan_file("/home/dev/.openclaude/plans/a.md")
    assert not ADAPTER.is_plan_file("/home/dev/.claude/plans/a.md")


@pytest.fixture
def openclaude(home: Path, tmp_path: Path, clock) -> AgentHome:
    return AgentHome(ADAPTER, home, tmp_path / "store.db", clock)


def test_a_session_has_the_title_of_its_log(openclaude: AgentHome):
    assert openclaude.read_case("subagent").main.title == "Count files"


def test_a_subagent_is_linked_to_its_call(openclaude: AgentHome):
    (subagent,) = openclaude.read_case("subagent").subagents

    assert subagent.spawn_call_id == "toolu_fake000693"
