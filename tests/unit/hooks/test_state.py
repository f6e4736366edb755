"""Where the hooks are installed, and whether they can run."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.hooks.settings import HookCommand, install
from leslied.hooks.state import HooksStatus, read_state

COMMAND = HookCommand("/usr/bin/python3", "/data")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return the path of a settings file with current hooks."""
    path = tmp_path / "settings.json"
    path.write_text(install(None, COMMAND))
    return path


def test_current_hooks_are_installed_without_an_error(file: Path):
    state = read_state("user", file, COMMAND)

    assert (state.is_installed, state.error) == (True, "")


def test_no_hooks_are_installed_without_a_file(tmp_path: Path):
    state = read_state("user", tmp_path / "settings.json", COMMAND)

    assert (state.is_installed, state.error) == (False, "")


def test_hooks_with_another_command_must_be_installed_again(file: Path):
    state = read_state("user", file, HookCommand("/opt/python3", "/data"))

    assert state.is_installed
    assert "another version" in state.error


def test_disabled_hooks_are_an_error(file: Path):
    file.write_text(file.read_text().replace("{", '{"disableAllHooks": true,', 1))

    assert read_state("user", file, COMMAND).error == "disableAllHooks is set"


def test_hooks_of_some_events_only_are_an_error(file: Path):
    file.write_text(file.read_text().replace('"Stop"', '"Other"'))

    assert "missing" in read_state("user", file, COMMAND).error


def test_a_file_that_is_not_json_is_an_error(file: Path):
    file.write_text("{")
    state = read_state("user", file, COMMAND)

    assert not state.is_installed
    assert state.error


def test_the_status_lists_every_settings_file(file: Path, tmp_path: Path):
    other = tmp_path / "none.json"
    states = (
        read_state("user", other, COMMAND),
        read_state("local", file, COMMAND),
    )
    status = HooksStatus(states)

    assert status.is_installed
    assert status.to_dict()["settings"] == [
        {"scope": "user", "path": str(other), "installed": False, "trouble": None},
        {"scope": "local", "path": str(file), "installed": True, "trouble": None},
    ]
