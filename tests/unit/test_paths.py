"""Paths of files and projects."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from platformdirs import PlatformDirs

from leslied.errors import UserError
from leslied.paths import get_paths, load_key, resolve_path_or_name

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
    assert resolve_path_or_name(text, HOME) == project


def test_a_tilde_before_a_user_name_is_part_of_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)

    assert resolve_path_or_name("~ann/app", HOME) == f"{tmp_path}/~ann/app"


def test_the_redaction_key_is_created_once_and_only_for_the_owner(tmp_path: Path):
    path = tmp_path / "data" / "key"

    key = load_key(path)

    assert len(key) == 32
    assert load_key(path) == key
    assert path.stat().st_mode & 0o777 == 0o600


def test_processes_that_start_together_have_the_same_key(tmp_path: Path):
    path = tmp_path / "new/key"
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(load_key, [path] * 64))

    assert keys == {path.read_bytes()}


def test_a_key_that_was_cut_off_is_replaced(tmp_path: Path):
    path = tmp_path / "key"
    path.write_bytes(b"")

    assert len(load_key(path)) == 32


@pytest.mark.parametrize("base", ["", "relative", "/srv/base"])
def test_the_folders_are_those_of_platformdirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, base: str
):
    environ = {"HOME": str(tmp_path)}
    environ |= {f"XDG_{name}_HOME": base for name in ("CONFIG", "DATA", "STATE")}
    for name, value in environ.items():
        monkeypatch.setenv(name, value)

    paths = get_paths(environ)

    dirs = PlatformDirs("leslied", appauthor=False)
    assert paths.config_file == dirs.user_config_path / "config.toml"
    assert paths.data_dir == dirs.user_data_path
    assert paths.state_dir == dirs.user_state_path


@pytest.mark.fault("F10")
@pytest.mark.parametrize("environ", [{}, {"HOME": ""}, {"HOME": "/no/such/folder"}])
def test_without_a_home_folder_an_error_says_what_to_do(environ: dict[str, str]):
    with pytest.raises(UserError, match="HOME is") as caught:
        get_paths(environ)

    assert "Set HOME" in caught.value.hint
