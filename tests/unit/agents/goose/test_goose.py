"""Where Goose's database is, and how a session is resumed."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.agents.goose import ADAPTER
from leslied.model.source import Environment


def list_root_paths(*configured: Path, **environ: str) -> list[str]:
    env = Environment(home=Path("/home/dev"), environ=environ, platform="linux")
    return [str(root.path) for root in ADAPTER.roots(env, configured)]


@pytest.mark.parametrize(
    ("environ", "path"),
    [
        ({}, "/home/dev/.local/share/goose/sessions"),
        ({"XDG_DATA_HOME": "/data"}, "/data/goose/sessions"),
        ({"GOOSE_PATH_ROOT": "/g", "XDG_DATA_HOME": "/data"}, "/g/data/sessions"),
    ],
)
def test_the_root_is_the_folder_of_the_database(environ: dict[str, str], path: str):
    assert list_root_paths(**environ) == [path]


def test_configured_directories_replace_the_default():
    assert list_root_paths(Path("/a")) == ["/a"]


def test_a_session_is_resumed_by_its_id():
    command = ADAPTER.resume_command("20261117_1")

    assert command == "goose session --resume --session-id 20261117_1"
