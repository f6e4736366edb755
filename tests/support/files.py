"""Sessions whose calls change files."""

from __future__ import annotations

from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.queries import SECRET

PROJECT = "/home/dev/app"
PARSER = f"{PROJECT}/src/parser.py"
NOTES = f"{PROJECT}/notes.md"
FIRST = "aaaaaaaa-2222-4333-8444-555555555555"
SECOND = "bbbbbbbb-2222-4333-8444-555555555555"


def write_file_sessions(claude: ClaudeHome) -> None:
    """Write two sessions with edits, one of which fails, and a subagent."""
    first = ClaudeLogBuilder(FIRST, PROJECT)
    edit = {"file_path": PARSER, "old_string": "a = 1", "new_string": f"a = '{SECRET}'"}
    failed = first.result("c3", "String to replace was not found.\nMore.")
    failed["message"]["content"][0]["is_error"] = True
    claude.write(
        first.prompt("Fix the parser\nand say why"),
        first.call("Write", {"file_path": PARSER, "content": "a = 1\n"}, "c1"),
        first.result("c1", "File created."),
        first.call("Edit", edit, "c2"),
        first.result("c2", "ok"),
        first.call("Edit", edit, "c3"),
        failed,
        first.answer("Done."),
        name=f"-home-dev-app/{FIRST}.jsonl",
    )
    second = ClaudeLogBuilder(SECOND, PROJECT, first_number=100)
    claude.write(
        second.prompt("Write notes"),
        second.call("Bash", {"command": "echo hello > notes.md"}, "c4"),
        second.result("c4", ""),
        second.call("Write", {"file_path": PARSER, "content": "a = 2\n"}, "c5"),
        name=f"-home-dev-app/{SECOND}.jsonl",
    )
