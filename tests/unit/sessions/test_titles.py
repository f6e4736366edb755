"""Titles of sessions."""

from __future__ import annotations

import pytest

from leslied.sessions.titles import (
    choose_title,
    find_subject,
    has_subject,
    truncate_text,
)


@pytest.mark.parametrize(
    ("title", "first_prompt", "description", "chosen"),
    [
        ("Named", "fix it", "d", "Named"),
        ("", "\nfix it\nnow", "d", "fix it"),
        ("", " \n ", "count files", "count files"),
        ("", "word " * 40, "", "word " * 15 + "word…"),
        ("", "", "", ""),
        ("", "[Image #1] fix this", "", "fix this"),
        ("", "[Image: source: /tmp/a.png]\nfix this", "", "fix this"),
        ("", "fix [image image/png, 12 KB] this", "", "fix this"),
        ("", "[file image/png a.png, 12 KB]\n\nfix this", "", "fix this"),
        ("", "[[image]] [file] stays", "", "[[image]] [file] stays"),
        ("", "[Image #1]", "", "[Image #1]"),
    ],
)
def test_a_title_is_that_of_the_log_else_the_prompt_else_the_description(
    title: str, first_prompt: str, description: str, chosen: str
):
    assert choose_title(title, first_prompt, description) == chosen


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ("Implement the following plan:\n\n# Fix the login", "Fix the login"),
        ("Implement the following plan:\n# Plan: Add tests\n", "Add tests"),
        ("Implement the following plan:", "Implement the following plan:"),
        ("please follow this plan.\n\n1. Read it", "1. Read it"),
        ("hello\n\nfix the login", "fix the login"),
        ("Hi!", "Hi!"),
        ("<task>\nFix the login\n</task>", "Fix the login"),
        ("<task>Fix the login</task>", "Fix the login"),
        ("<div> is not centered", "<div> is not centered"),
        ("> quoted", "quoted"),
        ("when running:\n\n  make all", "when running: make all"),
        ("```\nTraceback\n```", "Traceback"),
        ("你好\n修复登录", "修复登录"),
    ],
)
def test_a_title_says_what_the_prompt_is_about(prompt: str, title: str):
    assert choose_title("", prompt, "") == title


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hello", False),
        ("Yes, do it please.", False),
        ("181", False),
        ("Implement the following plan:", False),
        ("</context>", False),
        ("fix tests", True),
        ("/review", False),
        ("/review the login", True),
        ("直して", True),
    ],
)
def test_greetings_and_consent_do_not_tell(text: str, *, expected: bool):
    assert has_subject(text) is expected


def test_the_subject_of_a_prompt_starts_at_its_first_telling_line():
    prompt = "Hi\n\nImplement the following plan:\n\n# Fix\n\nthe login\n"

    assert find_subject(prompt) == "# Fix\n\nthe login\n"


def test_a_title_is_cut_between_clusters():
    family = "👩\u200d👩\u200d👧"

    title = choose_title("", "x" * 77 + family, "")

    assert title == "x" * 77 + "…"


@pytest.mark.threat("S2")
@pytest.mark.parametrize(
    ("text", "truncated"),
    [
        ("short", "short"),
        ("0123456789", "0123456789"),
        ("one two three", "one two t…"),
        ("one t0ken-of-mine", "one …"),
        ("all-of-it-is-one-word", "all-of-it…"),
        ("日本語のとても長い題名です", "日本語のとても長い…"),
        ("one two x yz", "one two x…"),
    ],
)
def test_truncation_drops_a_token_that_could_be_part_of_a_secret(
    text: str, truncated: str
):
    assert truncate_text(text, 10) == truncated
