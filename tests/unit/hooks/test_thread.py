"""The hook's rules for projects and threads agree with `sinks` and `sessions`."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leslied.agents import load_adapters
from leslied.hooks import AGENT_NAME, AGENT_TITLE
from leslied.hooks.thread import find_project, make_thread_id
from leslied.model.record import SessionKey
from leslied.sessions.totals import propose_thread_id
from leslied.sinks import find_project as find_project_in_sinks


def test_an_adapter_has_the_name_and_title_of_the_hooked_agent():
    assert load_adapters()[AGENT_NAME].title == AGENT_TITLE


@given(st.uuids(version=4).map(str) | st.uuids(version=1).map(str) | st.text())
def test_a_session_has_the_thread_that_the_store_assigns(session_id: str):
    for length in (8, 12):
        expected = propose_thread_id(SessionKey(AGENT_NAME, session_id), length)
        assert make_thread_id(session_id, length) == expected


@pytest.mark.parametrize(
    "subfolder", ["", "/a", "/a/b", "/a/", "//a", "/a/./b", "/a/../b"]
)
@pytest.mark.parametrize("marker", ["", ".git", "a/.git", "a/b/CLAUDE.md", "Makefile"])
def test_a_folder_has_the_project_that_the_sinks_find(
    tmp_path: Path, subfolder: str, marker: str
):
    (tmp_path / "a/b").mkdir(parents=True)
    if marker:
        (tmp_path / marker).touch()
    cwd = f"{tmp_path}{subfolder}"

    assert find_project(cwd) == str(find_project_in_sinks(cwd) or "")


@pytest.mark.parametrize("cwd", ["", "relative", "/nowhere/at/all", "/a\0b", "/"])
def test_an_unusual_path_has_the_project_that_the_sinks_find(cwd: str):
    assert find_project(cwd) == str(find_project_in_sinks(cwd) or "")
