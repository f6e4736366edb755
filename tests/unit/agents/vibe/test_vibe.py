"""Where Mistral Vibe's sessions are, and how one is resumed."""

from __future__ import annotations

from pathlib import Path

from leslied.agents.vibe import ADAPTER
from leslied.model.source import Environment


def list_root_paths(*configured: Path, **environ: str) -> list[str]:
    env = Environment(home=Path("/home/dev"), environ=environ, platform="linux")
    return [str(root.path) for root in ADAPTER.roots(env, configured)]


def test_the_root_is_the_folder_of_sessions():
    assert list_root_paths() == ["/home/dev/.vibe/logs/session/unified"]
    assert list_root_paths(VIBE_HOME="/v") == ["/v/logs/session/unified"]


def test_configured_directories_replace_the_default():
    assert list_root_paths(Path("/a")) == ["/a"]


def test_a_session_is_resumed_by_its_id():
    assert ADAPTER.resume_command("157d0f79") == "vibe --resume 157d0f79"
