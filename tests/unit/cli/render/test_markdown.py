"""Tests of rendering Markdown for a terminal."""

from __future__ import annotations

import re

import click
import pytest
from rich.cells import cell_len

from leslied.cli.render.markdown import render_markdown

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def render(text: str, width: int = 60) -> list[str]:
    lines = render_markdown(text, width)
    assert lines is not None
    return list(lines)


def render_plain(text: str, width: int = 60) -> list[str]:
    return [click.unstyle(line) for line in render(text, width)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**bold** and `code`", ["bold and code"]),
        ("# Title", ["Title"]),
        ("one\ntwo", ["one", "two"]),
        ("- a\n  - b", [" • a", "    • b"]),
        ("```py\nx = 1\n\n\ny = 2\n```", ["  x = 1", "", "", "  y = 2"]),
        ("[text](https://a.b/c)", ["text (https://a.b/c)"]),
    ],
)
def test_markdown_is_rendered_as_text(text: str, expected: list[str]):
    assert render_plain(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "a List<T> here",
        "<script>x</script>",
        "<!-- secret -->",
        "[//]: # (secret)",
        "![pic](https://a.b/secret)",
        "```sh secret attribute\nls\n```",
    ],
)
def test_text_that_a_web_page_would_hide_is_visible(text: str):
    rendered = " ".join(render_plain(text))

    hidden = re.findall(r"secret attribute|secret|List<T>|<script>x</script>", text)
    assert hidden
    assert all(part in rendered for part in hidden)


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
def test_a_character_reference_cannot_produce_control_characters(code: int):
    """Render `&#13;`, which the parser decodes after the text was sanitized."""
    rendered = "".join(render(f"a&#{code};b `{chr(code)}` ~~{chr(code)}~~"))

    assert chr(code) not in COLOUR.sub("", rendered)


@pytest.mark.threat("R1")
@pytest.mark.parametrize(
    "text",
    [
        "[a](https://a.b)",
        "<https://a.b>",
        "\x1b]8;;https://a.b\x07a\x1b]8;;\x07",
        "```sh\n\x1b]52;c;aGk=\x07\n```",
    ],
)
def test_the_only_escape_sequences_are_colours(text: str):
    rendered = "\n".join(render(text))

    assert "\x1b" not in COLOUR.sub("", rendered)


def test_backgrounds_black_and_white_are_not_used():
    text = "# h\n`a` **b** *c* > d\n\n> e\n\n```py\nclass A: 1\n```"

    sequences = COLOUR.findall("\n".join(render(text)))

    codes = {code for sequence in sequences for code in sequence[2:-1].split(";")}
    assert codes <= {"0", "1", "2", "3", "4", "31", "32", "34", "35", "36"}


@pytest.mark.parametrize(
    "text", ["x" * 50_000, ">" * 60, "\n".join(" " * 2 * n + "- x" for n in range(60))]
)
def test_long_or_deeply_nested_text_is_not_rendered(text: str):
    assert render_markdown(text, 60) is None
