"""Each marker makes a folder a project."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.hooks.thread import find_project as find_project_in_hooks
from leslied.model.project_markers import PROJECT_MARKERS
from leslied.sinks import find_project


@pytest.mark.parametrize("marker", PROJECT_MARKERS)
def test_a_folder_with_a_marker_is_a_project(tmp_path: Path, marker: str):
    (tmp_path / marker).touch()

    assert find_project(str(tmp_path)) == tmp_path
    assert find_project_in_hooks(str(tmp_path)) == str(tmp_path)


def test_a_folder_without_a_marker_is_not_a_project(tmp_path: Path):
    assert find_project(str(tmp_path)) is None
    assert find_project_in_hooks(str(tmp_path)) == ""
