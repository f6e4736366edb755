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
        ({"command": "create", "path": "/app/x"}, ("path", "/app/x")),
        ({"command": "create"}, ("command", "create")),
        ({"checklist": "- [ ] Dam"}, ("", "- [ ] Dam")),
        ({"checklist": "- [ ] Dam", "merge": True}, ("", "")),
        ({"count": 7}, ("", "")),
        ({}, ("", "")),
    ],
)
def test_the_most_informative_argument_is_the_label(
    arguments: dict, label: tuple[str, str]
):
    assert find_label(arguments) == label


def test_several_commands_are_one_label():
    assert find_label({"commands": ["make", "git status"]}) == (
        "commands",
        "make; git status",
    )


def test_the_items_of_a_list_are_its_label():
    todos = [
        {"content": "Dam", "status": "completed"},
        {"title": "Wall", "status": "in_progress"},
        {"step": "Gate", "status": "pending"},
        "no item",
        {"status": "done"},
    ]
    label = ("", "[x] Dam · [>] Wall · [ ] Gate")

    assert find_label({"todos": todos}) == label
    assert find_label({"command": "plan", "task_list": todos}) == label
    assert find_label({"plan": todos}) == label
    assert find_label({"command": "plan", "task_list": []}) == ("command", "plan")
