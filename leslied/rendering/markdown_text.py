"""Markdown, parsed so that nothing of the text is lost.

A parser drops text that is nested too deeply, cells beyond the columns of a table, and
link definitions. A page that shows an answer must show all of it, because the next
agent reads all of it, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

if TYPE_CHECKING:
    from collections.abc import Iterable

    from markdown_it.token import Token


class LosslessParser:
    """Parser of Markdown that shows raw HTML, images and link definitions as text."""

    def __init__(self, max_nesting: int) -> None:
        self._max_nesting = max_nesting
        # The parser drops text beyond its own limit. That limit is higher than ours, so
        # that `parse` sees tokens that are too deep before any text is dropped.
        options = {"html": False, "maxNesting": max_nesting + 2}
        self.markdown = MarkdownIt("commonmark", options)
        self.markdown.enable(["strikethrough", "table"]).disable(["image", "reference"])

    def parse(self, text: str) -> list[Token] | None:
        """Return the tokens of the text; None if a part of the text is not in them."""
        tokens = self.markdown.parse(text)
        if any(token.level >= self._max_nesting for token in tokens):
            return None
        return None if _lacks_cells(tokens, text.split("\n")) else tokens


def _lacks_cells(tokens: list[Token], lines: list[str]) -> bool:
    """Return whether a table has cells beyond its columns, which the tokens lack."""
    start = 0
    for position, token in enumerate(tokens):
        if token.type == "table_open":
            start = position
        elif token.type == "table_close" and (span := tokens[start].map):
            cells = [each.content for each in tokens[start:position]]
            rows = lines[span[0] : span[1]]
            if _count_word_characters(cells) < _count_word_characters(rows):
                return True
    return False


def _count_word_characters(texts: Iterable[str]) -> int:
    return sum(map(str.isalnum, "".join(texts)))
