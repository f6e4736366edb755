"""The history of one file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from leslied.errors import UserError
from leslied.queries.context import QueryContext
from leslied.queries.file_history import load_file_history
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.files import NOTES, PARSER, PROJECT, SECOND, write_file_sessions
from tests.support.queries import SECRET, make_app

_MOVE = (
    "*** Begin Patch\n*** Update File: notes.md\n*** Move to: docs/notes.md\n@@\n"
    "-hello\n+bye\n*** Add File: other.md\n+x\n*** End Patch\n"
)


@pytest.fixture
def queries(claude: ClaudeHome) -> Iterator[QueryContext]:
    write_file_sessions(claude)
    builder = ClaudeLogBuilder("dddddddd-2222-4333-8444-555555555555", PROJECT)
    for _ in range(300):
        builder.line("user")  # Later times.
    claude.write(
        builder.prompt("Move the notes"),
        builder.call("apply_patch", {"input": _MOVE}, "d1"),
        builder.result("d1", "ok"),
        builder.call(
            "Write", {"file_path": f"/tmp/{SECRET}", "content": "y\n" * 999}, "d2"
        ),
        builder.result("d2", "ok"),
        name="-home-dev-app/d.jsonl",
    )
    claude.sync()
    with make_app(claude).open_queries() as context:
        yield context


def test_revisions_name_session_prompt_and_call(queries: QueryContext):
    history = load_file_history(queries, PARSER)

    newest, failed, edit, created = history.revisions
    assert (history.name, history.project, history.total) == (
        "src/parser.py",
        PROJECT,
        4,
    )
    assert (newest.session_id, newest.outcome) == (SECOND, "unanswered")
    assert (edit.prompt, edit.tool, edit.call_id) == ("Fix the parser", "Edit", "c2")
    assert (edit.added, edit.removed) == (1, 1)
    assert failed.error == "String to replace was not found."
    assert created.diff == (("+", "a = 1"),)


def test_the_counts_of_a_history_are_those_of_the_list_of_files(queries: QueryContext):
    history = load_file_history(queries, PARSER, limit=1)

    assert (history.changes, history.failed, history.sessions) == (2, 2, 2)


def test_secrets_in_diffs_are_replaced(queries: QueryContext):
    text = str(load_file_history(queries, PARSER).to_dict())

    assert SECRET not in text


def test_a_path_with_a_secret_is_found_as_it_is_shown(queries: QueryContext):
    shown = queries.redact(f"/tmp/{SECRET}")
    history = load_file_history(queries, shown)

    assert (history.path, history.total) == (shown, 1)


def test_a_long_diff_is_cut(queries: QueryContext):
    (revision,) = load_file_history(queries, f"/tmp/{SECRET}").revisions

    assert len(revision.diff) + revision.omitted_lines == revision.added == 999


def test_a_moved_file_has_the_history_of_its_earlier_path(queries: QueryContext):
    history = load_file_history(queries, f"{PROJECT}/docs/notes.md")

    move, created = history.revisions
    assert history.earlier_paths == [NOTES]
    assert (move.kind, move.moved_from) == ("move", NOTES)
    assert move.diff == (("-", "hello"), ("+", "bye"))
    assert (created.kind, created.command) == ("write", "echo hello > notes.md")


def test_older_revisions_follow_an_offset(queries: QueryContext):
    history = load_file_history(queries, PARSER, offset=3, limit=5)

    assert [revision.kind for revision in history.revisions] == ["write"]
    assert history.total == 4


def test_a_file_that_nobody_changed_is_an_error_with_a_next_step(
    queries: QueryContext,
):
    with pytest.raises(UserError, match="No agent changed /nowhere"):
        load_file_history(queries, "/nowhere")
