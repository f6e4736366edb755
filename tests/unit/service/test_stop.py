"""The command that stops a running daemon."""

from __future__ import annotations

import pytest

from leslied.service import format_stop_command


@pytest.mark.parametrize(
    ("platform", "command"),
    [
        ("linux", "systemctl --user stop leslied.service"),
        ("darwin", "launchctl bootout gui/$UID/io.leslied"),
        ("other", "Ctrl-C"),
    ],
)
def test_each_platform_has_a_stop_command(platform: str, command: str):
    assert format_stop_command(platform).startswith(command)
