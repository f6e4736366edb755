"""Markdown on a terminal."""

from __future__ import annotations

import re

import click
import pytest
from rich.cells import cell_len

from leslied.cli.markdown import render_markdown

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def lay_out(text: str, width: int = 60) -> list[str]:
    found = render_markdown(text, width)
    assert found is not None
    return list(found)


def render_plain(text: str, width: int = 60) -> list[str]:
    return [click.unstyle(line) for line in lay_out(text, width)]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("**bold** and `code`", ["bold and code"]),
        ("# Title", ["Title"]),
        ("one\ntwo", ["one", "two"]),
        ("- a\n  - b", [" • a", "    • b"]),
        ("```py\nx = 1\n\n\ny = 2\n```", ["  x = 1", "", "", "  y = 2"]),
        ("[text](https://a.b/c)", ["text (https://a.b/c)"]),
    ],
)
def test_markdown_is_laid_out(text: str, shown: list[str]):
    assert render_plain(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "a List<T> here",
        "<script>x</script>",
        "<!-- said -->",
        "[//]: # (said)",
        "![pic](https://a.b/said)",
        "```sh said aloud\nls\n```",
    ],
)
def test_nothing_is_hidden(text: str):
    shown = " ".join(render_plain(text))

    words = re.findall(r"said aloud|said|List<T>|<script>x</script>", text)
    assert all(word in shown for word in words)


@pytest.mark.parametrize(
    "text",
    [
        "日本語のテキスト" * 20,
        "- " + "日本 🎉 " * 30,
        "x" * 300,
        "| a | b |\n|-|-|\n| 日本 | " + "c " * 90,
    ],
)
def test_no_line_is_wider_than_the_terminal(text: str):
    assert max(cell_len(line) for line in render_plain(text, 40)) <= 40


@pytest.mark.parametrize("code", [*range(0x20), *range(0x7F, 0xA0), 0x202E])
def test_an_entity_is_no_way_to_the_terminal(code: int):
    """Markdown makes characters of `&#13;`: after the text was cleaned."""
    told = "".join(lay_out(f"a&#{code};b `{chr(code)}` ~~{chr(code)}~~"))

    assert chr(code) not in COLOUR.sub("", told)


@pytest.mark.parametrize(
    "text",
    [
        "[a](https://a.b)",
        "<https://a.b>",
        "\x1b]8;;https://a.b\x07a\x1b]8;;\x07",
        "```sh\n\x1b]52;c;aGk=\x07\n```",
    ],
)
def test_only_colours_are_sent(text: str):
    told = "\n".join(lay_out(text))

    assert "\x1b" not in COLOUR.sub("", told)


def test_no_background_and_neither_black_nor_white_is_asked_for():
    told = "\n".join(lay_out("# h\n`a` **b** *c* > d\n\n> e\n\n```py\nclass A: 1\n```"))

    codes = {code for found in COLOUR.findall(told) for code in found[2:-1].split(";")}
    assert codes <= {"0", "1", "2", "3", "4", "31", "32", "34", "35", "36"}


@pytest.mark.parametrize(
    "text", ["x" * 50_000, ">" * 60, "\n".join(" " * 2 * n + "- x" for n in range(60))]
)
def test_what_has_no_room_is_left_as_it_is(text: str):
    assert render_markdown(text, 60) is None
