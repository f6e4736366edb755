"""Where Crush's databases are, and how a session is resumed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from leslied.agents.crush import ADAPTER
from tests.support.golden import make_environment


def test_projects_are_found_in_the_list_of_projects(tmp_path: Path):
    environment = make_environment(tmp_path)
    write_projects(
        tmp_path,
        json.dumps(
            {"projects": [{"path": "/a", "data_dir": "/a/.crush"}, {"data_dir": 1}, 2]}
        ),
    )

    paths = [root.path for root in ADAPTER.roots(environment, [])]

    assert paths == [tmp_path / ".crush", Path("/a/.crush")]


@pytest.mark.parametrize("text", ["", "[1]", '{"projects": 1}', "[" * 100_000])
def test_a_damaged_list_of_projects_is_ignored(tmp_path: Path, text: str):
    environment = make_environment(tmp_path)
    write_projects(tmp_path, text)

    paths = [root.path for root in ADAPTER.roots(environment, [])]

    assert paths == [tmp_path / ".crush"]


def write_projects(home: Path, text: str) -> None:
    folder = home / ".local/share/crush"
    folder.mkdir(parents=True)
    (folder / "projects.json").write_text(text)


def test_a_session_is_resumed_by_its_id():
    assert ADAPTER.resume_command("s") == "crush --session s"
