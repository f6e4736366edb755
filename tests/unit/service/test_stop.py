"""The hint on how to stop a running daemon."""

from __future__ import annotations

import pytest

from leslied.service import format_stop_hint


@pytest.mark.parametrize(
    ("platform", "command"),
    [
        ("linux", "systemctl --user stop leslied.service"),
        ("darwin", "launchctl bootout gui/$UID/io.leslied"),
        ("other", "Ctrl-C"),
    ],
)
def test_the_hint_starts_with_the_command_of_the_platform(platform: str, command: str):
    assert format_stop_hint(platform).startswith(command)
