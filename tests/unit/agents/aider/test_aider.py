"""Where Aider's chat histories are."""

from __future__ import annotations

from pathlib import Path

from leslied.agents.aider import ADAPTER
from leslied.model.source import Environment, WatchDepth

ENV = Environment(home=Path("/home/dev"), environ={}, platform="linux")


def test_there_are_no_default_roots():
    assert list(ADAPTER.roots(ENV, [])) == []


def test_a_configured_project_is_not_searched_below_its_top_level():
    (root,) = ADAPTER.roots(ENV, [Path("/home/dev/app")])

    assert (root.path, root.watch) == (Path("/home/dev/app"), WatchDepth.FLAT)
    assert root.is_project


def test_a_session_cannot_be_resumed_by_its_id():
    assert ADAPTER.resume_command("20261117-100000-a172cedc") == ""
