"""Tests of choosing the pager, and of printing without one."""

from __future__ import annotations

import pytest

from leslied.cli.terminal.pager import find_pager, show_lines

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


@pytest.mark.parametrize("suffix", ["", "\x1b[0m"])
def test_a_long_line_is_printed_like_a_short_one(
    suffix: str, capsys: pytest.CaptureFixture[str]
):
    line = "0123456789" * 250_000

    show_lines(["a", line + suffix, "", "b"], {}, is_paged=False)

    assert capsys.readouterr().out == f"a\n{line}\n\nb\n"


def test_a_long_line_is_not_encoded_as_a_whole(monkeypatch: pytest.MonkeyPatch):
    sizes: list[int] = []
    monkeypatch.setattr(
        "click.echo", lambda text, *, nl=True: sizes.append(len(text) + nl)
    )

    show_lines(["x" * 5_000_000], {}, is_paged=False)

    assert sum(sizes) == 5_000_001
    assert max(sizes) <= 2**20
