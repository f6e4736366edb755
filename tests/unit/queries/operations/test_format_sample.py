"""Which logs are sampled, and what the sample says about itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from leslied.app import App
from leslied.errors import UserError
from leslied.queries.context import QueryContext
from leslied.queries.operations.format_sample import (
    describe_sources,
    list_sample_paths,
    make_sample_files,
    summarize_sample,
)
from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder


def test_the_logs_of_a_session_are_sampled(queries: QueryContext, claude: ClaudeHome):
    assert list_sample_paths(queries, "last") == [claude.log()]
    assert list_sample_paths(queries, SESSION[:8]) == [claude.log()]


def test_a_file_is_sampled(queries: QueryContext, tmp_path: Path):
    path = tmp_path / "new.jsonl"
    path.write_text("{}\n")

    assert list_sample_paths(queries, str(path)) == [path]


def test_without_a_target_logs_with_unknown_entries_are_sampled(
    app: App, claude: ClaudeHome
):
    name = "-home-dev-app/other.jsonl"
    path = claude.write(ClaudeLogBuilder("other").line("novelty"), name=name)
    claude.sync()

    with app.open_queries() as queries:
        assert list_sample_paths(queries, "") == [path]


def test_without_unknown_entries_a_target_is_needed(queries: QueryContext):
    with pytest.raises(UserError, match="understands every entry"):
        list_sample_paths(queries, "")


def test_a_file_that_does_not_exist_is_an_error(queries: QueryContext):
    with pytest.raises(UserError, match="There is no file /none"):
        list_sample_paths(queries, "/none")


def test_a_session_whose_logs_are_gone_is_an_error(
    queries: QueryContext, claude: ClaudeHome
):
    claude.log().unlink()

    with pytest.raises(UserError, match="has deleted the logs"):
        list_sample_paths(queries, "last")


def test_the_files_say_what_they_contain(
    app: App, queries: QueryContext, claude: ClaudeHome
):
    claude.write(ClaudeLogBuilder().line("novelty", version="9.1"))
    sources = app.sample_logs([claude.log()], only_unknown=False)

    files = make_sample_files(queries, sources)
    summary = summarize_sample(queries, sources)

    (log,) = json.loads(files["sample.json"])["logs"]
    lines = files["01-claude-code.jsonl"].decode().splitlines()
    assert set(files) == {
        "README.txt",
        "about.json",
        "sample.json",
        "01-claude-code.jsonl",
    }
    assert log["entries"] == len(lines) == summary["entries"]
    assert log["unknown_kinds"] == ["novelty"]
    assert summary["unknown_kinds"] == ("novelty",)
    assert summary["agents"] == ("claude-code 9.1",)
    assert "claude-code 9.1: 5 of 7 entries; unknown kinds: novelty" in "\n".join(
        describe_sources(sources)
    )


def test_equal_ids_of_several_logs_stay_equal(app: App, claude: ClaudeHome):
    name = "-home-dev-app/other.jsonl"
    other = claude.write({"type": "novelty", "sessionId": SESSION}, name=name)

    first, second = app.sample_logs([claude.log(), other], only_unknown=False)

    ids = {json.loads(line)["sessionId"] for line in (*first.lines, *second.lines)}
    assert len(ids) == 1
