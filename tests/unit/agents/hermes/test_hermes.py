"""Where Hermes' database is, and how a session is resumed."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.agents.hermes import ADAPTER
from leslied.model.source import Environment


def list_root_paths(*configured: Path, **environ: str) -> list[str]:
    env = Environment(home=Path("/home/dev"), environ=environ, platform="linux")
    return [str(root.path) for root in ADAPTER.roots(env, configured)]


@pytest.mark.parametrize(
    ("environ", "path"),
    [({}, "/home/dev/.hermes"), ({"HERMES_HOME": "/h"}, "/h")],
)
def test_the_root_is_the_folder_of_the_database(environ: dict[str, str], path: str):
    assert list_root_paths(**environ) == [path]


def test_configured_directories_replace_the_default():
    assert list_root_paths(Path("/a")) == ["/a"]


def test_a_session_is_resumed_by_its_id():
    assert ADAPTER.resume_command("s1") == "hermes --resume s1"
