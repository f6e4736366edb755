"""Labels of tool calls."""

from __future__ import annotations

import pytest

from leslied.rendering.labels import find_label


@pytest.mark.parametrize(
    ("arguments", "label"),
    [
        ({"path": "/app", "command": "ls"}, ("command", "ls")),
        ({"path": "/app", "pattern": "spoke"}, ("pattern", "spoke")),
        ({"command": " ", "filePath": "/x"}, ("filePath", "/x")),
        ({"command": ["ls", "-l"]}, ("command", "ls -l")),
        ({"cmd": ["/bin/bash", "-lc", "ls"]}, ("cmd", "ls")),
        ({"command": [1], "prompt": 7}, ("", "")),
    ],
)
def test_the_most_informative_argument_is_the_label(
    arguments: dict, label: tuple[str, str]
):
    assert find_label(arguments) == label
