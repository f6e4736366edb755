"""Runs and blocks of Aider's chat history."""

from __future__ import annotations

import pytest

from leslied.agents.aider.blocks import split_runs

HEADER = "# aider chat started at 2026-11-17 10:00:00\n\n"


def list_blocks(text: str) -> list[tuple[str, str]]:
    (run,) = split_runs(HEADER + text)
    return [(block.kind, block.text) for block in run.blocks]


def test_a_header_starts_a_run():
    runs = split_runs(f"Lost.\n\n{HEADER}\n{HEADER}")

    assert [(run.started, len(run.blocks)) for run in runs] == [
        ("", 1),
        ("2026-11-17 10:00:00", 0),
        ("2026-11-17 10:00:00", 0),
    ]


def test_lines_of_a_prompt_are_one_block():
    text = "\n#### One  \n####   \n#### two  \n\n#### Another  \n"

    assert list_blocks(text) == [("prompt", "One\n\ntwo"), ("prompt", "Another")]


def test_each_notice_is_a_block():
    assert list_blocks("> a  \n> b  \n") == [("notice", "a"), ("notice", "b")]


def test_a_notice_ends_with_two_spaces():
    text = "> Commit 0123abc One\n\ntwo  \n\nAnswer.\n"

    assert list_blocks(text) == [
        ("notice", "Commit 0123abc One\n\ntwo"),
        ("answer", "Answer."),
    ]


def test_a_notice_without_an_end_stops_at_the_next_block():
    text = "> Commit 0123abc One\ntwo\n#### Go.  \n"

    assert list_blocks(text) == [
        ("notice", "Commit 0123abc One\ntwo"),
        ("prompt", "Go."),
    ]


def test_a_notice_follows_no_empty_line():
    assert list_blocks("#### Go.  \n> a\nb  \n") == [
        ("prompt", "Go."),
        ("notice", "a\nb"),
    ]


@pytest.mark.parametrize("line", ["> quoted", "#### Heading", "# Title"])
def test_markdown_in_an_answer_is_text(line: str):
    text = f"#### Go.  \n\nOne.\n\n{line}\n\nTwo.\n\n> Tokens: 1 sent, 2 received.  \n"

    assert list_blocks(text)[1] == ("answer", f"One.\n\n{line}\n\nTwo.")


def test_an_answer_may_begin_with_a_quote():
    assert list_blocks("#### Go.  \n\n> quoted\n")[1] == ("answer", "> quoted")


def test_line_ends_of_windows_are_read():
    assert list_blocks("#### Go.  \r\n\r\nYes.\r\n") == [
        ("prompt", "Go."),
        ("answer", "Yes."),
    ]
