"""Tests of choosing the pager."""

from __future__ import annotations

import pytest

from leslied.cli.terminal.pager import find_pager

TERM = {"TERM": "xterm"}


@pytest.mark.parametrize(
    ("environ", "command"),
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
def test_the_environment_selects_the_pager(environ: dict[str, str], command: list[str]):
    assert find_pager({**TERM, **environ}) == command


def test_no_pager_is_used_if_term_is_unset():
    assert find_pager({"PAGER": "less"}) == []
