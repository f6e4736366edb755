"""Markdown is parsed completely, or not at all."""

from __future__ import annotations

import pytest

from leslied.rendering.markdown_text import LosslessParser

TABLE = "| a | b |\n|---|---|\n| 1 | 2 |"


@pytest.mark.parametrize(
    "text", ["", "words", TABLE, f"> {TABLE.replace(chr(10), f'{chr(10)}> ')}"]
)
def test_ordinary_text_is_parsed(text: str):
    assert LosslessParser(20).parse(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("> " * 21 + "deep", id="nested too deeply"),
        pytest.param("- " * 200 + "deep", id="nested far too deeply"),
        pytest.param(f"{TABLE} 3 |", id="a cell without a column"),
        pytest.param(f"{TABLE}\n\n{TABLE} 3 |", id="a cell of the second table"),
    ],
)
def test_text_that_would_lose_a_part_is_not_parsed(text: str):
    assert LosslessParser(20).parse(text) is None


def test_a_link_definition_is_text():
    tokens = LosslessParser(20).parse("[x]: https://a.example") or []

    assert [token.content for token in tokens] == ["", "[x]: https://a.example", ""]
