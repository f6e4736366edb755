"""Test the lock that allows one daemon for each data folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from leslied.daemon import hold_daemon_lock
from leslied.errors import AlreadyRunning
from leslied.paths import AppPaths


@pytest.fixture
def paths(tmp_path: Path) -> AppPaths:
    (tmp_path / "data").mkdir()
    return AppPaths(tmp_path / "config.toml", tmp_path / "data", tmp_path / "state")


def test_a_second_daemon_is_refused(paths: AppPaths):
    with (
        hold_daemon_lock(paths),
        pytest.raises(AlreadyRunning, match="Another leslied daemon runs"),
        hold_daemon_lock(paths),
    ):
        pass


def test_a_second_daemon_is_refused_after_the_data_folder_was_removed(paths: AppPaths):
    with hold_daemon_lock(paths):
        shutil.rmtree(paths.data_dir)
        with pytest.raises(AlreadyRunning), hold_daemon_lock(paths):
            pass


def test_a_data_folder_may_be_named_through_a_link(paths: AppPaths, tmp_path: Path):
    (tmp_path / "link").symlink_to(paths.data_dir)
    linked = paths._replace(data_dir=tmp_path / "link")

    with (
        hold_daemon_lock(paths),
        pytest.raises(AlreadyRunning),
        hold_daemon_lock(linked),
    ):
        pass


def test_daemons_of_other_data_folders_run(paths: AppPaths, tmp_path: Path):
    other = paths._replace(data_dir=tmp_path / "other")

    with hold_daemon_lock(paths), hold_daemon_lock(other):
        pass


def test_the_lock_is_free_after_the_daemon(paths: AppPaths):
    with hold_daemon_lock(paths):
        pass
    with hold_daemon_lock(paths):
        pass
