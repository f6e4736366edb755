"""File edits as diff lines on a terminal."""

from __future__ import annotations

import json
from pathlib import Path

from leslied.cli.render.edits import render_edits
from leslied.cli.render.options import RenderOptions
from leslied.rendering.edits import FileEdit, find_edits
from tests.support.golden import FIXTURES


def test_a_long_edit_is_cut_unless_whole_output_is_requested():
    edit = FileEdit("/x", (("+", "line"),) * 30)

    short = list(render_edits([edit], "", RenderOptions(width=80, max_edit_lines=5)))
    whole = list(
        render_edits(
            [edit], "", RenderOptions(width=80, max_edit_lines=5, tool_output="whole")
        )
    )

    assert (len(short), len(whole)) == (6, 30)
    assert "… 25 more lines" in short[-1]


def test_control_characters_of_an_edit_are_made_visible():
    (edit,) = find_edits("Write", {"file_path": "/x", "content": "\x1b[2J\x9b\r"})

    (line,) = render_edits([edit], "", RenderOptions(width=80))

    assert "␛[2J<U+009B>␍" in line


def test_edit_tools_of_the_fixtures_are_recognized():
    edit_tools = {
        (path.parts[-3], record["tool_name"])
        for path in Path(FIXTURES).rglob("records.jsonl")
        for record in map(json.loads, path.read_text().splitlines())
        if record.get("type") == "tool_use" and "tool_input_length" not in record
        if find_edits(record["tool_name"], _parse(record.get("tool_input", "")))
    }

    assert edit_tools >= {
        ("claude_code", "Edit"),
        ("claude_code", "Write"),
        ("codex", "apply_patch"),
        ("copilot_cli", "create"),
        ("gemini_cli", "write_file"),
        ("opencode", "write"),
        ("qwen_code", "write_file"),
    }


def _parse(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None
