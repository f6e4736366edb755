"""Where the extensions of Cline's family keep their tasks."""

from __future__ import annotations

from pathlib import Path

from leslied.agents.roo_code import ADAPTER
from leslied.model.source import Environment

ENV = Environment(home=Path("/h"), environ={}, platform="linux")


def test_tasks_are_in_the_storage_of_the_extension():
    paths = [str(root.path) for root in ADAPTER.roots(ENV, [])]

    tail = "User/globalStorage/rooveterinaryinc.roo-cline/tasks"
    assert paths[0] == f"/h/.config/Code/{tail}"
    assert f"/h/.config/Cursor/{tail}" in paths
    assert f"/h/.vscode-server/data/{tail}" in paths


def test_configured_directories_replace_the_defaults():
    assert [root.path for root in ADAPTER.roots(ENV, [Path("/t")])] == [Path("/t")]
