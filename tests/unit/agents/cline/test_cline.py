"""Where Cline's sessions are, which process has one open, and how it is resumed."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.agents.cline import ADAPTER
from leslied.model.session import LiveProcess, ProcessRegistry
from leslied.model.source import Environment
from tests.support.golden import make_environment

SESSION = "1794876958815_385te"


def test_a_manifest_names_the_process_of_an_open_session():
    path = Path(f"/x/{SESSION}/{SESSION}.json")
    open_manifest = b'{"pid": 4242, "status": "running"}'

    assert ADAPTER.parse_live_process(path, open_manifest) == LiveProcess(SESSION, 4242)
    for data in (
        b'{"pid": 4242, "status": "completed"}',
        b'{"pid": "4242"}',
        b'{"pid": 0}',
        b"{",
    ):
        assert ADAPTER.parse_live_process(path, data) is None


def test_the_registry_is_the_manifests(tmp_path: Path):
    assert list(ADAPTER.live_registries(make_environment(tmp_path), [])) == [
        ProcessRegistry(tmp_path / ".cline/data/sessions", "*/*_?????.json")
    ]


@pytest.mark.parametrize(
    ("variable", "folder"),
    [
        ("CLINE_SESSION_DATA_DIR", "/moved"),
        ("CLINE_DATA_DIR", "/moved/sessions"),
        ("CLINE_DIR", "/moved/data/sessions"),
    ],
)
def test_variables_move_the_sessions(tmp_path: Path, variable: str, folder: str):
    env = Environment(home=tmp_path, environ={variable: "/moved"}, platform="linux")

    (root,) = ADAPTER.roots(env, [])
    assert root.path == Path(folder)


def test_a_session_is_resumed_by_its_id():
    assert ADAPTER.resume_command(SESSION) == f"cline --id {SESSION}"
