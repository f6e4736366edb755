"""Changes that tool calls made to files."""

from __future__ import annotations

from leslied.store import StoreReader
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.files import FIRST, NOTES, PARSER, PROJECT, write_file_sessions


def test_every_change_has_its_outcome(claude: ClaudeHome):
    write_file_sessions(claude)
    claude.sync()

    with StoreReader(claude.store_path) as reader:
        changes = reader.files.list_changes()
    assert sorted((each.path, each.kind, each.outcome) for each in changes) == [
        (NOTES, "write", "done"),
        (PARSER, "edit", "done"),
        (PARSER, "edit", "failed"),
        (PARSER, "write", "done"),
        (PARSER, "write", "unanswered"),
    ]
    assert {each.stream.project for each in changes} == {PROJECT}


def test_a_new_change_is_listed_after_the_store_changed(claude: ClaudeHome):
    write_file_sessions(claude)
    claude.sync()
    builder = ClaudeLogBuilder("cccccccc-2222-4333-8444-555555555555")
    with StoreReader(claude.store_path) as reader:
        before = reader.files.list_changes()
        claude.write(
            builder.prompt("go"),
            builder.call("Write", {"file_path": "/x/new.py", "content": "x"}, "c9"),
            name="-app/new.jsonl",
        )
        claude.sync()
        after = reader.files.list_changes()

    assert len(after) == len(before) + 1


def test_calls_prompts_and_results_are_found(claude: ClaudeHome):
    write_file_sessions(claude)
    claude.sync()

    with StoreReader(claude.store_path) as reader:
        change = next(
            each for each in reader.files.list_changes() if each.outcome == "failed"
        )
        calls = reader.files.load_calls([change.read_order])
        prompt = reader.files.find_prompt(change.read_order)
        result = reader.files.find_result("c3")
        entry_id = reader.files.find_entry_id("c3")
    assert calls[change.read_order].record.session.session_id == FIRST
    assert calls[change.read_order].entry_id == entry_id
    assert prompt == "Fix the parser\nand say why"
    assert result.startswith("String to replace")


def test_an_unknown_call_has_no_prompt_and_no_result(claude: ClaudeHome):
    claude.sync()

    with StoreReader(claude.store_path) as reader:
        assert reader.files.find_prompt(99) == ""
        assert reader.files.find_result("none") == ""
        assert reader.files.find_entry_id("none") == ""
