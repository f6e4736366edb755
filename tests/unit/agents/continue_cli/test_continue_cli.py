"""Where Continue's sessions are, and how one is continued."""

from __future__ import annotations

from pathlib import Path

from leslied.agents.continue_cli import ADAPTER
from leslied.model.source import Environment


def test_an_environment_variable_changes_the_folder_of_the_sessions(tmp_path: Path):
    env = Environment(
        home=tmp_path, environ={"CONTINUE_GLOBAL_DIR": "/moved"}, platform="linux"
    )

    (root,) = ADAPTER.roots(env, [])
    assert root.path == Path("/moved/sessions")


def test_a_session_is_continued_in_a_copy():
    assert ADAPTER.resume_command("s1") == "cn --fork s1"
