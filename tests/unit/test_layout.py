"""Paths below `.leslie`, and thread ids."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from leslied import layout

ID = "thread-1"


@pytest.mark.threat("P3")
@pytest.mark.parametrize("name", ["", ".", "..", ".x", "a/b", "a\0", "é", "x" * 65, 3])
def test_an_unsafe_folder_name_is_not_a_thread_id(name: Any):
    assert not layout.is_thread_id(name)


@pytest.mark.parametrize("name", ["thread-5e551e11", "a", "A.b_c-9", "x" * 64])
def test_a_safe_folder_name_is_a_thread_id(name: str):
    assert layout.is_thread_id(name)


def test_transcripts_of_a_session_are_assets_of_its_thread():
    (path,) = [path for kind, path in layout.ASSET_PATHS if kind == "transcript"]

    assert layout.transcripts_folder(ID) == f"{layout.thread_folder(ID)}/{path}"


def test_transcripts_of_subagents_have_a_folder_of_their_own():
    folder = layout.transcripts_folder(ID, is_subagent=True)

    assert folder == ".leslie/threads/thread-1/.meta/subagents"


@pytest.mark.parametrize(
    "path", [".leslie/threads/t/plan/a.md", "/p/.leslie/threads/t/plan/a.md"]
)
def test_a_path_into_a_thread_is_split(path: str):
    assert layout.split_thread_path(path) == ("t", "plan/a.md")


@pytest.mark.parametrize("path", ["", "/p/a.md", "/p/x.leslie/threads/t/plan.md"])
def test_a_path_outside_of_threads_has_no_thread(path: str):
    assert layout.split_thread_path(path) == ("", "")


@pytest.mark.threat("S8")
def test_git_ignores_what_leslied_writes_and_nothing_else(tmp_path: Path):
    written_by_leslied = [
        layout.GITIGNORE_FILE,
        layout.INDEX_FILE,
        layout.INDEX_PAGE,
        layout.RELATIONS_FILE,
        layout.RELATIONS_BACKUP,
        layout.RELATIONS_DAMAGED,
        layout.assets_file(ID),
        layout.collected_file(ID, "plan"),
        f"{layout.exports_folder(ID)}/session.html",
        f"{layout.transcripts_folder(ID)}/a.txt",
        f"{layout.transcripts_folder(ID, is_subagent=True)}/a.txt",
    ]
    written_by_agents = [f"{layout.thread_folder(ID)}/{layout.PROGRESS_FILE}"]
    paths = written_by_leslied + written_by_agents
    for path in map(tmp_path.joinpath, paths):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / layout.GITIGNORE_FILE).write_text(layout.GITIGNORE_TEXT)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)

    result = subprocess.run(
        ["git", "-C", tmp_path, "check-ignore", *paths],
        check=True,
        capture_output=True,
        text=True,
    )

    assert result.stdout.split() == written_by_leslied
