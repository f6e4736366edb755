"""The list of changed files."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from leslied.queries.context import QueryContext
from leslied.queries.files import FileSelection, list_files
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.files import NOTES, PARSER, PROJECT, SECOND, write_file_sessions
from tests.support.queries import SECRET, make_app


@pytest.fixture
def queries(claude: ClaudeHome) -> Iterator[QueryContext]:
    write_file_sessions(claude)
    builder = ClaudeLogBuilder("cccccccc-2222-4333-8444-555555555555", "/home/dev/web")
    claude.write(
        builder.prompt("go"),
        builder.call("Write", {"file_path": f"/tmp/{SECRET}.py", "content": ""}, "d1"),
        builder.result("d1", "ok"),
        builder.call("apply_patch", {"input": _DELETION}, "d2"),
        builder.result("d2", "ok"),
        name="-web/c.jsonl",
    )
    claude.sync()
    with make_app(claude).open_queries() as context:
        yield context


_DELETION = "*** Begin Patch\n*** Delete File: old.py\n*** End Patch\n"


def list_paths(queries: QueryContext, **selection: str) -> list[str]:
    files = list_files(queries, FileSelection(**selection)).files  # type: ignore[arg-type]
    return [file.path for file in files]


def test_a_file_has_its_numbers_and_its_last_change(queries: QueryContext):
    files = {file.path: file for file in list_files(queries, FileSelection()).files}

    parser = files[PARSER]
    assert (parser.changes, parser.failed, parser.sessions) == (2, 2, 2)
    assert (parser.name, parser.project) == ("src/parser.py", PROJECT)
    assert (parser.last_agent, parser.last_session) == ("claude-code", SECOND)
    assert files["/home/dev/web/old.py"].is_deleted


def test_secrets_in_paths_are_replaced(queries: QueryContext):
    assert SECRET not in str(list_files(queries, FileSelection()).to_dict())


def test_files_are_selected_by_words_in_any_order_and_case(queries: QueryContext):
    assert list_paths(queries, words="PARSER src") == [PARSER]
    assert list_paths(queries, words="parser nothing") == []


@pytest.mark.parametrize("project", [PROJECT, "app"])
def test_files_are_selected_by_path_or_name_of_the_project(
    queries: QueryContext, project: str
):
    answer = list_files(queries, FileSelection(project=project))

    assert {file.path for file in answer.files} == {PARSER, NOTES}
    assert [(group.path, group.files) for group in answer.folders] == [
        (f"{PROJECT}/src", 1)
    ]
    assert {group.path for group in answer.projects} == {PROJECT, "/home/dev/web"}


def test_files_are_selected_by_folder(queries: QueryContext):
    assert list_paths(queries, project="app", folder=f"{PROJECT}/src/") == [PARSER]


def test_an_unknown_project_has_no_files(queries: QueryContext):
    assert list_paths(queries, project="none") == []


def test_files_are_sorted(queries: QueryContext):
    assert list_paths(queries, project="app", order="path") == [NOTES, PARSER]
    assert list_paths(queries, project="app", order="changes") == [PARSER, NOTES]
    assert list_paths(queries, project="app", order="recent") == [PARSER, NOTES]


def test_the_total_counts_files_beyond_the_limit(queries: QueryContext):
    answer = list_files(queries, FileSelection(limit=1))

    assert (len(answer.files), answer.total) == (1, 4)
