"""Queries for forgetting find entries, sessions and folders."""

from __future__ import annotations

import os

import pytest

from leslied.literal_text import LiteralText
from leslied.store import Store
from leslied.store.read.forget_queries import ForgetReader
from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder

FORK = "22222222-2222-4333-8444-555555555555"
NAME = ("claude-code", SESSION)


@pytest.fixture
def home_with_fork(claude: ClaudeHome) -> ClaudeHome:
    builder = ClaudeLogBuilder()
    lines = [
        builder.prompt("hello"),
        builder.call("Bash", {"command": 'say "hi"'}, "c"),
    ]
    claude.write(*lines, {"type": "ai-title", "aiTitle": "T", "sessionId": SESSION})
    claude.write(
        *({**line, "sessionId": FORK} for line in lines),
        ClaudeLogBuilder(FORK).prompt("of the fork"),
        name=f"-app/{FORK}.jsonl",
    )
    with claude.log().open("ab") as log:
        log.write(b"{ no JSON }\n")
    claude.sync()
    return claude


@pytest.mark.parametrize(
    ("text", "count"),
    [("hello", 1), ('say "hi"', 1), ("Bash", 1), ("of the fork", 1), ("missing", 0)],
)
def test_entries_are_found_in_all_fields(
    home_with_fork: ClaudeHome, text: str, count: int
):
    with ForgetReader(home_with_fork.store_path) as reader:
        assert len(reader.find_entries_with(LiteralText(text))) == count


def test_rejected_entries_are_found(home_with_fork: ClaudeHome):
    with ForgetReader(home_with_fork.store_path) as reader:
        assert len(reader.find_rejected_with(LiteralText("no JSON"))) == 1
        assert reader.find_rejected_with(LiteralText("hello")) == []
        assert len(reader.list_rejected(NAME)) == 1
        assert reader.list_rejected(("claude-code", FORK)) == []


def test_sessions_are_listed_with_their_share_of_entries(home_with_fork: ClaudeHome):
    with ForgetReader(home_with_fork.store_path) as reader:
        parts = reader.list_parts(reader.list_entry_ids(NAME))

    assert [(part.session_id, part.is_whole) for part in parts] == [
        (SESSION, True),
        (FORK, False),
    ]


def test_entries_are_found_by_the_lines_from_which_they_were_read(
    home_with_fork: ClaudeHome,
):
    key = ("claude-code", os.fsencode(home_with_fork.log()), 1)
    first_line = home_with_fork.log().read_bytes().index(b"\n") + 1
    with ForgetReader(home_with_fork.store_path) as reader:
        found = reader.find_entries_at({key: [(0, first_line)]})
        expected = reader.find_entries_with(LiteralText("hello"))
        nothing = reader.find_entries_at({key: [(10**6, 10**6 + 1)]})

    assert found == expected
    assert nothing == reader.find_entries_at({}) == set()


def test_titles_are_found_with_the_entries_that_gave_them(home_with_fork: ClaudeHome):
    with ForgetReader(home_with_fork.store_path) as reader:
        titles = reader.list_titles(reader.list_entry_ids(NAME))

        assert titles == {"T"}
        assert [use.session for use in reader.list_title_uses(titles)] == [NAME]


def test_folders_of_threads_are_listed(home_with_fork: ClaudeHome):
    with Store(home_with_fork.store_path, home_with_fork.clock) as store:
        store._db.execute(
            "UPDATE session SET folder = ? WHERE session_id = ?", (b"/app", SESSION)
        )
    with ForgetReader(home_with_fork.store_path) as reader:
        folders = reader.list_thread_folders()

        assert [folder.folder for folder in folders] == [b"/app"]
        assert reader.list_thread_folders([NAME]) == folders
        assert reader.list_thread_folders([("claude-code", FORK)]) == []


def test_sources_of_entries_are_listed(home_with_fork: ClaudeHome):
    with ForgetReader(home_with_fork.store_path) as reader:
        assert str(home_with_fork.log()) in reader.list_sources(
            reader.list_entry_ids(NAME)
        )
        assert len(reader.list_read_sources()) == 2
