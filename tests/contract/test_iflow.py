"""Test how iFlow's lines differ from Claude Code's."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.agents import load_adapters
from leslied.model.record import Usage
from tests.support.agent_home import AgentHome

ADAPTER = load_adapters()["iflow"]
SESSION = "session-041101e6-0000-4000-8000-000000000001"


@pytest.fixture
def iflow(home: Path, tmp_path: Path, clock) -> AgentHome:
    return AgentHome(ADAPTER, home, tmp_path / "store.db", clock)


def test_a_session_has_folder_model_and_tokens(iflow: AgentHome):
    session = iflow.read_case("tools").main

    assert session.key.session_id == SESSION
    assert (session.cwd, session.model) == ("/home/dev/app", "glm-5")
    assert session.usage == Usage(300, 30)


def test_the_output_in_a_result_is_its_text(iflow: AgentHome):
    contents = iflow.read_case("tools")

    results = [placed.record for placed in contents.records("tool_result")]
    assert [(r.content, bool(r.metadata.get("is_error"))) for r in results] == [
        ("README.md", False),
        ("Created n.txt", False),
        ("It failed.", True),
    ]
