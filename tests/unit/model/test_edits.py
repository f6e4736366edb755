"""What an edit changes, whichever agent's tool made it."""

from __future__ import annotations

import pytest

from leslied.model.edits import FileEdit, find_edits

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
BOTH = (("-", "a"), ("+", "b"))


@pytest.mark.parametrize(
    ("tool", "given"),
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
def test_every_agents_edit_is_a_diff(tool: str, given: dict):
    assert find_edits(tool, given) == [FileEdit("/x", BOTH)]


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Write", {"file_path": "/x", "content": "a\nb\n"}),
        ("write_file", {"file_path": "/x", "content": "a\nb"}),
        ("write", {"filePath": "/x", "content": "a\nb"}),
        ("create", {"path": "/x", "file_text": "a\nb"}),
        ("NotebookEdit", {"notebook_path": "/x", "new_source": "a\nb"}),
    ],
)
def test_a_whole_file_is_all_new(tool: str, given: dict):
    (edit,) = find_edits(tool, given)

    assert edit == FileEdit("/x", (("+", "a"), ("+", "b")))
    assert edit.diffstat == "+2"


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("apply_patch", {"input": PATCH}),
        ("patch", {"patchText": PATCH}),
        ("shell", {"command": ["apply_patch", PATCH]}),
        ("exec_command", {"cmd": f"apply_patch <<'EOF'\n{PATCH}EOF\n"}),
        ("shell", {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}EOF"]}),
    ],
)
def test_a_patch_is_told_file_by_file(tool: str, given: dict):
    assert find_edits(tool, given) == [
        FileEdit("axle.py", (("+", "spin()"),)),
        FileEdit(
            "wheel.py → rim.py",
            ((" ", "keep"), ("-", "old"), ("+", "new"), ("@", ""), ("-", "gone")),
        ),
        FileEdit("hub.py (deleted)", ()),
    ]


@pytest.mark.parametrize(
    ("tool", "given"),
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
def test_what_is_no_edit_has_no_diff(tool: str, given: object):
    assert find_edits(tool, given) == []


def test_lines_that_stay_are_shown_around_the_change_only():
    old = "\n".join("abcdefghij")
    given = {"file_path": "/x", "old_string": old, "new_string": old.replace("e", "E")}

    (edit,) = find_edits("Edit", given)

    assert "".join(sign + text for sign, text in edit.changes) == " c d-e+E f g"
    assert edit.diffstat == "+1 -1"


def test_very_long_texts_are_not_compared():
    given = {"file_path": "/x", "old_string": "a\n" * 40_000, "new_string": "b\n"}

    (edit,) = find_edits("Edit", given)

    assert edit.diffstat == "+1 -40000"
