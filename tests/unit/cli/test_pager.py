"""Which pager is started, if any."""

from __future__ import annotations

import pytest

from leslied.cli.pager import find_pager

TERM = {"TERM": "xterm"}


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({}, ["less", "-R"]),
        ({"PAGER": "most -s"}, ["most", "-s"]),
        ({"PAGER": "most", "LESLIED_PAGER": "/bin/less -S"}, ["/bin/less", "-S", "-R"]),
        ({"PAGER": "most", "LESLIED_PAGER": ""}, []),
        ({"PAGER": "cat"}, []),
        ({"PAGER": "an 'open quote"}, []),
        ({"TERM": "dumb"}, []),
    ],
)
def test_the_persons_own_choice_counts(environ: dict[str, str], words: list[str]):
    assert find_pager({**TERM, **environ}) == words


def test_where_the_terminal_is_unknown_nothing_is_started():
    assert find_pager({"PAGER": "less"}) == []
