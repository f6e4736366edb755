"""Titles of sessions."""

from __future__ import annotations

import pytest

from leslied.sessions.titles import choose_title, truncate_text


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


@pytest.mark.fault("S2")
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
