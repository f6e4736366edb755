"""The choice of the service manager, and the hint on how to stop a daemon."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.errors import UserError
from leslied.service.manager import format_stop_hint, get_manager

PROGRAM = ("/opt/bin/leslied",)


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


def test_the_platform_selects_the_manager(home: Path):
    names = [
        get_manager(home=home, environ={}, platform=platform, program=PROGRAM).name
        for platform in ("linux", "darwin")
    ]

    assert names == ["systemd", "launchd"]
    with pytest.raises(UserError, match="plan9"):
        get_manager(home=home, environ={}, platform="plan9", program=PROGRAM)
