"""Test which folders a list of globs matches; `test_exclude.py` has all spellings."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.folder_globs import make_folder_matcher


@pytest.mark.parametrize("folder", ["/a/secret", "/a/secret/src"])
def test_a_glob_matches_a_folder_and_everything_below(folder: str):
    assert make_folder_matcher(["/a/sec*"])(folder)


@pytest.mark.parametrize("folder", ["", "/a", "/a/open", "relative"])
def test_other_folders_do_not_match(folder: str):
    assert not make_folder_matcher(["/a/sec*"])(folder)


def test_a_link_matches_like_its_target(tmp_path: Path):
    (tmp_path / "secret").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "secret")

    assert make_folder_matcher([f"{tmp_path}/secret"])(f"{tmp_path}/link")
