"""Paths of files and projects."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.paths import resolve_project

HOME = Path("/home/dev")


@pytest.mark.parametrize(
    ("text", "project"),
    [
        ("app", "app"),
        ("~", "/home/dev"),
        ("~/app", "/home/dev/app"),
        ("/srv/../srv/app", "/srv/app"),
    ],
)
def test_a_project_is_a_name_or_an_absolute_path(text: str, project: str):
    assert resolve_project(text, HOME) == project


def test_a_tilde_before_a_user_name_is_part_of_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)

    assert resolve_project("~ann/app", HOME) == f"{tmp_path}/~ann/app"
