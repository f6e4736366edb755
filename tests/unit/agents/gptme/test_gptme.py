"""Where gptme's conversations are, and how one is resumed."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.agents.gptme import ADAPTER
from leslied.model.source import Environment


@pytest.mark.parametrize(
    ("environ", "platform", "paths"),
    [
        ({}, "linux", ["/home/dev/.local/share/gptme/logs"]),
        ({"XDG_DATA_HOME": "/data"}, "linux", ["/data/gptme/logs"]),
        ({"GPTME_LOGS_HOME": "/logs", "XDG_DATA_HOME": "/d"}, "linux", ["/logs"]),
        (
            {},
            "darwin",
            [
                "/home/dev/.local/share/gptme/logs",
                "/home/dev/Library/Application Support/gptme/logs",
            ],
        ),
    ],
)
def test_variables_move_the_root(
    environ: dict[str, str], platform: str, paths: list[str]
):
    env = Environment(home=Path("/home/dev"), environ=environ, platform=platform)

    assert [str(root.path) for root in ADAPTER.roots(env, [])] == paths


def test_a_configured_directory_replaces_the_default():
    env = Environment(home=Path("/home/dev"), environ={}, platform="linux")

    assert [root.path for root in ADAPTER.roots(env, [Path("/a")])] == [Path("/a")]


def test_a_session_is_resumed_by_its_name():
    assert ADAPTER.resume_command("a-b") == "gptme --name a-b"
