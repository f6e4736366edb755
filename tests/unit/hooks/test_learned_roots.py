"""Test the file of folders that hook events named."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.hooks import learned_roots


def test_added_folders_are_loaded(tmp_path: Path):
    data_dir = str(tmp_path)

    assert learned_roots.add(data_dir, "/a")
    assert learned_roots.add(data_dir, "/b")

    assert learned_roots.load(data_dir) == (["/a", "/b"], [])


def test_only_the_user_can_read_the_file_of_learned_folders(tmp_path: Path):
    learned_roots.add(str(tmp_path), "/a")

    assert (tmp_path / learned_roots.FILE).stat().st_mode & 0o077 == 0


def test_a_folder_is_listed_once(tmp_path: Path):
    for _ in range(2):
        assert learned_roots.add(str(tmp_path), "/a")

    assert learned_roots.load(str(tmp_path)) == (["/a"], [])


def test_a_deleted_line_forgets_the_folder(tmp_path: Path):
    learned_roots.add(str(tmp_path), "/a")
    (tmp_path / learned_roots.FILE).write_text("# nothing\n\n")

    assert learned_roots.load(str(tmp_path)) == ([], [])


def test_an_ignored_folder_is_not_learned_again(tmp_path: Path):
    (tmp_path / learned_roots.FILE).write_text("! /a/\n/b")

    assert not learned_roots.add(str(tmp_path), "/a")
    assert learned_roots.add(str(tmp_path), "/c")
    assert learned_roots.load(str(tmp_path)) == (["/b", "/c"], ["/a"])


def test_the_number_of_folders_is_limited(tmp_path: Path):
    lines = [f"/{number}" for number in range(learned_roots.MAX_ROOTS)]
    (tmp_path / learned_roots.FILE).write_text("\n".join(lines))

    assert not learned_roots.add(str(tmp_path), "/more")


@pytest.mark.parametrize(
    ("log", "folder"),
    [
        ("/h/.claude/projects/-app/1.jsonl", "/h/.claude"),
        (
            "/h/projects/x/.claude/projects/-app/1/subagents/a.jsonl",
            "/h/projects/x/.claude",
        ),
        ("/h/.claude/projects/1.jsonl", ""),
        ("/h/.claude/other/-app/1.jsonl", ""),
        ("/h/.claude/projects/-app/1.json", ""),
        ("h/.claude/projects/-app/1.jsonl", ""),
        ("/h/../.claude/projects/-app/1.jsonl", ""),
        ("/h//projects/-app/1.jsonl", ""),
        ("/h/projects/\n/1.jsonl", ""),
        ("/h/.leslie/projects/-app/1.jsonl", ""),
        ("", ""),
    ],
)
def test_a_log_is_below_projects_in_the_folder_of_the_agent(log: str, folder: str):
    assert learned_roots.find_config_folder(log) == folder
