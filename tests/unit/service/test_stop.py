"""How a running leslied is ended."""

from __future__ import annotations

import pytest

from leslied.service import format_stop_command


@pytest.mark.parametrize(
    ("platform", "said"),
    [
        ("linux", "systemctl --user stop leslied.service"),
        ("darwin", "launchctl bootout gui/$UID/io.leslied"),
        ("other", "Ctrl-C"),
    ],
)
def test_each_platform_has_its_way(platform: str, said: str):
    assert format_stop_command(platform).startswith(said)
