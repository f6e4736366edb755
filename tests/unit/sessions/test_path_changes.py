"""Paths that the arguments of a tool call change."""

from __future__ import annotations

import json
from typing import Any

import pytest

from leslied.sessions.path_changes import (
    find_changed_paths,
    has_succeeded,
    iter_path_changes,
    may_write_files,
    resolve_path,
)

FOLDER = "/home/dev/mill"


def list_changes(tool: str, arguments: Any) -> list[tuple[str, str, str]]:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    changes = find_changed_paths(tool, text, FOLDER)
    return [(each.kind, each.path, each.moved_from) for each in changes]


@pytest.mark.parametrize(
    ("tool", "arguments", "kind"),
    [
        ("Write", {"file_path": f"{FOLDER}/a.py", "content": "x"}, "write"),
        ("Edit", {"file_path": "a.py", "old_string": "x"}, "edit"),
        ("edit", {"filePath": f"{FOLDER}/./a.py"}, "edit"),
        ("str_replace_editor", {"command": "create", "path": "a.py"}, "write"),
        ("Write", {"filepath": "a.py", "content": "x"}, "write"),
        ("patch", {"mode": "replace", "path": "a.py", "old_string": "x"}, "edit"),
        ("Bash", {"command": "echo hi > a.py"}, "write"),
        ("shell", {"commands": ["ls", "echo hi > a.py"]}, "write"),
        ("Bash", {"command": "echo hi | tee -a a.py"}, "append"),
    ],
)
def test_a_call_changes_its_file(tool: str, arguments: dict[str, Any], kind: str):
    assert list_changes(tool, arguments) == [(kind, f"{FOLDER}/a.py", "")]


def test_a_patch_that_moves_a_file_tells_its_earlier_path():
    patch = (
        "*** Begin Patch\n*** Update File: a.py\n*** Move to: src/a.py\n@@\n-x\n+y\n"
        "*** End Patch\n"
    )

    assert list_changes("apply_patch", {"input": patch}) == [
        ("edit", f"{FOLDER}/a.py", ""),
        ("move", f"{FOLDER}/src/a.py", f"{FOLDER}/a.py"),
    ]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Write", {"file_path": 7}),
        ("Write", "not JSON"),
        ("Write", "[" * 5000),
        ("Edit", {"file_path": "a\0b"}),
        ("Bash", {"command": "make 2>&1 >/dev/null"}),
        ("Read", {"file_path": "a.py"}),
    ],
)
def test_other_calls_change_nothing(tool: str, arguments: Any):
    assert list_changes(tool, arguments) == []


def test_a_written_file_comes_with_its_content():
    arguments = {"file_path": "a.py", "content": "x = 1"}
    (change,) = iter_path_changes("Write", arguments, FOLDER)

    assert change.body == "x = 1"


@pytest.mark.parametrize(
    ("command", "is_possible"),
    [("ls", False), ("make 2>&1", False), ("make > log", True), ("tee log", True)],
)
def test_most_commands_surely_write_no_file(command: str, *, is_possible: bool):
    assert may_write_files(command) == is_possible


@pytest.mark.parametrize(
    ("metadata", "content", "is_done"),
    [
        ({}, "ok", True),
        ({"is_error": True}, "ok", False),
        ({"exit_code": 1}, "", False),
        ({}, "Exit code 2", False),
    ],
)
def test_the_result_tells_whether_a_command_succeeded(
    metadata: dict[str, Any], content: str, *, is_done: bool
):
    assert has_succeeded(metadata, content, is_shell=True) == is_done


@pytest.mark.parametrize(
    ("path", "expected"),
    [("a", f"{FOLDER}/a"), ("//x/../y", "/y"), ("", FOLDER), ("/x/", "/x")],
)
def test_a_path_is_resolved_below_its_folder(path: str, expected: str):
    assert resolve_path(FOLDER, path) == expected


def test_a_path_below_an_unknown_folder_is_not_resolved():
    assert resolve_path("", "a") == ""
