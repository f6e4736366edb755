"""Texts shared by Markdown and HTML pages: edits of every agent appear as diffs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.clock import FakeClock
from tests.support.exports import read_session, render_main_text

PATCH = "*** Begin Patch\n*** Update File: wheel.py\n@@\n-old\n+new\n*** End Patch\n"
EDITS = {
    "Claude Code": (
        "Edit",
        {"file_path": "w", "old_string": "old", "new_string": "new"},
    ),
    "several": (
        "MultiEdit",
        {"file_path": "w", "edits": [{"old_string": "old", "new_string": "new"}]},
    ),
    "OpenCode": ("edit", {"filePath": "w", "oldString": "old", "newString": "new"}),
    "Codex": ("apply_patch", {"input": PATCH}),
    "Codex in a shell": ("shell", {"command": ["apply_patch", PATCH]}),
}


@pytest.mark.parametrize("sink", ["markdown", "html"])
def test_a_call_without_a_telling_argument_is_labelled_with_all_of_them(
    claude: ClaudeHome, clock: FakeClock, sink: str
):
    arguments = {"taskId": "1", "status": "done"}

    page = render_call(claude, clock, sink, "TaskUpdate", arguments)

    summary = next(line for line in page.split("\n") if "<summary>" in line)
    assert "taskId" in summary


@pytest.mark.parametrize("sink", ["markdown", "html"])
@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_is_shown_as_a_diff(
    claude: ClaudeHome, clock: FakeClock, sink: str, edit: str
):
    tool, arguments = EDITS[edit]
    page = render_call(claude, clock, sink, tool, arguments)

    removed, added = ("-old", "+new")
    if sink == "html":
        removed, added = "<del>-old</del>", "<ins>+new</ins>"
    assert page.index(removed) < page.index(added)


@pytest.mark.parametrize("sink", ["markdown", "html"])
def test_texts_that_are_not_of_a_file_are_shown_with_all_other_arguments(
    claude: ClaudeHome, clock: FakeClock, sink: str
):
    arguments = {"before": "one", "after": "two", "mode": "by words"}

    page = render_call(claude, clock, sink, "mcp__text__compare", arguments)

    assert "by words" in page


def test_the_diff_of_a_patch_contains_its_file_names(
    claude: ClaudeHome, clock: FakeClock
):
    page = render_call(claude, clock, "markdown", "apply_patch", {"input": PATCH})

    assert "@@ wheel.py @@" in page


@pytest.mark.parametrize(
    ("tool", "arguments", "label"),
    [
        ("read", {"filePath": "/app/wheel.py"}, "read /app/wheel.py"),
        ("Grep", {"path": "/app", "pattern": "spoke"}, "Grep spoke"),
        ("shell", {"command": ["bash", "-lc", "ls -l"]}, "shell ls -l"),
    ],
)
def test_a_call_has_the_same_label_as_on_the_terminal(
    claude: ClaudeHome, clock: FakeClock, tool: str, arguments: Any, label: str
):
    page = render_call(claude, clock, "markdown", tool, arguments)

    assert f"<summary>● {label}</summary>" in page


def render_call(
    claude: ClaudeHome, clock: FakeClock, sink: str, tool: str, arguments: Any
) -> str:
    """Return the page of a session with one tool call."""
    builder = ClaudeLogBuilder()
    claude.write(
        builder.prompt("change it"),
        builder.call(tool, arguments, "t1"),
        builder.result("t1", "ok"),
        builder.answer("Done."),
    )
    claude.sync(is_final=True)
    return render_main_text(read_session(claude.store_path, clock), sink)


@pytest.mark.parametrize("sink", ["markdown", "html"])
def test_a_notification_cannot_become_structure_of_the_page(
    claude: ClaudeHome, clock: FakeClock, sink: str
):
    builder = ClaudeLogBuilder()
    notification = (
        "<task-notification><summary>*x* <b>over</b></summary>"
        "<result>```\n<script>1</script></result></task-notification>"
    )
    claude.write(builder.prompt("go"), builder.prompt(notification))
    claude.sync(is_final=True)

    page = render_main_text(read_session(claude.store_path, clock), sink)

    if sink == "html":
        assert '<p class="event">*x* &lt;b&gt;over&lt;/b&gt;</p>' in page
        assert "<script>" not in page
    else:
        assert r"\*x\* &lt;b&gt;over&lt;/b&gt;" in page
        assert "````\n```\n<script>1</script>\n````" in page
