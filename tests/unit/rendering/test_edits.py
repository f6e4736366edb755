"""Test that file edits are found in the tool calls of all agents."""

from __future__ import annotations

import pytest

from leslied.rendering.edits import FileEdit, find_edits

PATCH = """*** Begin Patch
*** Add File: axle.py
+spin()
*** Update File: wheel.py
*** Move to: rim.py
@@ def turn
 keep
-old
+new
@@
-gone
*** Delete File: hub.py
*** End Patch
"""
CHANGES = (("-", "a"), ("+", "b"))


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Edit", {"file_path": "/x", "old_string": "a", "new_string": "b"}),
        ("edit", {"path": "/x", "old_str": "a", "new_str": "b"}),
        ("edit", {"filePath": "/x", "oldString": "a", "newString": "b"}),
        ("replace", {"file_path": "/x", "old_string": "a", "new_string": "b"}),
        (
            "MultiEdit",
            {"file_path": "/x", "edits": [{"old_string": "a", "new_string": "b"}]},
        ),
        (
            "str_replace_editor",
            {"command": "str_replace", "path": "/x", "old_str": "a", "new_str": "b"},
        ),
    ],
)
def test_the_edit_tools_of_all_agents_give_the_same_diff(tool: str, arguments: dict):
    assert find_edits(tool, arguments) == [FileEdit("/x", CHANGES)]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Write", {"file_path": "/x", "content": "a\nb\n"}),
        ("write_file", {"file_path": "/x", "content": "a\nb"}),
        ("write", {"filePath": "/x", "content": "a\nb"}),
        ("create", {"path": "/x", "file_text": "a\nb"}),
        ("NotebookEdit", {"notebook_path": "/x", "new_source": "a\nb"}),
    ],
)
def test_writing_a_file_adds_all_of_its_lines(tool: str, arguments: dict):
    (edit,) = find_edits(tool, arguments)

    assert edit == FileEdit("/x", (("+", "a"), ("+", "b")))
    assert edit.diffstat == "+2"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("apply_patch", {"input": PATCH}),
        ("patch", {"patchText": PATCH}),
        ("shell", {"command": ["apply_patch", PATCH]}),
        ("exec_command", {"cmd": f"apply_patch <<'EOF'\n{PATCH}EOF\n"}),
        ("shell", {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}EOF"]}),
    ],
)
def test_a_patch_gives_one_edit_per_file(tool: str, arguments: dict):
    assert find_edits(tool, arguments) == [
        FileEdit("axle.py", (("+", "spin()"),)),
        FileEdit(
            "wheel.py → rim.py",
            ((" ", "keep"), ("-", "old"), ("+", "new"), ("@", ""), ("-", "gone")),
        ),
        FileEdit("hub.py (deleted)", ()),
    ]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Edit", {"file_path": "/x"}),
        ("Edit", {"old_string": "a", "new_string": "b"}),
        ("Edit", {"file_path": 7, "old_string": [], "new_string": None}),
        ("MultiEdit", {"file_path": "/x", "edits": [None, 3]}),
        ("Read", {"file_path": "/x", "content": "a"}),
        ("Bash", {"command": f"echo '{PATCH}'"}),
        ("apply_patch", {"input": "no patch"}),
        ("Write", "text"),
        ("Write", None),
    ],
)
def test_other_calls_have_no_edits(tool: str, arguments: object):
    assert find_edits(tool, arguments) == []


def test_unchanged_lines_are_shown_only_next_to_a_change():
    old = "\n".join("abcdefghij")
    arguments = {
        "file_path": "/x",
        "old_string": old,
        "new_string": old.replace("e", "E"),
    }

    (edit,) = find_edits("Edit", arguments)

    assert "".join(sign + text for sign, text in edit.changes) == " c d-e+E f g"
    assert edit.diffstat == "+1 -1"


def test_very_long_texts_are_not_diffed():
    arguments = {"file_path": "/x", "old_string": "a\n" * 40_000, "new_string": "b\n"}

    (edit,) = find_edits("Edit", arguments)

    assert edit.diffstat == "+1 -40000"
