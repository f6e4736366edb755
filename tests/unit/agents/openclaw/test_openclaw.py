"""Where OpenClaw's databases are."""

from __future__ import annotations

from pathlib import Path

from leslied.agents.openclaw import ADAPTER
from leslied.model.source import Environment


def test_an_environment_variable_changes_the_folder_of_the_databases(tmp_path: Path):
    env = Environment(
        home=tmp_path, environ={"OPENCLAW_STATE_DIR": "/moved"}, platform="linux"
    )

    (root,) = ADAPTER.roots(env, [])
    assert root.path == Path("/moved/agents")
